//! HTTP/2 on either side (RFC 9113): frames, streams and header compression are the `h2` crate's. Rule: what one stream
//! does, or what is found in it, is no concern of the others.
//!
//! `client` takes streams from a client's connection, each an exchange of its own; `origin` asks by streams of a connection
//! to a server, `tunnel` what follows a CONNECT,
//! `websocket` a WebSocket in a stream. `flow` is the content of a stream in each direction, `heads` its heads as `lockgate_proto::http` has them,
//! `limits` what a connection may cost.

mod client;
mod flow;
mod heads;
mod limits;
mod origin;
mod tunnel;
mod websocket;

pub use client::{Http2, serve};
pub use origin::{Http2Origin, Streams};

#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod tests;
