//! The directory of a 7z file ("7zFormat.txt" of the LZMA SDK). Rule: nothing is made that the bytes read do not pay for.

use lockgate_model::Reason;
use std::ops::Range;

/// What stands before everything.
pub(super) const START_BYTES: usize = 32;
/// Coders of one folder, as 7-Zip has it.
const CODERS_MAX: u64 = 32;
const INPUTS_MAX: u64 = 32;

/// The numbers of the directory's parts.
mod id {
    pub const END: u64 = 0x00;
    pub const HEADER: u64 = 0x01;
    pub const ARCHIVE_PROPERTIES: u64 = 0x02;
    pub const MAIN_STREAMS: u64 = 0x04;
    pub const FILES: u64 = 0x05;
    pub const PACK_INFO: u64 = 0x06;
    pub const UNPACK_INFO: u64 = 0x07;
    pub const SUBSTREAMS: u64 = 0x08;
    pub const SIZE: u64 = 0x09;
    pub const CRC: u64 = 0x0a;
    pub const FOLDER: u64 = 0x0b;
    pub const UNPACK_SIZE: u64 = 0x0c;
    pub const STREAM_COUNTS: u64 = 0x0d;
    pub const EMPTY_STREAM: u64 = 0x0e;
    pub const EMPTY_FILE: u64 = 0x0f;
    pub const ANTI: u64 = 0x10;
    pub const NAMES: u64 = 0x11;
    pub const ENCODED_HEADER: u64 = 0x17;
}

/// Where the directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub offset: u64,
    pub size: u64,
    pub crc: u32,
    /// Whether its own check sum is right.
    pub is_right: bool,
}

impl Start {
    /// Of the first bytes; `None` where they are too few.
    pub fn parse(whole: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(whole.get(8..START_BYTES)?);
        let start_crc = reader.u32().ok()?;
        let is_right = crc32fast::hash(reader.bytes) == start_crc;
        Some(Self { offset: reader.u64().ok()?, size: reader.u64().ok()?, crc: reader.u32().ok()?, is_right })
    }
}

/// One step of unpacking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Coder {
    pub method: u64,
    pub inputs: usize,
    pub properties: Vec<u8>,
}

/// Coders that belong together, and what comes out of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folder {
    pub coders: Vec<Coder>,
    /// Which input gets what comes out of which coder.
    pub binds: Vec<(usize, usize)>,
    /// The inputs that get packed bytes, in the order of these.
    pub packed: Vec<usize>,
    /// What comes out of each coder.
    pub sizes: Vec<u64>,
    pub crc: Option<u32>,
    /// The first of its packed streams.
    pub first_pack: usize,
    /// The files in it, one behind the other.
    pub streams: Vec<Stream>,
}

impl Folder {
    /// The coder whose output is the folder's.
    pub fn main(&self) -> Result<usize, Reason> {
        let is_free = |coder: &usize| !self.binds.iter().any(|(_, output)| output == coder);
        (0..self.coders.len()).find(is_free).ok_or(Reason::Damaged)
    }

    /// How much comes out of it.
    pub fn size(&self) -> Result<u64, Reason> {
        self.sizes.get(self.main()?).copied().ok_or(Reason::Damaged)
    }
}

/// A file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub size: u64,
    pub crc: Option<u32>,
}

/// What is packed, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Streams {
    pub pack_position: u64,
    pub pack_sizes: Vec<u64>,
    pub folders: Vec<Folder>,
}

impl Streams {
    /// Where in the file the packed stream of that number is.
    pub fn pack(&self, number: usize, whole: &[u8]) -> Result<Range<usize>, Reason> {
        let before = self.pack_sizes.get(..number).ok_or(Reason::Damaged)?;
        let size = *self.pack_sizes.get(number).ok_or(Reason::Damaged)?;
        let from = before.iter().try_fold(self.pack_position, |sum, size| sum.checked_add(*size));
        let from = from.and_then(|from| from.checked_add(START_BYTES as u64)).ok_or(Reason::Damaged)?;
        let end = from.checked_add(size).ok_or(Reason::Damaged)?;
        let is_there = usize::try_from(end).is_ok_and(|end| end <= whole.len());
        if is_there { Ok(from as usize..end as usize) } else { Err(Reason::Truncated) }
    }
}

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has bytes in a folder.
    #[default]
    Stream,
    Empty,
    Directory,
    /// It takes a file away from where the archive is unpacked.
    Anti,
}

