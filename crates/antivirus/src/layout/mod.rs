//! Where a program starts and where its parts lie. Rule: read from held bytes, bounded, never trusted.

mod elf;
mod imports;
mod macho;
mod ordinals;
mod pe;
mod resources;
mod version;

pub(crate) use imports::import_text;
#[cfg(test)]
pub(crate) use pe::program_headers;
pub(crate) use resources::resources;

use crate::ruleset::offset::{Offset, Section};
use lockgate_model::FileType;
use std::ops::RangeInclusive;

/// What is known of a part's layout.
pub(crate) enum Layout {
    /// No signature asks for it.
    NotNeeded,
    /// The headers are not there yet; what has come so far.
    Gathering(Vec<u8>),
    /// They stand where only the whole file shows them.
    AtEnd,
    Known(Box<Program>),
    /// This is no program, or none that can be read.
    Unreadable,
}

/// What of a program the signatures at work ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Entry point and sections.
    pub places: bool,
    /// Where the strings of its version information stand.
    pub version: bool,
}

/// The layout of a program in the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub entry: Option<u64>,
    pub sections: Vec<Range>,
    /// What a Windows program says besides.
    pub windows: Option<Windows>,
    /// Where the strings of its version information stand, sorted; `None` before they are read.
    version: Option<Vec<u64>>,
}

/// A section's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Its address when it is loaded.
    pub address: u64,
    /// Where its data starts in the file, and how many bytes it has.
    pub at: u64,
    pub bytes: u64,
}

/// The parts of a Windows program that stand elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    pub bits: Bits,
    /// It is a DLL.
    pub is_library: bool,
    headers_bytes: u64,
    /// Address and length.
    imports: (u64, u64),
    resources: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    B32,
    B64,
}

/// Why nothing was read.
#[derive(Debug, PartialEq, Eq)]
enum Unread {
    /// So many bytes are needed.
    Short(usize),
    Foreign,
}

impl Layout {
    /// For a part of this type.
    pub fn of(file_type: FileType, needs: Needs) -> Self {
        match file_type {
            FileType::Pe if needs.places || needs.version => Self::Gathering(Vec::new()),
            FileType::Elf | FileType::MachO if needs.places => Self::AtEnd,
            _ => Self::NotNeeded,
        }
    }

    /// Takes the next bytes of the file until the layout is decided. When it is, the bytes before these are given.
    pub fn push(&mut self, chunk: &[u8]) -> Option<Vec<u8>> {
        let Self::Gathering(held) = self else { return None };
        let before = held.len();
        // Nearly always the first chunk has all of it, and nothing need be copied.
        let read = if held.is_empty() {
            pe::read(chunk)
        } else {
            let room = pe::PREFIX_BYTES_MAX.saturating_sub(held.len());
            held.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            pe::read(held)
        };
        let decided = match read {
            Ok(program) => Self::Known(Box::new(program)),
            Err(Unread::Foreign) => Self::Unreadable,
            Err(Unread::Short(needed)) if needed > pe::PREFIX_BYTES_MAX => Self::Unreadable,
            Err(Unread::Short(_)) => {
                if held.is_empty() {
                    held.extend_from_slice(chunk.get(..pe::PREFIX_BYTES_MAX).unwrap_or(chunk));
                }
                return None;
            }
        };
        let mut held = std::mem::take(held);
        held.truncate(before);
        *self = decided;
        Some(held)
    }

    /// What has come of the file while its layout was open: nobody has seen it but the layout.
    pub fn take_gathered(&mut self) -> Vec<u8> {
        match self {
            Self::Gathering(held) => std::mem::take(held),
            _ => Vec::new(),
        }
    }

    /// The file has ended, and this is the whole of it.
    pub fn finish(&mut self, file_type: FileType, whole: Option<&[u8]>) {
        match self {
            Self::Gathering(_) => *self = Self::Unreadable,
            Self::AtEnd => {
                let read = match (file_type, whole) {
                    (FileType::Elf, Some(whole)) => elf::read(whole),
                    (FileType::MachO, Some(whole)) => macho::read(whole),
                    _ => None,
                };
                *self = read.map_or(Self::Unreadable, |program| Self::Known(Box::new(program)));
            }
            Self::Known(program) => {
                let version = whole.map(|whole| version::strings(program, whole)).unwrap_or_default();
                program.version = Some(version);
            }
            Self::NotNeeded | Self::Unreadable => {}
        }
    }

    /// Whether the layout is still to be found out.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Gathering(_) | Self::AtEnd)
    }

    /// Whether it can be found out from the next bytes.
    pub fn takes_bytes(&self) -> bool {
        matches!(self, Self::Gathering(_))
    }

    pub fn program(&self) -> Option<&Program> {
        match self {
            Self::Known(program) => Some(program),
            _ => None,
        }
    }

    /// Whether a body with this offset may start there; `None` while that is not known.
    pub fn admits(&self, offset: Offset, start: u64) -> Option<bool> {
        let program = match self {
            Self::Gathering(_) | Self::AtEnd => return None,
            Self::NotNeeded | Self::Unreadable => return Some(false),
            Self::Known(program) => program,
        };
        if offset == Offset::Version {
            return program.version.as_ref().map(|strings| strings.binary_search(&start).is_ok());
        }
        Some(program.place(offset).is_some_and(|place| place.contains(&start)))
    }
}

impl Program {
    /// Where a body with this offset may start; `None` where it cannot match at all.
    pub fn place(&self, offset: Offset) -> Option<RangeInclusive<u64>> {
        match offset {
            Offset::Entry { delta, shift } => {
                let first = self.entry?.checked_add_signed(delta)?;
                Some(first..=first.saturating_add(shift))
            }
            Offset::Section { section, delta, shift } => {
                let range = match section {
                    Section::Number(number) => self.sections.get(usize::from(number)),
                    Section::Last => self.sections.last(),
                }?;
                let first = range.at.saturating_add(delta);
                Some(first..=first.saturating_add(shift))
            }
            Offset::WithinSection { section } => {
                let range = self.sections.get(usize::from(section))?;
                Some(range.at..=range.at.saturating_add(range.bytes))
            }
            Offset::Anywhere | Offset::Start { .. } | Offset::End { .. } | Offset::Version => None,
        }
    }

    /// Where in the file what is loaded at that address stands.
    fn offset_of(&self, address: u64) -> Option<u64> {
        if self.windows.is_some_and(|windows| address < windows.headers_bytes) {
            return Some(address);
        }
        // The last section that holds it wins.
        self.sections.iter().rev().find_map(|section| {
            let inside = address.checked_sub(section.address).filter(|inside| *inside < section.bytes)?;
            section.at.checked_add(inside)
        })
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Unread> {
    let short = || Unread::Short(at.saturating_add(N));
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().ok_or_else(short)
}

/// A number of that many bytes, the low one first.
fn little<const N: usize>(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let number: [u8; N] = take(bytes, at).ok()?;
    Some(number.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// A number of that many bytes, in either order.
fn number<const N: usize>(bytes: &[u8], at: u64, order: Order) -> Option<u64> {
    let value = little::<N>(bytes, at)?;
    Some(match order {
        Order::LowFirst => value,
        Order::HighFirst => value.swap_bytes() >> (64 - 8 * N),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    LowFirst,
    HighFirst,
}

lockgate_stored::stored!(struct Needs { places, version });
