//! What next hops offered when they were last asked: [`Hop`]. Rule: bounded, and forgotten soon enough to follow a change.

use lockgate_proto::smtp::Capabilities;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long an EHLO reply is taken for true.
const LIFETIME: Duration = Duration::from_secs(60);
/// How many next hops are remembered; intercepted traffic may have any number of them.
const NEXT_HOPS_MAX: usize = 1024;

/// A next hop as it was.
#[derive(Clone, Debug)]
pub struct Hop {
    /// What it offered last, under TLS if there was any.
    pub capabilities: Capabilities,
    /// Whether there was.
    pub is_encrypted: bool,
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, (Instant, Hop)>> = RefCell::default();
}

/// What the next hop of that name offered, if it was asked lately.
pub fn recall(next_hop: &str) -> Option<Hop> {
    KNOWN.with_borrow(|known| {
        let (at, hop) = known.get(next_hop)?;
        (at.elapsed() < LIFETIME).then(|| hop.clone())
    })
}

/// Remembers what it offers.
pub fn remember(next_hop: &str, hop: &Hop) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= NEXT_HOPS_MAX {
            known.retain(|_, (at, _)| at.elapsed() < LIFETIME);
        }
        if known.len() < NEXT_HOPS_MAX {
            known.insert(next_hop.to_owned(), (Instant::now(), hop.clone()));
        }
    });
}