/// An entry; its name is these bytes of the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    pub name: Range<usize>,
    pub kind: Kind,
}

/// A directory, or where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Plain { streams: Streams, files: Vec<File> },
    Encoded(Streams),
}

/// What may be kept of a directory.
const KEPT_BYTES_MAX: u64 = 8 << 20;

/// Reads a directory; also, how many bytes are kept of it.
pub(super) fn parse(bytes: &[u8]) -> Result<(Header, u64), Reason> {
    let mut reader = Reader::new(bytes);
    match reader.number()? {
        id::ENCODED_HEADER => return Ok((Header::Encoded(reader.streams()?), reader.kept)),
        id::HEADER => {}
        _ => return Err(Reason::Damaged),
    }
    let (mut streams, mut files) = (Streams::default(), Vec::new());
    loop {
        match reader.number()? {
            id::END => return Ok((Header::Plain { streams, files }, reader.kept)),
            id::ARCHIVE_PROPERTIES => reader.archive_properties()?,
            id::MAIN_STREAMS => streams = reader.streams()?,
            id::FILES => files = reader.files(bytes.len())?,
            // Streams for other parts of the directory: nobody writes them.
            _ => return Err(Reason::Unsupported),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Bytes of what was made.
    kept: u64,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, kept: 0 }
    }

    /// So many of these are about to be made.
    fn keep<T>(&mut self, count: u64) -> Result<(), Reason> {
        self.kept = self.kept.saturating_add(count.saturating_mul(size_of::<T>() as u64));
        if self.kept > KEPT_BYTES_MAX { Err(Reason::Held) } else { Ok(()) }
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Reason> {
        let count = usize::try_from(count).map_err(|_| Reason::Damaged)?;
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Reason::Damaged)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Reason> {
        self.take(1).map(|b| b[0])
    }

    fn little_endian(&mut self, count: u64) -> Result<u64, Reason> {
        Ok(self.take(count)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn u32(&mut self) -> Result<u32, Reason> {
        self.little_endian(4).map(|value| value as u32)
    }

    fn u64(&mut self) -> Result<u64, Reason> {
        self.little_endian(8)
    }

    /// The ones that the first byte begins with say how many bytes follow.
    fn number(&mut self) -> Result<u64, Reason> {
        let first = self.byte()?;
        let more = u64::from(first.leading_ones());
        let low = self.little_endian(more)?;
        let high = if more >= 7 { 0 } else { u64::from(first) & ((1 << (7 - more)) - 1) };
        Ok(low | high.checked_shl(8 * more as u32).unwrap_or(0))
    }

    /// A number of things each of which has at least so many of the bytes that follow.
    fn count(&mut self, bytes_each: u64) -> Result<usize, Reason> {
        let count = self.number()?;
        let is_there = count.checked_mul(bytes_each).is_some_and(|bytes| bytes <= self.bytes.len() as u64);
        if is_there { Ok(count as usize) } else { Err(Reason::Damaged) }
    }

    fn expect(&mut self, id: u64) -> Result<(), Reason> {
        if self.number()? == id { Ok(()) } else { Err(Reason::Damaged) }
    }

    /// One bit for each.
    fn bits(&mut self, count: usize) -> Result<Vec<bool>, Reason> {
        let bytes = self.take(count.div_ceil(8) as u64)?;
        Ok((0..count).map(|i| bytes[i / 8] & 0x80 >> (i % 8) != 0).collect())
    }

    fn digests(&mut self, count: usize) -> Result<Vec<Option<u32>>, Reason> {
        let is_for_all = self.byte()? != 0;
        if is_for_all && count > self.bytes.len() / 4 {
            return Err(Reason::Damaged);
        }
        let is_there = if is_for_all { vec![true; count] } else { self.bits(count)? };
        is_there.into_iter().map(|is_there| is_there.then(|| self.u32()).transpose()).collect()
    }

    fn no_external(&mut self) -> Result<(), Reason> {
        if self.byte()? == 0 { Ok(()) } else { Err(Reason::Unsupported) }
    }

    fn archive_properties(&mut self) -> Result<(), Reason> {
        while self.number()? != id::END {
            let size = self.number()?;
            self.take(size)?;
        }
        Ok(())
    }

    fn streams(&mut self) -> Result<Streams, Reason> {
        let mut streams = Streams::default();
        let mut has_files = false;
        loop {
            match self.number()? {
                id::END => break,
                id::PACK_INFO => self.pack_info(&mut streams)?,
                id::UNPACK_INFO => streams.folders = self.folders()?,
                id::SUBSTREAMS => {
                    self.substreams(&mut streams.folders)?;
                    has_files = true;
                }
                _ => return Err(Reason::Damaged),
            }
        }
        if !has_files {
            for folder in &mut streams.folders {
                folder.streams = vec![Stream { size: folder.size()?, crc: folder.crc }];
            }
        }
        Ok(streams)
    }

    fn pack_info(&mut self, streams: &mut Streams) -> Result<(), Reason> {
        streams.pack_position = self.number()?;
        let count = self.count(1)?;
        loop {
            match self.number()? {
                id::END => return Ok(()),
                id::SIZE => {
                    self.keep::<u64>(count as u64)?;
                    streams.pack_sizes = (0..count).map(|_| self.number()).collect::<Result<_, _>>()?;
                }
                id::CRC => drop(self.digests(count)?),
                _ => return Err(Reason::Damaged),
            }
        }
    }

    fn folders(&mut self) -> Result<Vec<Folder>, Reason> {
        self.expect(id::FOLDER)?;
        // A coder, and a size behind all of them.
        let count = self.count(4)?;
        self.no_external()?;
        let mut folders = Vec::new();
        let mut first_pack = 0;
        self.keep::<Folder>(count as u64)?;
        for _ in 0..count {
            let folder = Folder { first_pack, ..self.folder()? };
            first_pack += folder.packed.len();
            folders.push(folder);
        }
        self.expect(id::UNPACK_SIZE)?;
        for folder in &mut folders {
            folder.sizes = (0..folder.coders.len()).map(|_| self.number()).collect::<Result<_, _>>()?;
        }
        loop {
            match self.number()? {
                id::END => return Ok(folders),
                id::CRC => {
                    let digests = self.digests(folders.len())?;
                    folders.iter_mut().zip(digests).for_each(|(folder, crc)| folder.crc = crc);
                }
                _ => return Err(Reason::Damaged),
            }
        }
    }

    fn folder(&mut self) -> Result<Folder, Reason> {
        let count = self.number()?;
        if count == 0 || count > CODERS_MAX {
            return Err(Reason::Damaged);
        }
        self.keep::<(Coder, u64, usize, usize)>(count)?;
        let mut folder = Folder::default();
        let mut inputs = 0;
        for _ in 0..count {
            let coder = self.coder()?;
            inputs += coder.inputs;
            folder.coders.push(coder);
        }
        if inputs as u64 > INPUTS_MAX {
            return Err(Reason::Damaged);
        }
        for _ in 1..count {
            let (input, output) = (self.number()?, self.number()?);
            if input >= inputs as u64 || output >= count {
                return Err(Reason::Damaged);
            }
            folder.binds.push((input as usize, output as usize));
        }
        let packed = (inputs + 1).checked_sub(count as usize).filter(|packed| *packed > 0);
        folder.packed = match packed.ok_or(Reason::Damaged)? {
            1 => {
                let is_free = |input: &usize| !folder.binds.iter().any(|(bound, _)| bound == input);
                (0..inputs).filter(is_free).take(1).collect()
            }
            packed => {
                let inputs = (0..packed).map(|_| self.number().map(|input| input as usize));
                inputs.collect::<Result<_, _>>()?
            }
        };
        Ok(folder)
    }

    fn coder(&mut self) -> Result<Coder, Reason> {
        let flags = self.byte()?;
        let method = self.take(u64::from(flags & 15))?;
        if method.len() > 8 || flags & 0xc0 != 0 {
            return Err(Reason::Unsupported);
        }
        let method = method.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let mut inputs = 1;
        if flags & 0x10 != 0 {
            inputs = self.number()?;
            // What comes out in several streams nobody reads any more.
            if self.number()? != 1 || inputs == 0 || inputs > INPUTS_MAX {
                return Err(Reason::Unsupported);
            }
        }
        let mut properties = Vec::new();
        if flags & 0x20 != 0 {
            let size = self.number()?;
            self.keep::<u8>(size)?;
            properties = self.take(size)?.to_vec();
        }
        Ok(Coder { method, inputs: inputs as usize, properties })
    }

    fn substreams(&mut self, folders: &mut [Folder]) -> Result<(), Reason> {
        let mut id = self.number()?;
        let mut counts = vec![1; folders.len()];
        if id == id::STREAM_COUNTS {
            for count in &mut counts {
                *count = self.number()?;
            }
            id = self.number()?;
        }
        for (folder, count) in folders.iter_mut().zip(counts) {
            let mut left = folder.size()?;
            // All sizes but the last are told.
            if count > self.bytes.len() as u64 + 1 {
                return Err(Reason::Damaged);
            }
            self.keep::<Stream>(count)?;
            for number in 0..count {
                let is_told = number + 1 < count;
                let size = if is_told && id == id::SIZE { self.number()? } else { left };
                left = left.checked_sub(size).ok_or(Reason::Damaged)?;
                folder.streams.push(Stream { size, crc: None });
            }
        }
        if id == id::SIZE {
            id = self.number()?;
        }
        for folder in &mut *folders {
            if let ([stream], Some(crc)) = (&mut folder.streams[..], folder.crc) {
                stream.crc = Some(crc);
            }
        }
        while id != id::END {
            if id != id::CRC {
                return Err(Reason::Damaged);
            }
            let is_known = |folder: &Folder| folder.streams.len() == 1 && folder.crc.is_some();
            let unknown = folders.iter_mut().filter(|folder| !is_known(folder));
            let unknown: Vec<&mut Stream> = unknown.flat_map(|folder| &mut folder.streams).collect();
            let digests = self.digests(unknown.len())?;
            unknown.into_iter().zip(digests).for_each(|(stream, crc)| stream.crc = crc);
            id = self.number()?;
        }
        Ok(())
    }

    fn files(&mut self, header_bytes: usize) -> Result<Vec<File>, Reason> {
        // Each has a name, if only an empty one.
        let count = self.count(2)?;
        self.keep::<File>(count as u64)?;
        let mut files = vec![File::default(); count];
        let (mut empty, mut anti) = (Vec::new(), Vec::new());
        loop {
            let id = self.number()?;
            if id == id::END {
                break;
            }
            let size = self.number()?;
            let from = header_bytes - self.bytes.len();
            let mut property = Reader::new(self.take(size)?);
            let length = property.bytes.len();
            let emptied = files.iter().filter(|file| file.kind != Kind::Stream).count();
            match id {
                id::EMPTY_STREAM => {
                    let bits = property.bits(count)?;
                    let kinds = bits.iter().map(|bit| if *bit { Kind::Directory } else { Kind::Stream });
                    files.iter_mut().zip(kinds).for_each(|(file, kind)| file.kind = kind);
                }
                id::EMPTY_FILE => empty = property.bits(emptied)?,
                id::ANTI => anti = property.bits(emptied)?,
                id::NAMES => {
                    property.no_external()?;
                    let mut at = from + length - property.bytes.len();
                    for file in &mut files {
                        file.name = property.name(&mut at)?;
                    }
                }
                // Times, attributes, comments, and what only fills up.
                _ => {}
            }
        }
        let without = files.iter_mut().filter(|file| file.kind != Kind::Stream);
        for (number, file) in without.enumerate() {
            let is = |bits: &Vec<bool>| bits.get(number).copied().unwrap_or(false);
            file.kind = match (is(&anti), is(&empty)) {
                (true, _) => Kind::Anti,
                (false, true) => Kind::Empty,
                (false, false) => Kind::Directory,
            };
        }
        Ok(files)
    }

    /// UTF-16 up to a NUL.
    fn name(&mut self, at: &mut usize) -> Result<Range<usize>, Reason> {
        let (units, _) = self.bytes.as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0]).ok_or(Reason::Damaged)?;
        self.take(2 * length as u64 + 2)?;
        let from = *at;
        *at += 2 * length + 2;
        Ok(from..from + 2 * length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_bytes_as_the_first_says() {
        for (bytes, number) in [
            (&b"\x7f"[..], 0x7f),
            (b"\x80\x12", 0x12),
            (b"\xbf\x34", 0x3f34),
            (b"\xc1\x22\x11", 0x1_1122),
            (b"\xfe\x07\x06\x05\x04\x03\x02\x01", 0x01_0203_0405_0607),
            (b"\xff\x08\x07\x06\x05\x04\x03\x02\x01", 0x0102_0304_0506_0708),
        ] {
            assert_eq!(Reader::new(bytes).number(), Ok(number), "{bytes:x?}");
            assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).number(), Err(Reason::Damaged));
        }
    }
}
