//! What a flow remembers between transactions: bits and numbers. Rule: rules know them by number; names end at compiling.

use crate::candidates::Told;
use crate::ruleset::bits::IntegerCompare;
use lockgate_model::{Direction, TransactionId};
use std::collections::{BTreeMap, BTreeSet};

/// A name of a bit or number, counted from 0 over all rules.
pub(crate) type Name = u32;

/// How many bits and numbers one flow may have.
const ENTRIES_MAX: usize = 256;
/// How many rules may wait for a packet.
const WAITING_MAX: usize = 64;

/// One flow's bits and numbers.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bits: BTreeSet<Name>,
    integers: BTreeMap<Name, u32>,
    /// Whether the server has said something.
    pub is_answered: bool,
    /// Rules of which all holds but what they ask of packets.
    waiting: Vec<Told>,
}

impl Memory {
    pub fn is_set(&self, bit: Name) -> bool {
        self.bits.contains(&bit)
    }

    /// All that are set.
    pub fn bits(&self) -> impl Iterator<Item = Name> + '_ {
        self.bits.iter().copied()
    }

    pub fn set(&mut self, bit: Name) {
        if self.bits.len() < ENTRIES_MAX {
            self.bits.insert(bit);
        }
    }

    pub fn unset(&mut self, bit: Name) {
        self.bits.remove(&bit);
    }

    pub fn wait_for_packet(&mut self, told: Told) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(told);
        }
    }

    /// Those that wait for a packet of that direction.
    pub fn take_waiting(&mut self, direction: Direction) -> impl Iterator<Item = Told> + '_ {
        self.waiting.extract_if(.., move |told| told.direction == direction)
    }

    /// Those of one transaction.
    pub fn take_waiting_of(&mut self, transaction: TransactionId, direction: Direction) -> Vec<Told> {
        let is_own = |told: &mut Told| told.transaction == transaction && told.direction == direction;
        self.waiting.extract_if(.., is_own).collect()
    }

    pub fn integer(&self, name: Name) -> Option<u32> {
        self.integers.get(&name).copied()
    }

    pub fn set_integer(&mut self, name: Name, value: u32) {
        if self.integers.len() < ENTRIES_MAX || self.integers.contains_key(&name) {
            self.integers.insert(name, value);
        }
    }
}

impl IntegerCompare {
    pub fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }
}
