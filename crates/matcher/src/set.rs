//! Patterns as they are gathered, before they are compiled. Rule: a pattern that cannot be searched is refused here.

use crate::blocks::Folding;
use crate::database::Database;
use crate::fragment::{self, Check};
use crate::program::Program;
use crate::rates::Rates;
use crate::segment::{self, Case, LOOKBACK_MAX, Piece};
use crate::wildcard::Wildcard;
use std::fmt;

/// How many segments a database may have: a candidate has 28 bits for one.
pub(crate) const SEGMENTS_MAX: usize = 1 << 28;
/// How many segments a pattern may have.
const SEGMENTS_OF_PATTERN_MAX: usize = 64;
/// How many bytes of program there may be: a run has 32 bits for its place.
const PROGRAM_BYTES_MAX: usize = 1 << 31;

/// A pattern's number: they are counted from 0 in the order in which they are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatternId(pub u32);

/// Where in a stream a match may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// At any offset.
    Anywhere,
    /// At an offset from `first` to `last`, both included.
    Within {
        /// The first offset.
        first: u64,
        /// The last offset.
        last: u64,
    },
    /// Where a scanner is told, under this number: see [`crate::Scanner::place`].
    Told(u32),
    /// So many bytes before the stream's end, or up to `shift` bytes later. A distance beyond 256 or a shift beyond 63 is
    /// not looked at: the pattern is reported wherever it stands.
    BeforeEnd {
        /// The distance of the first such offset from the end.
        distance: u32,
        /// How much further a match may start.
        shift: u32,
    },
}

/// Patterns that can start at so few offsets only are not searched: they are verified there.
pub(crate) const PLACES_MAX: u64 = 64;
/// What is commoner is not deferred, in bits: runs of zeros are found in the pass for all of them.
const DEFERRED_BITS_MIN: f32 = 8.0;
/// So many bytes are kept for what stands before the end of a stream; what stands farther from it is searched.
const DISTANCE_MAX: u32 = 256;

impl Anchor {
    /// Whether it names a few places, so that nothing need be searched.
    pub(crate) fn names_places(self) -> bool {
        match self {
            Anchor::Anywhere => false,
            Anchor::Within { first, last } => last.saturating_sub(first) < PLACES_MAX,
            Anchor::Told(_) => true,
            Anchor::BeforeEnd { distance, shift } => {
                distance <= DISTANCE_MAX && u64::from(shift) < PLACES_MAX
            }
        }
    }

    /// How many bytes before the end must be at hand when it comes, the one before the match included.
    pub(crate) fn lookback(self) -> u32 {
        match self {
            Anchor::BeforeEnd { distance, .. } if self.names_places() => distance + 1,
            _ => 0,
        }
    }

    pub(crate) fn admits(self, start: u64) -> bool {
        match self {
            Anchor::Anywhere | Anchor::Told(_) | Anchor::BeforeEnd { .. } => true,
            Anchor::Within { first, last } => (first..=last).contains(&start),
        }
    }
}

/// Why a pattern cannot be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// Between two wide gaps there is no byte without wildcard near enough to the beginning.
    NoFixedByte {
        /// Which part between two wide gaps, counted from 1.
        part: usize,
    },
    /// The pattern has more than 64 parts between wide gaps.
    TooManyParts,
    /// The set has come to its bound of segments or bytes.
    SetTooLarge,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::NoFixedByte { part } => write!(
                f,
                "part {part} has no fixed byte within {LOOKBACK_MAX} bytes of its beginning; give it one"
            ),
            PatternError::TooManyParts => {
                write!(f, "more than 64 parts between wide gaps; shorten the pattern")
            }
            PatternError::SetTooLarge => write!(f, "the set of patterns is too large; split it"),
        }
    }
}

impl std::error::Error for PatternError {}

/// Why a set cannot be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// More segments than a database may have.
    TooManySegments,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::TooManySegments => write!(f, "more than 268435456 segments; split the set"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Patterns, to be compiled.
#[derive(Default, Debug)]
pub struct PatternSet {
    pub(crate) program: Program,
    pub(crate) patterns: Vec<Pattern>,
    segments: usize,
    pub(crate) content: Content,
}

/// What patterns are searched for in. Rule: a guess costs speed only, never a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    /// Programs, archives and text.
    #[default]
    Any,
    /// Mostly text.
    Text,
}

