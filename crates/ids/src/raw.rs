//! What one transaction of a proxy has brought, as it came: [`Raw`]. Rule: rules about the bytes of a connection are asked here
//! where no packet is seen, of the same windows as on the wire.

use crate::candidates::Asking;
use crate::database::{Compiled, Database, Searched};
use crate::flow::Facts;
use crate::kinds::Kind;
use crate::memory::Memory;
use crate::packets::asked::Asked;
use crate::packets::side::Side;
use crate::search::{LAST_MAX, Search};
use lockgate_model::{Direction, Protocol};
use std::cell::OnceCell;
use std::sync::Arc;

/// How many rules may be half there.
const HALVES_MAX: usize = 1024;

/// Of a rule that asks for bytes and for what is made of them, the half that holds.
#[derive(Clone, Copy, Debug)]
struct Half {
    rule: u32,
    is_of_bytes: bool,
    /// Where its first content was found.
    offset: Option<u64>,
}

/// The bytes of one transaction.
#[derive(Default)]
pub(crate) struct Raw {
    side: Side,
    search: OnceCell<Option<Arc<Search>>>,
    /// How many have come.
    bytes: u64,
    /// How many of those were searched together with what they are the content of.
    bytes_of_content: usize,
    halves: Vec<Half>,
    /// Whether something was not asked for want of room or steps.
    pub is_spent: bool,
}

impl Asked {
    /// Whether a rule that asks this can be asked without a packet.
    pub fn is_of_streams(&self) -> bool {
        let asks_packets = !self.tests.is_empty() || self.has_headers;
        !asks_packets && self.stream_sizes.is_empty() && self.events.is_empty() && self.lists != 0
    }
}

impl Facts {
    /// Whether a rule about the bytes of a connection is about such a flow, of which no packet is seen, and that way of it.
    pub fn concern_in_bytes(&self, rule: &Compiled, direction: Direction) -> bool {
        let is_of_streams = rule.asked.as_ref().is_some_and(Asked::is_of_streams);
        is_of_streams && self.concern(rule, direction) && self.is_on_its_port(rule, direction)
    }

    /// The same for a rule that may be about what is made of the bytes, too.
    pub fn concern_in_either(&self, rule: &Compiled, direction: Direction) -> bool {
        match rule.content_lists() {
            0 => self.concern_in_bytes(rule, direction),
            _ => self.concern(rule, direction),
        }
    }
}

impl Raw {
    /// Of a connection that no packet is seen of, where rules ask for its bytes.
    pub fn of(database: &Database, protocol: Protocol, direction: Direction) -> Option<Self> {
        let is_proxied = matches!(protocol, Protocol::Http | Protocol::Smtp | Protocol::Pop3);
        let is_asked = database.groups.is_mixed || !database.body(direction).connection.is_empty();
        (is_proxied && is_asked).then(Self::default)
    }

    /// The next bytes. `is_last` says whether no more are at hand.
    pub fn push(&mut self, asking: Asking<'_>, kind: Option<&Kind>, (bytes, is_last): (&[u8], bool)) {
        let Asking { database, facts, direction, .. } = asking;
        let concerns = |rule: u32| facts.concern_in_bytes(&database.rules[rule as usize], direction);
        let search =
            self.search.get_or_init(|| database.search_in(Searched::Bytes(direction), kind, &concerns));
        self.side.push(database, search.as_deref(), (self.bytes, bytes, is_last), &concerns);
        self.bytes += bytes.len() as u64;
    }

    /// A head, the first that comes and no longer than there is room for, in which patterns of these rules were found.
    pub fn push_head(&mut self, asking: Asking<'_>, bytes: &[u8], found: &[u32]) {
        let Asking { database, facts, direction, .. } = asking;
        let concerns = |rule: u32| facts.concern_in_bytes(&database.rules[rule as usize], direction);
        self.side.push_searched(database, (bytes, true), found.iter().copied(), (None, 0), &concerns);
        self.bytes += bytes.len() as u64;
    }

    /// Whether a head is the first that comes, and no longer than there is room for.
    pub fn begins_with(&self, head: &[u8]) -> bool {
        self.bytes == 0 && head.len() <= self.room()
    }

    /// How much of the next bytes is looked at at a time.
    pub fn room(&self) -> usize {
        self.side.room()
    }

    /// The same, no more than there is room for, where they are content in which patterns of these rules were found.
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

    /// The rules that hold by now: of the bytes alone, or of the bytes and of what was made of them, whichever was first.
    pub fn found(&mut self, asking: Asking<'_>, memory: &mut Memory) -> Vec<(u32, Option<u64>)> {
        let Asking { database, .. } = asking;
        let mut found = Vec::new();
        for told in memory.take_waiting_of(asking.transaction, asking.direction) {
            let asked = database.rules[told.rule as usize].asked.as_ref();
            let Some(asked) = asked.filter(|asked| asked.is_of_streams()) else { continue };
            match self.half(told.rule, true) {
                Some(half) => found.push((told.rule, told.offset.or(half.offset))),
                None => self.keep(Half { rule: told.rule, is_of_bytes: false, offset: told.offset }),
            }
            if !asked.is_searched {
                self.side.keep_asking(database, told.rule);
            }
        }
        for ready in self.side.take_ready() {
            let is_whole = database.rules[ready.rule as usize].content_lists() == 0;
            match self.half(ready.rule, false) {
                Some(half) => found.push((ready.rule, half.offset.or(ready.offset))),
                None if is_whole => found.push((ready.rule, ready.offset)),
                None => self.keep(Half { rule: ready.rule, is_of_bytes: true, offset: ready.offset }),
            }
        }
        self.is_spent |= std::mem::take(&mut self.side.is_spent);
        found.sort_unstable();
        found
    }

    fn half(&self, rule: u32, is_of_bytes: bool) -> Option<Half> {
        self.halves.iter().copied().find(|half| half.rule == rule && half.is_of_bytes == is_of_bytes)
    }

    fn keep(&mut self, half: Half) {
        let is_known = self.half(half.rule, half.is_of_bytes).is_some();
        let has_room = self.halves.len() < HALVES_MAX;
        if !is_known && has_room {
            self.halves.push(half);
        }
        self.is_spent |= !is_known && !has_room;
    }
}
