//! RAR 2.0 and 2.6: matches up to 1 MiB back, or sound of up to four channels. Rule: one symbol at a time.

mod sound;

use super::Start;
use super::v3::{LENGTH_SLOTS, SHORT_SLOTS, distance_slot, slot};
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::Code;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;
use sound::Sound;

/// Symbols of each code: bytes and matches, distances, lengths of repeated matches; and those of a channel of sound.
const MAIN: usize = 298;
const DISTANCES: usize = 48;
const REPEATED: usize = 28;
const CHANNEL: usize = 257;
const CHANNELS_MAX: usize = 4;
const LENGTHS: usize = CHANNEL * CHANNELS_MAX;
/// Of what lengths are told by: 16 lengths, a repetition, two runs of none.
const LENGTH_SYMBOLS: usize = 19;

/// A match's longest.
const SYMBOL_BITS: usize = 96;
/// The lengths of all codes, each of up to 15 bits and 7.
const CODES_BITS: usize = 64 + LENGTH_SYMBOLS * 4 + LENGTHS * 22;
const MATCH_BYTES_MAX: usize = 3 + 224 + 31 + 3;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Matches,
    Sound,
}

/// The state of one stream.
pub(crate) struct V2 {
    kind: Kind,
    has_codes: bool,
    /// What was told of lengths last.
    told: [u8; LENGTHS],
    main: Code,
    distance: Code,
    repeated: Code,
    lengths: Code,
    channels: [Code; CHANNELS_MAX],
    sound: Sound,
    /// The distances of the last four matches, of which the newest stands there.
    recent: [usize; 4],
    newest: usize,
    last_length: usize,
    last_distance: usize,
}

impl V2 {
    pub(crate) fn new() -> Self {
        Self {
            kind: Kind::Matches,
            has_codes: false,
            told: [0; LENGTHS],
            main: Code::new(),
            distance: Code::new(),
            repeated: Code::new(),
            lengths: Code::new(),
            channels: [Code::new(), Code::new(), Code::new(), Code::new()],
            sound: Sound::default(),
            recent: [0; 4],
            newest: 0,
            last_length: 0,
            last_distance: 0,
        }
    }

    /// A stream begins.
    pub(crate) fn begin(&mut self, start: Start) {
        if start == Start::Anew {
            *self = Self::new();
        }
    }

    fn codes(&mut self, bits: &mut Bits) -> Result<(), Reason> {
        self.kind = if bits.is_set() { Kind::Sound } else { Kind::Matches };
        if !bits.is_set() {
            self.told = [0; LENGTHS];
        }
        let count = match self.kind {
            Kind::Sound => {
                self.sound.set_channels(bits.take(2) as usize + 1);
                CHANNEL * self.sound.channels()
            }
            Kind::Matches => MAIN + DISTANCES + REPEATED,
        };
        let mut own = [0; LENGTH_SYMBOLS];
        own.fill_with(|| bits.take(4) as u8);
        self.lengths.build(&own)?;
        let mut at = 0;
        while at < count {
            let (repeated, run) = match self.lengths.take(bits)? {
                length @ 0..=15 => {
                    self.told[at] = (self.told[at] + length as u8) & 15;
                    at += 1;
                    continue;
                }
                16 => {
                    let last = at.checked_sub(1).ok_or(Reason::Damaged)?;
                    (self.told[last], bits.take(2) as usize + 3)
                }
                17 => (0, bits.take(3) as usize + 3),
                _ => (0, bits.take(7) as usize + 11),
            };
            let end = (at + run).min(count);
            self.told[at..end].fill(repeated);
            at = end;
        }
        self.has_codes = true;
        if self.kind == Kind::Sound {
            for (code, told) in self.channels.iter_mut().zip(self.told[..count].chunks(CHANNEL)) {
                code.build(told)?;
            }
            return Ok(());
        }
        let (main, rest) = self.told[..count].split_at(MAIN);
        let (distance, repeated) = rest.split_at(DISTANCES);
        self.main.build(main)?;
        self.distance.build(distance)?;
        self.repeated.build(repeated)
    }

    /// The distance and length of the match that a symbol begins.
    fn new_match(&mut self, symbol: usize, bits: &mut Bits) -> Result<(usize, usize), Reason> {
        let further =
            |distance: usize, steps: &[usize]| steps.iter().filter(|step| distance >= **step).count();
        Ok(match symbol {
            256 => (self.last_distance, self.last_length),
            257..=260 => {
                let distance = self.recent[(self.newest + 4 - (symbol - 257)) & 3];
                let repeated = self.repeated.take(bits)?;
                let length = 2 + slot(&LENGTH_SLOTS, repeated, bits)?;
                (distance, length + further(distance, &[0x101, 0x2000, 0x40000]))
            }
            261..=268 => (1 + slot(&SHORT_SLOTS, symbol - 261, bits)?, 2),
            _ => {
                let length = 3 + slot(&LENGTH_SLOTS, symbol - 270, bits)?;
                let (base, extra) = distance_slot(self.distance.take(bits)?);
                let distance = 1 + base + bits.take(extra) as usize;
                (distance, length + further(distance, &[0x2000, 0x40000]))
            }
        })
    }
}

impl Scheme for V2 {
    fn bits_needed(&self) -> usize {
        if self.has_codes { SYMBOL_BITS } else { CODES_BITS }
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        if !self.has_codes {
            self.codes(bits)?;
            return Ok(Symbol::Read);
        }
        if self.kind == Kind::Sound {
            match self.channels[self.sound.channel()].take(bits)? {
                256 => self.has_codes = false,
                delta => window.push(self.sound.next(delta as u8)),
            }
            return Ok(Symbol::Read);
        }
        let symbol = self.main.take(bits)?;
        match symbol {
            0..=255 => {
                window.push(symbol as u8);
                return Ok(Symbol::Read);
            }
            269 => {
                self.has_codes = false;
                return Ok(Symbol::Read);
            }
            _ => {}
        }
        let (distance, length) = self.new_match(symbol, bits)?;
        self.newest = (self.newest + 1) & 3;
        self.recent[self.newest] = distance;
        (self.last_distance, self.last_length) = (distance, length);
        window.copy(distance, length)?;
        Ok(Symbol::Read)
    }

    fn bits_behind(&self) -> usize {
        CODES_BITS
    }

    /// Behind the last byte, new codes may be told for the file that goes on from this one.
    fn end(&mut self, bits: &mut Bits) {
        if bits.is_used_up() || !self.has_codes {
            return;
        }
        let (code, mark) = match self.kind {
            Kind::Sound => (&self.channels[self.sound.channel()], 256),
            Kind::Matches => (&self.main, 269),
        };
        // Other bits there only fill the last byte.
        if code.take(bits) == Ok(mark) && !bits.is_overrun() {
            self.has_codes = self.codes(bits).is_ok();
        }
    }
}
