//! What a connection may cost, on either side. Rule: every number is here, and with them a connection's memory is bounded.
//!
//! Of content that has come and was not yet inspected at most [`CONNECTION_WINDOW_BYTES`] wait. Of content that is to
//! leave each stream has in the library at most [`SEND_BUFFER_BYTES`], and before it what one HTTP/1 connection may have.

use lockgate_proto::http::Limits;
use std::time::Duration;

/// Streams of a connection that are open at a time. Browsers open fewer; who wants more waits.
pub const STREAMS_MAX: u32 = 100;
/// What a stream may bring before any of it was inspected: with less, an upload from afar would crawl.
pub const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// The same of all streams of a connection.
pub const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// What the library may take of one stream before it is sent.
pub const SEND_BUFFER_BYTES: usize = 32 << 10;
/// What header compression may remember.
pub const HEADER_TABLE_BYTES: u32 = 4 << 10;
/// Streams that the other side has reset before they were looked at (CVE-2023-44487).
pub const UNSEEN_RESETS_MAX: usize = 20;
/// Streams that a client has reset before their answer was whole, over those whose answer it took: beyond, it asks only
/// to have work done. Who leaves a page resets some dozens.
pub const RESETS_MAX: usize = 200;
/// Streams that were reset by the library for errors of the other side, in a connection's life.
pub const ERRORS_MAX: usize = 100;
/// Streams that we reset and that are remembered, so that what still comes of them is no error.
pub const REMEMBERED_RESETS_MAX: usize = 50;
/// And how long.
pub const REMEMBERED_RESETS_TIME: Duration = Duration::from_secs(5);

/// For clients.
pub fn server() -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(header_list_bytes_max())
        .header_table_size(HEADER_TABLE_BYTES)
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(UNSEEN_RESETS_MAX)
        .max_local_error_reset_streams(Some(ERRORS_MAX))
        .max_concurrent_reset_streams(REMEMBERED_RESETS_MAX)
        .reset_stream_duration(REMEMBERED_RESETS_TIME);
    builder
}

/// For servers. Nothing is pushed: nobody has asked for it, and nobody would judge it.
pub fn client() -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(0)
        .initial_max_send_streams(STREAMS_MAX as usize)
        .max_header_list_size(header_list_bytes_max())
        .header_table_size(HEADER_TABLE_BYTES)
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .max_local_error_reset_streams(Some(ERRORS_MAX))
        .max_concurrent_reset_streams(REMEMBERED_RESETS_MAX)
        .reset_stream_duration(REMEMBERED_RESETS_TIME)
        .enable_push(false);
    builder
}

/// As much as a head of HTTP/1 may have. What is longer is refused by `heads`, with a page; by the library when it is much
/// longer.
fn header_list_bytes_max() -> u32 {
    u32::try_from(Limits::default().head_bytes_max).unwrap_or(u32::MAX)
}
