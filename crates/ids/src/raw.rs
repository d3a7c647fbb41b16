//! What one transaction of a proxy has brought, as it came: [`Raw`]. Rule: rules about the bytes of a connection are asked here
//! where no packet is seen, of the same windows as on the wire.

use crate::candidates::Asking;
use crate::database::{Compiled, Database, Searched};
use crate::evaluate::{Answer, Variables};
use crate::flow::Facts;
use crate::kinds::Kind;
use crate::memory::Memory;
use crate::packets::asked::Asked;
use crate::packets::groups::Carrier;
use crate::packets::side::{Side, payload_holds};
use crate::search::{LAST_MAX, Search};
use lockgate_model::{Direction, Protocol};
use std::cell::OnceCell;
use std::sync::Arc;

/// What all rules that wait together may cost, in steps.
const STEPS_MAX: u64 = 100_000;

/// The bytes of one transaction.
#[derive(Default)]
pub(crate) struct Raw {
    side: Side,
    search: OnceCell<Option<Arc<Search>>>,
    /// How many have come.
    bytes: u64,
    /// How many of those were searched together with what they are the content of.
    bytes_of_content: usize,
    /// Whether something was not asked for want of room or steps.
    pub is_spent: bool,
}

impl Asked {
    /// Whether a rule that asks this can be asked without a packet.
    pub fn is_of_streams(&self) -> bool {
        self.tests.is_empty() && self.stream_sizes.is_empty() && self.events.is_empty() && self.lists != 0
    }
}

impl Facts {
    /// Whether a rule about the bytes of a connection is about such a flow, of which no packet is seen, and that way of it.
    pub fn concern_in_bytes(&self, rule: &Compiled, direction: Direction) -> bool {
        let is_of_streams = rule.asked.as_ref().is_some_and(Asked::is_of_streams);
        is_of_streams && self.concern(rule, direction) && self.is_on_its_port(rule, direction)
    }
}

impl Raw {
    /// Of a connection that no packet is seen of, where rules ask for its bytes.
    pub fn of(database: &Database, protocol: Protocol, direction: Direction) -> Option<Self> {
        let is_proxied = matches!(protocol, Protocol::Http | Protocol::Smtp | Protocol::Pop3);
        let is_asked = is_proxied && !database.groups.of(Carrier::Tcp, direction).stream.is_empty();
        is_asked.then(Self::default)
    }

    /// The next bytes.
    pub fn push(&mut self, asking: Asking<'_>, kind: Option<&Kind>, bytes: &[u8]) {
        let Asking { database, facts, direction, .. } = asking;
        let concerns = |rule: u32| facts.concern_in_bytes(&database.rules[rule as usize], direction);
        let search =
            self.search.get_or_init(|| database.search_in(Searched::Bytes(direction), kind, &concerns));
        self.side.push(database, search.as_deref(), (self.bytes, bytes), &concerns);
        self.bytes += bytes.len() as u64;
    }

    /// How much of the next bytes is looked at at a time.
    pub fn room(&self) -> usize {
        self.side.room()
    }

    /// The next bytes, no more than there is room for, where they are content in which patterns of these rules were found. `is_last` says
    /// whether no more are at hand.
    pub fn push_searched(
        &mut self,
        asking: Asking<'_>,
        kind: Option<&Kind>,
        (bytes, is_last): (&[u8], bool),
        found: impl Iterator<Item = u32>,
    ) {
        let Asking { database, facts, direction, .. } = asking;
        let concerns = |rule: u32| facts.concern_in_bytes(&database.rules[rule as usize], direction);
        let search =
            self.search.get_or_init(|| database.search_in(Searched::Bytes(direction), kind, &concerns));
        // What began before the content, or can stand at the beginning of all only, is found by the search for bytes alone.
        let reach = search.as_ref().map_or(0, |search| search.longest + LAST_MAX as usize);
        let reach = reach.saturating_sub(self.bytes_of_content);
        self.side.push_searched(database, (bytes, is_last), found, (search.as_deref(), reach), &concerns);
        self.bytes += bytes.len() as u64;
        self.bytes_of_content += bytes.len();
    }

    /// The rules that hold by now: of the bytes alone, or of what was made of them and waits for the bytes.
    pub fn found(&mut self, asking: Asking<'_>, memory: &mut Memory) -> Vec<(u32, Option<u64>)> {
        let mut found: Vec<_> =
            self.side.take_ready().iter().map(|ready| (ready.rule, ready.offset)).collect();
        let mut steps = STEPS_MAX;
        for told in memory.take_waiting_of(asking.transaction, asking.direction) {
            let asked = asking.database.rules[told.rule as usize].asked.as_ref();
            if !asked.is_some_and(Asked::is_of_streams) {
                continue;
            }
            let piece = self.side.piece();
            match payload_holds(asking.database, told.rule, piece, &mut steps, &mut Variables::default()) {
                Answer::Yes { offset } => found.push((told.rule, told.offset.or(offset))),
                Answer::No => self.is_spent |= !memory.wait_for_packet(told),
                Answer::Spent => self.is_spent = true,
            }
        }
        self.is_spent |= std::mem::take(&mut self.side.is_spent);
        found.sort_unstable();
        found
    }
}
