//! Sans-io protocols: HTTP/1.x, SMTP, POP3, SOCKS5, WebSocket and the PROXY protocol; as a spectator, DNS, FTP and TLS. Rule: bytes in, events out; no socket, no clock, no policy.
//!
//! Each protocol has a *receiver* that frames what arrives, a parser for commands and replies, and a *sender* for what
//! leaves. None of them keeps content: it passes through as slices of the caller's own buffer. What they share:
//! [`lines`] for commands, [`dotted`] for content that ends with a dot, [`line_ends`] for the speed and the proof.

pub mod dns;
pub mod dotted;
pub mod ftp;
pub mod http;
pub mod line_ends;
pub mod lines;
pub mod pop3;
pub mod proxy_protocol;
mod side;
pub mod smtp;
pub mod socks;
pub mod tls;
pub mod websocket;

pub use side::Side;
