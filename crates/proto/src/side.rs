//! Who says what a spectator hears: [`Side`]. Rule: the one that opened the connection, or sent the first datagram, is the client.

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Who asks.
    Client,
    /// Who answers.
    Server,
}
