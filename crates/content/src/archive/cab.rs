//! Cabinets (MS-CAB): folders of files that are packed together, in blocks. Rule: folder by folder as they come, each file as its
//! turn comes.
//!
//! What goes on in another cabinet is not there; it is told.

mod header;
#[cfg(test)]
mod tests;
mod unfold;

use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label, u16_le, u32_le};
use header::{File, Folder, Head, Place};
use lockgate_model::{Grant, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;
use unfold::Unfold;

const MAGIC: &[u8] = b"MSCF";
/// What a file takes beside its name, and a folder.
const FILE_BYTES: u64 = size_of::<File>() as u64;
const FOLDER_BYTES: u64 = size_of::<Folder>() as u64;
/// A block packed, and what it makes.
const BLOCK_BYTES: u64 = 2 * (64 << 10);
/// The rank of files that are in no folder of this cabinet: they come first.
const STRAY: u32 = 0;
/// What skipping and copying cost.
const NANOS_PER_KIB: u32 = 200;

/// A cabinet on its way.
pub struct CabDecoder {
    pool: Arc<Pool>,
    grant: Grant,
    expect: Expect,
    field: Field,
    position: u64,
    head: Head,
    folders: Vec<Folder>,
    /// In the order in which their content comes, the next one last, once all are there.
    files: Vec<File>,
    name: Vec<u8>,
    /// Numbers of folders in the order in which they come, the next one last.
    order: Vec<usize>,
    folder: Content,
    begins_before: bool,
    pending: VecDeque<Event>,
    worked_nanos: u64,
}

/// The folder at hand.
#[derive(Default)]
struct Content {
    unfold: Option<Unfold>,
    /// As in its files.
    rank: u32,
    /// Why its files cannot be read from here on.
    lost: Option<Reason>,
    /// The file that is open, and what is left of it.
    open_left: Option<u64>,
    blocks_left: u16,
    size: usize,
    sum: u32,
    sizes: [u8; 4],
    made: Vec<u8>,
    given: usize,
    /// Bytes of the folder that are behind.
    at: u64,
}

/// The next thing of the cabinet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Head,
    ReserveSizes,
    Reserve,
    /// So many texts.
    Texts(u8),
    Folder,
    ToFiles,
    File,
    FileName,
    ToFolder,
    BlockHead,
    Block,
    Content,
    Behind,
    Nothing,
}

