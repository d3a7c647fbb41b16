//! A connection that is not looked into: bytes both ways, untouched. Rule: whoever comes here was judged before.

use super::origin::Origin;
use super::session::Session;
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// Copies both ways until both have ended, or nothing has moved for too long; says how many bytes went to the client.
/// `begun` is what was read of it before.
pub async fn carry(session: &Session, client: &mut Stream, mut origin: Origin, begun: &[u8]) -> u64 {
    let patience = session.client.gate.settings.timeouts.command;
    let (mut up, mut down) = (OneWay::default(), OneWay::default());
    if origin.stream().write(begun).is_err() {
        return 0;
    }
    // However it ended: both sides are left, and what is still to be written to the client is.
    let _ = relay(client, origin.stream(), &mut up, &mut down, patience).await;
    down.bytes
}

/// One way of a tunnel.
#[derive(Default)]
struct OneWay {
    bytes: u64,
    has_ended: bool,
}

async fn relay(
    client: &mut Stream,
    origin: &mut Stream,
    up: &mut OneWay,
    down: &mut OneWay,
    patience: Duration,
) -> io::Result<()> {
    let mut last_progress = Instant::now();
    while !(up.has_ended && down.has_ended) {
        let had_ended = (up.has_ended, down.has_ended);
        let moved = step(client, origin, up)? | step(origin, client, down)?;
        // Who has said all may still be told something: each end is passed on by itself.
        if up.has_ended && !had_ended.0 {
            timeout(patience, origin.end_writing()).await??;
        }
        if down.has_ended && !had_ended.1 {
            timeout(patience, client.end_writing()).await??;
        }
        if moved {
            last_progress = Instant::now();
            continue;
        }
        let from_client = reading(origin, up);
        let from_origin = reading(client, down);
        tokio::select! {
            ready = client.ready(from_client) => ready?,
            ready = origin.ready(from_origin) => ready?,
            () = sleep_until(last_progress + patience) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
    Ok(())
}

fn reading(to: &Stream, way: &OneWay) -> Reading {
    if way.has_ended || to.pending_bytes() >= PENDING_BYTES_MAX { Reading::Unwanted } else { Reading::Wanted }
}

/// Reads once and passes on what came; says whether anything did.
fn step(from: &mut Stream, to: &mut Stream, way: &mut OneWay) -> io::Result<bool> {
    if reading(to, way) == Reading::Unwanted {
        return Ok(false);
    }
    with_scratch(|scratch| match from.try_read(scratch)? {
        ReadOutcome::Bytes(count) => {
            way.bytes += count as u64;
            to.write(&scratch[..count]).map(|()| true)
        }
        ReadOutcome::WouldBlock => Ok(false),
        ReadOutcome::End => {
            way.has_ended = true;
            Ok(true)
        }
    })
}
