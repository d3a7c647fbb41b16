//! Listeners and the proxies: sockets, TLS and time.
//!
//! Read [`server`] first: a connection comes in by [`listener`], is a [`stream`] on one thread, and is served by its
//! protocol's room until its end. What all connections share is in [`shared`]. Rule: everything that waits has a time
//! limit, and everything that grows has a bound.

pub mod dial;
pub mod drain;
pub mod events;
pub mod heading;
pub mod http;
pub mod interception;
pub mod language;
pub mod listener;
pub mod maildir;
mod paced;
pub mod parent;
mod polled;
pub mod pop3;
mod proxy_header;
pub mod quarantine;
mod queue;
mod race;
mod reasons;
pub mod resolver;
pub mod scratch;
pub mod server;
pub mod settings;
pub mod shared;
pub mod smtp;
mod socket;
pub mod stream;
pub mod tally;
#[cfg(test)]
mod testing;
pub mod tls;
pub mod turn;
pub mod users;
