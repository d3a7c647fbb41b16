//! Sans-io protocols: SMTP, POP3 and the PROXY protocol. Rule: bytes in, events out; no socket, no clock, no policy.
//!
//! Each protocol has a *receiver* that frames what arrives, a parser for commands and replies, and a *sender* for what
//! leaves. None of them keeps content: it passes through as slices of the caller's own buffer.

pub mod line_ends;
pub mod smtp;
