//! What a flow remembers of TLS's hellos: [`Hellos`]. Rule: they are bits like others, whose names no rule can write.

use crate::memory::{Memory, Name};
use crate::ruleset::spoken::{STATES, VERSIONS, state_bit, version_bit};
use lockgate_model::{Buffer, BufferSet, Direction};

/// The bits that some rule asks of (`ssl_version`, `ssl_state`).
#[derive(Debug, Default)]
pub(crate) struct Hellos {
    versions: Vec<(u16, Name)>,
    states: Vec<(Direction, Name)>,
}

impl Hellos {
    /// Those that have a number.
    pub fn new(number: impl Fn(&str) -> Option<Name>) -> Self {
        let versions = VERSIONS.iter().map(|(_, version)| (*version, version_bit(*version)));
        let states = STATES.iter().map(|(state, direction)| (*direction, state_bit(state)));
        Self {
            versions: versions.filter_map(|(version, bit)| Some((version, number(&bit)?))).collect(),
            states: states.filter_map(|(direction, bit)| Some((direction, number(&bit)?))).collect(),
        }
    }

    /// The buffers that they are set by.
    pub fn wants(&self) -> BufferSet {
        let wants = BufferSet::EMPTY;
        let wants = if self.versions.is_empty() { wants } else { wants.with(Buffer::TlsVersion) };
        if self.states.is_empty() { wants } else { wants.with(Buffer::TlsRandom) }
    }

    /// A hello has said this of itself.
    pub fn remember(&self, buffer: Buffer, bytes: &[u8], direction: Direction, memory: &mut Memory) {
        match (buffer, bytes) {
            (Buffer::TlsVersion, &[high, low]) => {
                let version = u16::from_be_bytes([high, low]);
                let known = self.versions.iter().filter(|(known, _)| *known == version);
                known.for_each(|(_, bit)| memory.set(*bit));
            }
            (Buffer::TlsRandom, _) => {
                let known = self.states.iter().filter(|(known, _)| *known == direction);
                known.for_each(|(_, bit)| memory.set(*bit));
            }
            _ => {}
        }
    }
}
