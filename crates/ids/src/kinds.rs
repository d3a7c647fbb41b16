//! What a flow may be about, told once for all flows of its kind: [`Kinds`]. Rule: two flows of one kind are about the same rules, and what is
//! not about a flow is not searched for in it.

use crate::ends::{Ends, EndsBuilder};
use crate::packets::groups::Carrier;
use crate::ruleset::header::Header;
use crate::search::{Search, Searches};
use lockgate_model::{self as model, Direction};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

/// How many kinds are told apart. Flows of those that turn up later are searched for everything.
const KINDS_MAX: usize = 4096;
/// What stands for an end that is not known.
const UNKNOWN: [u32; 2] = [u32::MAX; 2];

/// What tells flows apart, as far as rules go, one way of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    /// What is spoken, and whether that is certain; `None` where packets are asked, whatever is spoken.
    pub spoken: Option<(model::Protocol, bool)>,
    pub carrier: Carrier,
    pub direction: Direction,
    /// Where it comes from and where it goes.
    pub ends: [Option<SocketAddr>; 2],
}

/// The same, where ends are told apart by lists alone.
type Key = (Option<(model::Protocol, bool)>, Carrier, Direction, [[u32; 2]; 2]);

/// All kinds that have turned up.
#[derive(Default)]
pub(crate) struct Kinds {
    /// `None` where ends cannot be told apart.
    ends: Option<Ends>,
    known: Mutex<HashMap<Key, Arc<Kind>>>,
    searches: usize,
}

/// One kind: each of its searches is made when it is first needed.
pub(crate) struct Kind(Box<[OnceLock<Option<Arc<Search>>>]>);

impl Kinds {
    /// Of flows that rules with these heads tell apart, with so many searches each at most.
    pub fn new<'h>(headers: impl Iterator<Item = &'h Header>, searches: usize) -> Self {
        let mut ends = EndsBuilder::default();
        headers.for_each(|header| ends.add(header));
        Self { ends: ends.finish(), known: Mutex::default(), searches }
    }

    /// The kind of a flow; `None` where it is one of too many.
    pub fn of(&self, class: Class) -> Option<Arc<Kind>> {
        let ends = self.ends.as_ref()?;
        let sets = class.ends.map(|end| end.map_or(UNKNOWN, |end| ends.sets_of(end)));
        let key = (class.spoken, class.carrier, class.direction, sets);
        let mut known = crate::flow::locked(&self.known);
        if let Some(kind) = known.get(&key) {
            return Some(Arc::clone(kind));
        }
        if known.len() >= KINDS_MAX {
            return None;
        }
        let kind = Arc::new(Kind((0..self.searches).map(|_| OnceLock::new()).collect()));
        known.insert(key, Arc::clone(&kind));
        Some(kind)
    }
}

impl Kind {
    /// Its search of that number, out of all that is searched for there: for what `concerns` it.
    pub fn search(
        &self,
        number: usize,
        all: &Searches,
        concerns: &dyn Fn(u32) -> bool,
    ) -> Option<Arc<Search>> {
        match self.0.get(number) {
            Some(made) => made.get_or_init(|| all.narrowed(concerns)).clone(),
            None => all.whole(),
        }
    }
}
