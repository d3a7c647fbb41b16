//! 7z: packed folders, and behind them a directory, which may be packed too. Rule: each file of the directory is a part, and
//! what cannot be unpacked of it is said.
//!
//! The format is that of "7zFormat.txt" in the LZMA SDK. The directory stands at the end, so that the file is held.

mod bcj2;
mod coders;
mod header;
#[cfg(test)]
mod tests;

use crate::decoder::{Entry, Event};
use crate::field::label;
use crate::held::{HeldDecoder, Whole};
use coders::{Pulled, Stage};
use header::{File, Header, Kind, START_BYTES, Start, Stream, Streams};
use lockgate_model::{Grant, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// A directory may be packed in a directory, so often.
const NESTING_MAX: u32 = 4;
/// What finding the next file costs, for each KiB made.
const NANOS_PER_KIB: u32 = 1000;

/// A 7z file that is there.
pub struct SevenZip {
    pool: Arc<Pool>,
    state: State,
    pending: VecDeque<Event>,
    worked_nanos: u64,
}

enum State {
    Start,
    /// The directory is unpacked.
    Header(Unpacking),
    Files(Box<Reading>),
    Nothing,
}

struct Unpacking {
    stage: Stage,
    size: u64,
    header: Vec<u8>,
    depth: u32,
    grants: [Grant; 2],
}

/// Where among the files it is.
struct Reading {
    header: Vec<u8>,
    streams: Streams,
    files: Vec<File>,
    /// The next of each.
    file: usize,
    folder: usize,
    stream: usize,
    /// The folder's coders, once one of its files was asked for; or why they give no more.
    stage: Option<Result<(Stage, Grant), Reason>>,
    child: Option<Child>,
    _grant: Grant,
}

/// The file that is open.
struct Child {
    left: u64,
    said: Stream,
    crc: crc32fast::Hasher,
}

/// A decoder for a 7z file.
pub fn decoder(pool: &Arc<Pool>) -> HeldDecoder<SevenZip> {
    let format =
        SevenZip { pool: Arc::clone(pool), state: State::Start, pending: VecDeque::new(), worked_nanos: 0 };
    HeldDecoder::new(pool, format)
}

impl SevenZip {
    fn start(&mut self, whole: &[u8]) -> Result<State, Reason> {
        let start = Start::parse(whole).ok_or(Reason::Truncated)?;
        if !start.is_right {
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        if start.size == 0 {
            return Ok(State::Nothing);
        }
        let end = START_BYTES as u64;
        let from = end.checked_add(start.offset).ok_or(Reason::Damaged)?;
        let to = from.checked_add(start.size).ok_or(Reason::Damaged)?;
        let is_there = usize::try_from(to).is_ok_and(|to| to <= whole.len());
        let header =
            if is_there { &whole[from as usize..to as usize] } else { return Err(Reason::Truncated) };
        if crc32fast::hash(header) != start.crc {
            // 7-Zip reads no further. Others may, and what can be read is inspected.
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        if to < whole.len() as u64 {
            self.pending.push_back(Event::Anomaly("bytes behind the end of a 7z file"));
        }
        let mut grant = self.pool.grant();
        grant.grow(header.len() as u64)?;
        self.directory(header.to_vec(), 0, grant, whole)
    }

    /// A directory is there.
    fn directory(
        &self,
        header: Vec<u8>,
        depth: u32,
        mut grant: Grant,
        whole: &[u8],
    ) -> Result<State, Reason> {
        let (parsed, kept) = header::parse(&header)?;
        grant.grow(kept)?;
        match parsed {
            Header::Plain { streams, files } => Ok(State::Files(Box::new(Reading {
                header,
                streams,
                files,
                file: 0,
                folder: 0,
                stream: 0,
                stage: None,
                child: None,
                _grant: grant,
            }))),
            Header::Encoded(_) if depth == NESTING_MAX => Err(Reason::Depth),
            Header::Encoded(streams) => {
                let folder = streams.folders.first().ok_or(Reason::Damaged)?;
                let size = folder.size()?;
                let (stage, stage_grant) = coders::open(&self.pool, &streams, folder, whole)?;
                let grants = [self.pool.grant(), stage_grant];
                Ok(State::Header(Unpacking { stage, size, header: Vec::new(), depth: depth + 1, grants }))
            }
        }
    }

    fn unpack(&mut self, mut at: Unpacking, whole: &[u8], scratch: &mut [u8]) -> Result<State, Reason> {
        if at.header.len() as u64 == at.size {
            let [grant, _] = at.grants;
            return self.directory(at.header, at.depth, grant, whole);
        }
        let pulled = at.stage.pull(whole, scratch)?;
        self.worked_nanos = at.stage.worked_nanos();
        if let Pulled::Bytes(count) = pulled {
            self.worked_nanos += (count as u64 * u64::from(2 * crate::codec::lzma::NANOS_PER_KIB)) / 1024;
            at.grants[0].grow(count as u64)?;
            at.header.extend_from_slice(&scratch[..count]);
        }
        Ok(State::Header(at))
    }

    /// The directory cannot be read: nothing is known of any file.
    fn advance(&mut self, state: State, whole: &[u8], scratch: &mut [u8]) -> Result<Event, Reason> {
        self.state = match state {
            State::Start => self.start(whole)?,
            State::Header(unpacking) => self.unpack(unpacking, whole, scratch)?,
            State::Files(mut reading) => {
                let event = reading.next(&self.pool, whole, scratch, &mut self.pending);
                self.worked_nanos = reading.worked_nanos();
                if event != Event::End {
                    self.state = State::Files(reading);
                }
                return Ok(event);
            }
            State::Nothing => return Ok(Event::End),
        };
        Ok(Event::Working)
    }
}

impl Whole for SevenZip {
    fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
        self.worked_nanos = 0;
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        let state = std::mem::replace(&mut self.state, State::Nothing);
        self.advance(state, whole, scratch).unwrap_or_else(Event::Incomplete)
    }

    fn nanos_per_kib(&self) -> u32 {
        let State::Files(reading) = &self.state else { return NANOS_PER_KIB };
        let folder = reading.streams.folders.get(reading.folder);
        NANOS_PER_KIB + folder.map_or(0, coders::nanos_per_kib)
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}

impl Reading {
    fn next(
        &mut self,
        pool: &Arc<Pool>,
        whole: &[u8],
        scratch: &mut [u8],
        pending: &mut VecDeque<Event>,
    ) -> Event {
        if let Some(child) = self.child.take() {
            return self.content(child, whole, scratch);
        }
        let file = self.files.get(self.file);
        let has_folders = self.folder < self.streams.folders.len();
        match file.map(|file| file.kind) {
            Some(Kind::Directory | Kind::Anti) => {
                self.file += 1;
                return Event::Working;
            }
            Some(Kind::Empty) => {
                pending.push_back(Event::Close);
                return self.open();
            }
            Some(Kind::Stream) if !has_folders => {
                pending.push_back(Event::Broken(Reason::Damaged));
                return self.open();
            }
            None if !has_folders => return Event::End,
            Some(Kind::Stream) | None => {}
        }
        let folder = &self.streams.folders[self.folder];
        let Some(said) = folder.streams.get(self.stream).copied() else {
            (self.folder, self.stream, self.stage) = (self.folder + 1, 0, None);
            return Event::Working;
        };
        self.stream += 1;
        if self.stage.is_none() {
            self.stage = Some(coders::open(pool, &self.streams, folder, whole));
        }
        match &self.stage {
            Some(Err(reason)) => pending.push_back(Event::Broken(*reason)),
            _ => self.child = Some(Child { left: said.size, said, crc: crc32fast::Hasher::new() }),
        }
        self.open()
    }

    /// A part begins. Bytes that no name is there for are one, too.
    fn open(&mut self) -> Event {
        let name = self.files.get(self.file).map(|file| {
            let (units, _) = self.header.get(file.name.clone()).unwrap_or_default().as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
        });
        self.file += 1;
        let name = name.filter(|name| !name.is_empty());
        let label = name.as_deref().map_or_else(|| self.file.to_string(), label);
        Event::Open(Box::new(Entry { label, name, declared: None }))
    }

    fn content(&mut self, mut child: Child, whole: &[u8], scratch: &mut [u8]) -> Event {
        if child.left == 0 {
            let is_right = child.said.crc.is_none_or(|crc| crc == child.crc.finalize());
            return if is_right { Event::Close } else { Event::Broken(Reason::Damaged) };
        }
        let Some(Ok((stage, _))) = &mut self.stage else { return Event::Broken(Reason::Damaged) };
        let room = usize::try_from(child.left).unwrap_or(usize::MAX).min(scratch.len());
        let pulled = match stage.pull(whole, &mut scratch[..room]) {
            Ok(Pulled::End) => Err(Reason::Truncated),
            other => other,
        };
        let event = match pulled {
            Ok(Pulled::Bytes(count)) => {
                child.left -= count as u64;
                child.crc.update(&scratch[..count]);
                Event::Output(count)
            }
            Ok(_) => Event::Working,
            Err(reason) => {
                self.stage = Some(Err(reason));
                return Event::Broken(reason);
            }
        };
        self.child = Some(child);
        event
    }

    fn worked_nanos(&self) -> u64 {
        match &self.stage {
            Some(Ok((stage, _))) => stage.worked_nanos(),
            _ => 0,
        }
    }
}
