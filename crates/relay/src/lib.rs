//! Listeners and the proxies: sockets, TLS and time.

pub mod settings;
