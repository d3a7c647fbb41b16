//! Compiled help (`.chm`, ITSF): files in two sections, the second packed by LZX. Rule: each file that the directory names, and
//! what is not there is told.
//!
//! The format is known from what others found out about it; Microsoft never said. The reset table tells where each frame of
//! 32 KiB begins, so that reading may begin wherever LZX begins anew.

mod directory;
#[cfg(test)]
mod tests;

use crate::codec::lzx::{self, Lzx};
use crate::decoder::{Entry, Event};
use crate::field::{label, u32_le, u64_le};
use crate::held::Whole;
use directory::{Directory, File};
use lockgate_model::{Grant, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the second section is, and how it is to be read.
const CONTENT: &str = "::DataSpace/Storage/MSCompressed/Content";
const CONTROL: &str = "::DataSpace/Storage/MSCompressed/ControlData";
const RESETS: &str = "::DataSpace/Storage/MSCompressed/Transform/{7FC28940-9D31-11D0-9B27-00A0C91E9C7C}/InstanceData/ResetTable";
/// What begins the names of what is no file.
const INTERNAL: &str = "::DataSpace/";
const FRAME_BYTES: u64 = lzx::FRAME_BYTES_MAX as u64;
/// What an unpacked frame takes.
const STATE_BYTES: u64 = FRAME_BYTES;
/// What copying costs.
const NANOS_PER_KIB: u32 = 200;

/// A help file.
pub struct Chm {
    pool: Arc<Pool>,
    grant: Grant,
    state: State,
    directory: Directory,
    /// In the order in which their content comes, the next one last.
    files: Vec<File>,
    packed: Result<Packed, Reason>,
    open: Option<Open>,
    pending: VecDeque<Event>,
    worked_nanos: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Directory,
    Files,
    Nothing,
}

/// The file that is open: what is left of it.
#[derive(Clone, Copy, Debug)]
struct Open {
    is_packed: bool,
    at: u64,
    left: u64,
}

/// The second section on its way.
struct Packed {
    lzx: Lzx,
    /// Where it begins in the file, and its frames' places.
    at: u64,
    table_at: u64,
    frames: u64,
    packed_bytes: u64,
    bytes: u64,
    frames_a_reset: u64,
    /// The next frame, and what the last one made.
    frame: u64,
    made: Vec<u8>,
    made_at: u64,
}

impl Chm {
    /// Awaits the whole.
    pub fn new(pool: &Arc<Pool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            grant: pool.grant(),
            state: State::Head,
            directory: Directory::default(),
            files: Vec::new(),
            packed: Err(Reason::Damaged),
            open: None,
            pending: VecDeque::new(),
            worked_nanos: 0,
        }
    }

    /// All names are there: what is read, in which order.
    fn begin(&mut self, whole: &[u8]) {
        let mut files = std::mem::take(&mut self.directory.files);
        self.packed = self.section(&files, whole);
        files.retain(|file| {
            !file.name.starts_with(INTERNAL) && (file.length > 0 || !file.name.ends_with('/'))
        });
        files.sort_by_key(|file| std::cmp::Reverse((file.section, file.offset)));
        self.files = files;
    }

    /// What the second section is.
    fn section(&mut self, files: &[File], whole: &[u8]) -> Result<Packed, Reason> {
        let named = |name| files.iter().find(|file| file.section == 0 && file.name == name);
        let piece = |name| {
            let file: &File = named(name)?;
            slice(whole, self.directory.content_at.checked_add(file.offset)?, file.length)
        };
        let (Some(control), Some(resets), Some(content)) = (piece(CONTROL), piece(RESETS), named(CONTENT))
        else {
            return Err(Reason::Damaged);
        };
        if control.get(4..8) != Some(b"LZXC") || u64_le(resets, 32) != FRAME_BYTES {
            return Err(Reason::Unsupported);
        }
        // The second version counts in frames.
        let unit = if u32_le(control, 8) == 2 { FRAME_BYTES } else { 1 };
        let (reset, window) = (u64::from(u32_le(control, 12)) * unit, u64::from(u32_le(control, 16)) * unit);
        if !window.is_power_of_two() || reset == 0 || !reset.is_multiple_of(FRAME_BYTES) {
            return Err(Reason::Damaged);
        }
        self.grant.grow(STATE_BYTES)?;
        let table_at = named(RESETS).map_or(0, |file| file.offset) + u64::from(u32_le(resets, 12));
        Ok(Packed {
            lzx: Lzx::new(&self.pool, window.ilog2())?,
            at: self.directory.content_at.saturating_add(content.offset),
            table_at: self.directory.content_at.saturating_add(table_at),
            frames: u32_le(resets, 4).into(),
            packed_bytes: u64_le(resets, 24).min(content.length),
            bytes: u64_le(resets, 16),
            frames_a_reset: reset / FRAME_BYTES,
            frame: 0,
            made: Vec::new(),
            made_at: 0,
        })
    }

    fn next_file(&mut self) -> Event {
        let Some(file) = self.files.pop() else {
            self.state = State::Nothing;
            return Event::Working;
        };
        let lost = match (file.section, &self.packed) {
            (0, _) => None,
            (1, Ok(packed)) => {
                let is_behind = file.offset < packed.made_at;
                let is_there = file.offset.saturating_add(file.length) <= packed.bytes;
                (file.length > 0 && (is_behind || !is_there)).then_some(Reason::Damaged)
            }
            (1, Err(reason)) => Some(*reason),
            _ => Some(Reason::Unsupported),
        };
        match lost {
            Some(reason) => self.pending.push_back(Event::Broken(reason)),
            None => {
                let at = if file.section == 0 {
                    self.directory.content_at.saturating_add(file.offset)
                } else {
                    file.offset
                };
                self.open = Some(Open { is_packed: file.section != 0, at, left: file.length });
            }
        }
        let name = file.name;
        Event::Open(Box::new(Entry { label: label(&name), name: Some(name), declared: None }))
    }

    /// A piece of the file that is open.
    fn piece(&mut self, open: Open, whole: &[u8], scratch: &mut [u8]) -> Result<Event, Reason> {
        if open.left == 0 {
            self.open = None;
            return Ok(Event::Close);
        }
        let there = if open.is_packed {
            let packed = self.packed.as_mut().map_err(|reason| *reason)?;
            let there = open.at.checked_sub(packed.made_at).and_then(|at| packed.made.get(at as usize..));
            match there.filter(|there| !there.is_empty()) {
                Some(there) => there,
                None => {
                    self.worked_nanos = packed.make(open.at, whole)?;
                    return Ok(Event::Working);
                }
            }
        } else {
            slice(whole, open.at, 1).ok_or(Reason::Truncated)?;
            whole.get(open.at as usize..).unwrap_or_default()
        };
        let left = usize::try_from(open.left).unwrap_or(usize::MAX);
        let length = there.len().min(left).min(scratch.len());
        scratch[..length].copy_from_slice(&there[..length]);
        let length_64 = length as u64;
        self.open = Some(Open { at: open.at + length_64, left: open.left - length_64, ..open });
        Ok(Event::Output(length))
    }
}

