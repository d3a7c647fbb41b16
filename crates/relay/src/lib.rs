//! Listeners and the proxies: sockets, TLS and time.

pub mod events;
pub mod settings;
