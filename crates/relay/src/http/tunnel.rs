//! What follows a CONNECT: bytes both ways, untouched. Rule: whom it leads to is judged before the first of them.

use super::asked::Asked;
use super::origin::Origin;
use super::page::{About, Page, Way};
use super::session::{Over, Session, client_gone};
use crate::dial::DialError;
use crate::events::{Action, Record};
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use lockgate_inspect::{HoldPlan, Inspection, Progress, Root};
use lockgate_model::{Direction, Transaction, TransactionId};
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// Leads the client to where it wants to go, if it may.
pub async fn serve(session: &Session, client: &mut Stream, asked: Asked) -> Result<(), Over> {
    let group = session.group();
    let about = Transaction {
        id: TransactionId(session.shared.next_id()),
        direction: Direction::ToServer,
        group: group.name.clone(),
        sender: None,
        recipients: Vec::new(),
        name: None,
    };
    let plan = HoldPlan::Head { hold_bytes: 0 };
    let mut inspection = session.begin(&about, group, Root::File, plan);
    asked.tell(&mut inspection);
    while inspection.finish() == Progress::Busy {}
    let page = match open(session, &asked, &inspection).await {
        Ok(origin) => {
            let carried = carry(session, client, origin).await;
            note(session, &asked, &about, &inspection, Action::Forwarded, (Some(200), carried, ""));
            return Err(Over::Said);
        }
        Err(page) => page,
    };
    let action = if page.status() == 403 { Action::Refused } else { Action::Lost };
    let said = format!("{} {}", page.status(), page.why());
    note(session, &asked, &about, &inspection, action, (Some(page.status()), 0, &said));
    let hostname = &session.shared.settings.load_full().hostname;
    let page_about =
        About { address: &asked.address(), id: about.id, hostname, is_head: false, closes: true };
    client.write(&page.bytes(&page_about)).map_err(client_gone)?;
    Err(Over::Said)
}

/// Judges, dials, and says that the way is open.
async fn open(session: &Session, asked: &Asked, inspection: &Inspection) -> Result<Box<Origin>, Page> {
    if inspection.is_refused() {
        return Err(Page::blocked(inspection.judgement(), Way::ToServer));
    }
    if !session.client.gate.settings.connect_ports.contains(&asked.port) {
        return Err(Page::forbidden(format!("CONNECT to port {} is not allowed", asked.port)));
    }
    let dialled = Origin::dial(&session.client, &session.shared, &asked.host, asked.port).await;
    let origin = dialled.map_err(|e| match e {
        DialError::Nowhere(why) => Page::forbidden(why),
        DialError::Timeout => Page::bad_gateway(504, "the server does not take the connection in time"),
        e => Page::bad_gateway(502, format!("the server cannot be reached: {e}")),
    })?;
    Ok(Box::new(origin))
}

/// Copies both ways until both have ended, or nothing has moved for too long; says how many bytes went to the client.
async fn carry(session: &Session, client: &mut Stream, mut origin: Box<Origin>) -> u64 {
    // In front of it stands Via for no one: a 2xx to CONNECT has no content and opens the way (RFC 9110 section 9.3.6).
    if client.write(b"HTTP/1.1 200 Connection established\r\n\r\n").is_err() {
        return 0;
    }
    let patience = session.client.gate.settings.timeouts.command;
    let (mut up, mut down) = (OneWay::default(), OneWay::default());
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

fn note(
    session: &Session,
    asked: &Asked,
    about: &Transaction,
    inspection: &Inspection,
    action: Action,
    (status, bytes, reply): (Option<u16>, u64, &str),
) {
    session.shared.events.load().verdict(&Record {
        flow: &session.flow(),
        about,
        mail: Default::default(),
        http: Some(asked.noted(status, None)),
        judgement: inspection.judgement(),
        action,
        reply,
        wire_bytes: bytes,
        released_bytes: bytes,
    });
}