impl Packed {
    /// Makes the next frame on the way to a place; what that cost.
    fn make(&mut self, place: u64, whole: &[u8]) -> Result<u64, Reason> {
        let wanted = place / FRAME_BYTES;
        let reset = wanted - wanted % self.frames_a_reset;
        if self.frame < reset {
            // What lies between is nobody's.
            self.frame = reset;
        }
        if self.frame.is_multiple_of(self.frames_a_reset) {
            self.lzx.reset();
        }
        if self.frame >= self.frames {
            return Err(Reason::Truncated);
        }
        let entry = |frame: u64| {
            let eight = slice(whole, self.table_at.checked_add(frame * 8)?, 8)?;
            Some(u64_le(eight, 0))
        };
        let begin = entry(self.frame).ok_or(Reason::Damaged)?;
        let end = if self.frame + 1 < self.frames { entry(self.frame + 1) } else { Some(self.packed_bytes) };
        let length = end.and_then(|end| end.checked_sub(begin)).ok_or(Reason::Damaged)?;
        let packed = self.at.checked_add(begin).and_then(|at| slice(whole, at, length));
        let packed = packed.ok_or(Reason::Truncated)?;
        self.made_at = self.frame * FRAME_BYTES;
        let size = self.bytes.saturating_sub(self.made_at).min(FRAME_BYTES) as usize;
        self.made.clear();
        self.lzx.frame(packed, size, &mut self.made)?;
        self.frame += 1;
        Ok(lzx::FRAME_NANOS + size as u64 * lzx::BYTE_NANOS)
    }
}

impl Whole for Chm {
    fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
        self.worked_nanos = 0;
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        let lost = match (self.state, self.open) {
            (State::Head, _) => self.directory.begin(whole).map(|()| self.state = State::Directory),
            (State::Directory, _) => self.directory.chunk(whole, &mut self.grant).map(|is_through| {
                if is_through {
                    self.begin(whole);
                    self.state = State::Files;
                }
            }),
            (State::Files, None) => return self.next_file(),
            (State::Files, Some(open)) => {
                return self.piece(open, whole, scratch).unwrap_or_else(|reason| {
                    self.open = None;
                    self.packed = self.packed_after(open, reason);
                    Event::Broken(reason)
                });
            }
            (State::Nothing, _) => {
                self.grant.clear();
                return Event::End;
            }
        };
        match lost {
            Ok(()) => Event::Working,
            Err(reason) => {
                self.state = State::Nothing;
                Event::Incomplete(reason)
            }
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}

impl Chm {
    /// Where a packed file broke, those behind it break, too.
    fn packed_after(&mut self, open: Open, reason: Reason) -> Result<Packed, Reason> {
        let packed = std::mem::replace(&mut self.packed, Err(reason));
        if open.is_packed { Err(reason) } else { packed }
    }
}

/// So many bytes from there, if they are there.
fn slice(whole: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let (at, length) = (usize::try_from(at).ok()?, usize::try_from(length).ok()?);
    whole.get(at..at.checked_add(length)?)
}
