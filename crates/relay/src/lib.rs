//! Listeners and the proxies: sockets, TLS and time.