/// A pattern, cut.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub pieces: Vec<Piece>,
    pub case: Case,
    pub anchor: Anchor,
    pub call: Call,
}

/// How rare a pattern is in content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rarity {
    /// Of its commonest part between two gaps, as estimated: minus the logarithm of the share of places where it stands.
    pub bits: f32,
    /// Whether it can be found by itself. What is looked for at few places only need not be.
    pub may_be_deferred: bool,
}

/// Which scanners search for a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// Each.
    Always,
    /// Those that are made for it, or for all such patterns.
    Asked,
}

impl PatternSet {
    /// No patterns yet.
    pub fn new() -> Self {
        PatternSet::default()
    }

    /// No patterns yet; those that will be are searched for in text mostly, where other bytes are common than in programs.
    pub fn for_text() -> Self {
        PatternSet { content: Content::Text, ..PatternSet::default() }
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Adds a pattern; one that is refused leaves the set as it was.
    pub fn add(
        &mut self,
        wildcard: &Wildcard,
        case: Case,
        anchor: Anchor,
    ) -> Result<PatternId, PatternError> {
        if self.segments >= SEGMENTS_MAX - SEGMENTS_OF_PATTERN_MAX
            || self.program.heap_bytes() > PROGRAM_BYTES_MAX
        {
            return Err(PatternError::SetTooLarge);
        }
        let mark = self.program.mark();
        let pieces = segment::cut(wildcard, case, &mut self.program);
        if let Err(error) = check(&pieces, anchor) {
            self.program.back_to(mark);
            return Err(error);
        }
        let id = PatternId(self.patterns.len() as u32);
        self.segments += pieces.len();
        self.patterns.push(Pattern { pieces, case, anchor, call: Call::Always });
        Ok(id)
    }

    /// Has a pattern searched for by scanners only that ask for it: see [`crate::Sought`]. One that is looked for at few
    /// places stays as it is.
    pub fn defer(&mut self, id: PatternId) {
        let pattern = self.patterns.get_mut(id.0 as usize);
        if let Some(pattern) = pattern.filter(|pattern| !pattern.anchor.names_places()) {
            pattern.call = Call::Asked;
        }
    }

    /// How rare each pattern is.
    pub fn rarities(&self) -> Vec<Rarity> {
        let rates = [Rates::new(Folding::None), Rates::new(Folding::Ascii)];
        let rarity = |pattern: &Pattern| {
            let rates = &rates[usize::from(pattern.case == Case::Insensitive)];
            let bits = |piece: &Piece| {
                piece.fragments.iter().map(|fragment| rates.bits(&fragment.bytes)).fold(0.0, f32::max)
            };
            let can_be_found = |piece: &Piece| Check::alone(&piece.head).landmarks().is_some();
            let bits = pattern.pieces.iter().map(bits).fold(f32::INFINITY, f32::min);
            Rarity {
                bits,
                may_be_deferred: pattern.anchor == Anchor::Anywhere
                    && bits >= DEFERRED_BITS_MIN
                    && pattern.pieces.iter().all(can_be_found),
            }
        };
        self.patterns.iter().map(rarity).collect()
    }

    /// The database of these patterns.
    pub fn compile(self) -> Result<Database, CompileError> {
        if self.segments > SEGMENTS_MAX {
            return Err(CompileError::TooManySegments);
        }
        Ok(Database::new(self))
    }
}

fn check(pieces: &[Piece], anchor: Anchor) -> Result<(), PatternError> {
    if pieces.len() > SEGMENTS_OF_PATTERN_MAX {
        return Err(PatternError::TooManyParts);
    }
    let cannot_be_searched = |(at, piece): &(usize, &Piece)| {
        fragment::length_max(&piece.fragments) == 0 && !(*at == 0 && anchor.names_places())
    };
    match pieces.iter().enumerate().find(cannot_be_searched) {
        Some((at, _)) => Err(PatternError::NoFixedByte { part: at + 1 }),
        None => Ok(()),
    }
}

lockgate_stored::stored!(struct PatternId(u32));
lockgate_stored::stored!(enum Anchor {
    0 => Anywhere,
    1 => Within { first, last },
    2 => Told(number),
    3 => BeforeEnd { distance, shift },
});