impl CabDecoder {
    /// Awaits the head; what is large is drawn from the pool.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut decoder = Self {
            pool: Arc::clone(pool),
            grant: pool.grant(),
            expect: Expect::Head,
            field: Field::default(),
            position: 0,
            head: Head::default(),
            folders: Vec::new(),
            files: Vec::new(),
            name: Vec::new(),
            order: Vec::new(),
            folder: Content::default(),
            begins_before: false,
            pending: VecDeque::new(),
            worked_nanos: 0,
        };
        decoder.field.begin(header::HEAD_BYTES, header::HEAD_BYTES as usize);
        decoder
    }

    fn await_field(&mut self, expect: Expect, length: u64) {
        self.expect = expect;
        self.field.begin(length, usize::try_from(length).unwrap_or(usize::MAX));
    }

    /// Passes over what stands before a place; what stands before this one is not read again.
    fn skip_to(&mut self, expect: Expect, place: u64, position: u64) -> Result<(), Reason> {
        let length = place.checked_sub(position).ok_or(Reason::Damaged)?;
        self.expect = expect;
        self.field.begin(length, 0);
        Ok(())
    }

    /// The field that was awaited is whole, and ends there.
    fn whole(&mut self, position: u64) -> Result<(), Reason> {
        match self.expect {
            Expect::Head => {
                self.head = Head::parse(self.field.bytes());
                if !self.field.bytes().starts_with(MAGIC) {
                    return Err(Reason::Damaged);
                }
                if self.head.has_reserve() {
                    self.await_field(Expect::ReserveSizes, header::RESERVE_SIZES_BYTES);
                } else {
                    self.expect = Expect::Texts(self.head.texts());
                }
            }
            Expect::ReserveSizes => {
                self.head.reserve(self.field.bytes());
                self.expect = Expect::Reserve;
                self.field.begin(self.head.reserve[0], 0);
            }
            Expect::Reserve => self.expect = Expect::Texts(self.head.texts()),
            Expect::Folder => {
                self.grant.grow(FOLDER_BYTES)?;
                self.folders.push(Folder::parse(self.field.bytes()));
                self.next_folder_record(position)?;
            }
            Expect::ToFiles => self.next_file_record()?,
            Expect::File => {
                self.files.push(File::parse(self.field.bytes()));
                self.name.clear();
                self.expect = Expect::FileName;
            }
            Expect::ToFolder => self.next_block(),
            Expect::BlockHead => self.block_head(),
            Expect::Block => self.block(),
            _ => {}
        }
        Ok(())
    }

    fn next_folder_record(&mut self, position: u64) -> Result<(), Reason> {
        if self.folders.len() < self.head.folders.into() {
            self.await_field(Expect::Folder, header::FOLDER_BYTES + self.head.reserve[1]);
            return Ok(());
        }
        self.skip_to(Expect::ToFiles, self.head.files_at, position)
    }

    fn next_file_record(&mut self) -> Result<(), Reason> {
        if self.files.len() < self.head.files.into() {
            self.await_field(Expect::File, header::FILE_BYTES);
            return Ok(());
        }
        self.grant.grow(BLOCK_BYTES)?;
        self.order = (0..self.folders.len()).collect();
        self.order.sort_by_key(|number| std::cmp::Reverse(self.folders[*number].at));
        let mut ranks = vec![0; self.folders.len()];
        for (rank, number) in (1..).zip(self.order.iter().rev()) {
            ranks[*number] = rank;
        }
        for file in &mut self.files {
            file.rank = match file.place {
                Place::Folder(folder) => ranks.get(usize::from(folder)).copied().unwrap_or(STRAY),
                Place::Behind => ranks.last().copied().unwrap_or(STRAY),
                Place::Before => STRAY,
            };
        }
        self.begins_before = self.files.iter().any(|file| file.place == Place::Before);
        self.files.sort_by_key(|file| std::cmp::Reverse((file.rank, file.offset)));
        // First those that are in none of the folders.
        self.folder.rank = STRAY;
        self.lose(Reason::Damaged);
        Ok(())
    }

    /// A text ends with a NUL; how much of the input was used.
    fn text(&mut self, input: &[u8], left: u8) -> usize {
        let end = memchr::memchr(0, input);
        if end.is_some() {
            self.expect = Expect::Texts(left - 1);
        }
        end.map_or(input.len(), |at| at + 1)
    }

    fn file_name(&mut self, input: &[u8]) -> Result<usize, Reason> {
        let end = memchr::memchr(0, input);
        let text = &input[..end.unwrap_or(input.len())];
        let room = header::NAME_BYTES_MAX - self.name.len();
        self.name.extend_from_slice(&text[..text.len().min(room)]);
        let used = end.map_or(input.len(), |at| at + 1);
        if end.is_some() {
            self.grant.grow(FILE_BYTES + self.name.len() as u64)?;
            if let Some(file) = self.files.last_mut() {
                file.call(&self.name);
            }
            self.next_file_record()?;
        }
        Ok(used)
    }

    /// The folder that comes next, or the end.
    fn next_folder(&mut self) {
        let rank = self.folder.rank + 1;
        self.folder = Content { rank, ..Content::default() };
        let Some(number) = self.order.pop() else {
            self.expect = Expect::Behind;
            return;
        };
        let folder = self.folders[number];
        self.folder.blocks_left = folder.blocks;
        if self.files.last().is_none_or(|file| file.rank != rank) {
            return self.lose(Reason::Damaged);
        }
        if number == 0 && self.begins_before {
            // Its first block, and what the others go back to, is in another cabinet.
            return self.lose(Reason::Unsupported);
        }
        match Unfold::new(&self.pool, folder.packing) {
            Ok(unfold) => self.folder.unfold = Some(unfold),
            Err(reason) => return self.lose(reason),
        }
        if self.skip_to(Expect::ToFolder, folder.at, self.position).is_err() {
            self.lose(Reason::Damaged);
        }
    }

    /// The folder cannot be read on: what is open breaks, and so does each of its files that comes later.
    fn lose(&mut self, reason: Reason) {
        let broken = self.folder.open_left.take().map(|_| Event::Broken(reason));
        self.pending.extend(broken);
        self.folder.lost = Some(reason);
        self.expect = Expect::Content;
    }

    fn next_block(&mut self) {
        if self.folder.blocks_left == 0 {
            return self.lose(Reason::Truncated);
        }
        self.folder.blocks_left -= 1;
        self.await_field(Expect::BlockHead, header::BLOCK_BYTES + self.head.reserve[2]);
    }

    fn block_head(&mut self) {
        let bytes = self.field.bytes();
        let (sum, packed, size) = (u32_le(bytes, 0), u16_le(bytes, 4), u16_le(bytes, 6));
        self.folder.sum = sum;
        self.folder.size = size.into();
        // What counts besides the packed bytes.
        self.folder.sizes = u32_le(bytes, 4).to_le_bytes();
        if self.head.reserve[2] > 0 {
            // Whether what is kept counts, writers do not agree on.
            self.folder.sum = 0;
        }
        self.await_field(Expect::Block, packed.into());
    }

    fn block(&mut self) {
        let folder = &mut self.folder;
        if folder.size == 0 {
            // The rest of this block is the next cabinet's.
            return self.lose(Reason::Unsupported);
        }
        let packed = self.field.bytes();
        let is_right = folder.sum == 0 || header::sum(&folder.sizes, header::sum(packed, 0)) == folder.sum;
        let Some(unfold) = &mut folder.unfold else { return self.lose(Reason::Damaged) };
        let made = unfold.block(packed, folder.size, &mut folder.made);
        self.worked_nanos = unfold.nanos(folder.size);
        folder.given = 0;
        if let Err(reason) = made {
            folder.made.clear();
            return self.lose(reason);
        }
        if !is_right {
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        self.expect = Expect::Content;
    }

    /// A piece of what the block has made, or the next file.
    fn content(&mut self, scratch: &mut [u8]) -> Event {
        let folder = &mut self.folder;
        let there = folder.made.len() - folder.given;
        let Some(left) = folder.open_left else { return self.next_file(there) };
        if left == 0 {
            folder.open_left = None;
            return Event::Close;
        }
        if there == 0 {
            self.next_block();
            return Event::Working;
        }
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(there).min(scratch.len());
        scratch[..length].copy_from_slice(&folder.made[folder.given..folder.given + length]);
        folder.given += length;
        folder.at += length as u64;
        folder.open_left = Some(left - length as u64);
        Event::Output(length)
    }

    /// So many bytes of the block are left.
    fn next_file(&mut self, there: usize) -> Event {
        let folder = &mut self.folder;
        let Some(file) = self.files.pop_if(|file| file.rank == folder.rank) else {
            self.next_folder();
            return Event::Working;
        };
        // What stands before this place would have to be read twice.
        let lost = folder.lost.or((file.offset < folder.at).then_some(Reason::Damaged));
        if let Some(reason) = lost {
            let reason = if file.place == Place::Before { Reason::Unsupported } else { reason };
            self.pending.push_back(Event::Broken(reason));
            return open(&file.name);
        }
        let ahead = file.offset - folder.at;
        if ahead == 0 {
            folder.open_left = Some(file.size);
            return open(&file.name);
        }
        let skipped = usize::try_from(ahead).unwrap_or(usize::MAX).min(there);
        folder.given += skipped;
        folder.at += skipped as u64;
        self.files.push(file);
        if skipped == 0 {
            self.next_block();
        }
        Event::Working
    }

    fn stop(&mut self, used: usize, reason: Reason) -> Step {
        self.expect = Expect::Nothing;
        self.grant.clear();
        let is_open = self.folder.open_left.is_some();
        (self.folder, self.files) = (Content::default(), Vec::new());
        self.pending.push_back(if is_open { Event::Broken(reason) } else { Event::Incomplete(reason) });
        Step::new(used, Event::Working)
    }

    /// Behind the last folder: what belongs to nothing is told, once.
    fn behind(&mut self, input: &[u8]) -> Step {
        let end = self.position + input.len() as u64;
        // A signature stands behind the cabinet; it says so in what is kept in the head.
        if end > self.head.bytes && self.head.reserve[0] == 0 {
            self.expect = Expect::Nothing;
            return Step::new(input.len(), Event::Anomaly("bytes behind the end of a cabinet"));
        }
        Step::new(input.len(), Event::Working)
    }

    fn dispatch(&mut self, input: &[u8], scratch: &mut [u8]) -> Result<Step, (usize, Reason)> {
        let working = |used| Step::new(used, Event::Working);
        match self.expect {
            Expect::Texts(0) => {
                self.next_folder_record(self.position).map_err(|reason| (0, reason))?;
                Ok(working(0))
            }
            Expect::Texts(left) => Ok(working(self.text(input, left))),
            Expect::FileName => self.file_name(input).map(working).map_err(|reason| (0, reason)),
            Expect::Content => Ok(Step::new(0, self.content(scratch))),
            Expect::Behind => Ok(self.behind(input)),
            Expect::Nothing => Ok(Step::new(0, Event::End)),
            _ => {
                let used = self.field.take(input);
                if self.field.is_whole() {
                    let position = self.position + used as u64;
                    self.whole(position).map_err(|reason| (used, reason))?;
                }
                Ok(working(used))
            }
        }
    }

    fn needs_no_input(&self) -> bool {
        match self.expect {
            Expect::Texts(0) | Expect::Content | Expect::Nothing => true,
            Expect::Texts(_) | Expect::FileName | Expect::Behind => false,
            _ => self.field.is_whole(),
        }
    }
}

impl Decoder for CabDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        self.worked_nanos = 0;
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        if input.is_empty() && !self.needs_no_input() {
            return match more {
                More::Follows => Step::new(0, Event::NeedInput),
                More::Ended if self.expect == Expect::Behind => {
                    self.expect = Expect::Nothing;
                    Step::new(0, Event::Working)
                }
                More::Ended => self.stop(0, Reason::Truncated),
            };
        }
        let step = match self.dispatch(input, scratch) {
            Ok(step) => step,
            Err((used, reason)) => self.stop(used, reason),
        };
        self.position += step.consumed as u64;
        step
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}

fn open(name: &str) -> Event {
    Event::Open(Box::new(Entry { label: label(name), name: Some(name.to_owned()), declared: None }))
}
