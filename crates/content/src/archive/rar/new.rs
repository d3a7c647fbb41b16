//! Blocks of the container of RAR 5 and 7. Rule: what a header says of bytes that are not read is still used to find the next.

use super::{Expect, FileHeader, RarDecoder, Uses};
use crate::archive::packed::Sum;
use crate::codec::rar::v5::Distances;
use crate::codec::rar::{Packed, Start, Version};
use crate::decoder::{Entry, Event};
use crate::field::{label, u32_le};
use lockgate_model::Reason;

/// A header's sum, before its length.
const SUM_BYTES: usize = 4;
/// Bytes of a header's length, at most; and the longest header that is read. Names are no longer than 8 KiB.
const LENGTH_BYTES_MAX: usize = 3;
const HEADER_BYTES_MAX: usize = 64 << 10;

/// Types of blocks.
const MAIN: u64 = 1;
const FILE: u64 = 2;
const SERVICE: u64 = 3;
const ENCRYPTION: u64 = 4;
const END: u64 = 5;

/// Flags of any block.
const HAS_EXTRA: u64 = 1;
const HAS_DATA: u64 = 2;
const SPLIT_BEFORE: u64 = 8;
const SPLIT_AFTER: u64 = 0x10;
/// Flags of files.
const FOLDER: u64 = 1;
const HAS_TIME: u64 = 2;
const HAS_SUM: u64 = 4;
const SIZE_IS_UNKNOWN: u64 = 8;
/// Types of extra records of files.
const EXTRA_ENCRYPTION: u64 = 1;
const EXTRA_REDIRECTION: u64 = 5;

/// A header being read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Seven bits of a number in each byte, the lowest first.
    fn number(&mut self) -> Result<u64, Reason> {
        let mut number = 0_u64;
        for at in 0..10 {
            let (byte, rest) = self.0.split_first().ok_or(Reason::Damaged)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << (7 * at).min(63);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Reason::Damaged)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], Reason> {
        let length = usize::try_from(length).map_err(|_| Reason::Damaged)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Reason::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// What all blocks begin with.
struct Block<'a> {
    kind: u64,
    flags: u64,
    data: u64,
    fields: Reader<'a>,
    extra: Reader<'a>,
}

impl<'a> Block<'a> {
    fn parse(header: &'a [u8]) -> Result<Self, Reason> {
        let mut fields = Reader(header);
        let (kind, flags) = (fields.number()?, fields.number()?);
        let extra = if flags & HAS_EXTRA != 0 { fields.number()? } else { 0 };
        let data = if flags & HAS_DATA != 0 { fields.number()? } else { 0 };
        let extra = usize::try_from(extra).map_err(|_| Reason::Damaged)?;
        let before = fields.0.len().checked_sub(extra).ok_or(Reason::Damaged)?;
        let (own, extra) = fields.0.split_at(before);
        Ok(Self { kind, flags, data, fields: Reader(own), extra: Reader(extra) })
    }
}

/// What extra records say of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Extra {
    is_encrypted: bool,
    is_redirected: bool,
}

impl Extra {
    fn parse(records: &mut Reader<'_>) -> Result<Self, Reason> {
        let mut extra = Self::default();
        while !records.0.is_empty() {
            let length = records.number()?;
            let mut record = Reader(records.bytes(length)?);
            match record.number()? {
                EXTRA_ENCRYPTION => extra.is_encrypted = true,
                EXTRA_REDIRECTION => extra.is_redirected = true,
                _ => {}
            }
        }
        Ok(extra)
    }
}

impl RarDecoder {
    pub(super) fn await_new_head(&mut self) {
        self.await_field(Expect::NewHead(1), SUM_BYTES + 1);
    }

    /// The sum is there, and so many bytes of the length.
    pub(super) fn new_head(&mut self, length_bytes: usize) {
        let head = self.field.bytes();
        if head.last().is_some_and(|b| b & 0x80 != 0) {
            if length_bytes == LENGTH_BYTES_MAX {
                return self.stop(Reason::Damaged);
            }
            self.field.extend(1);
            self.expect = Expect::NewHead(length_bytes + 1);
            return;
        }
        let length = Reader(&head[SUM_BYTES..]).number().unwrap_or(0) as usize;
        match length {
            0 => self.stop(Reason::Damaged),
            1..=HEADER_BYTES_MAX => {
                self.field.extend(length);
                self.expect = Expect::NewHeader;
            }
            _ => self.stop(Reason::Held),
        }
    }

    pub(super) fn new_header(&mut self) {
        let bytes = self.field.bytes().to_vec();
        if crc32fast::hash(&bytes[SUM_BYTES..]) != u32_le(&bytes, 0) {
            // Where the next block is cannot be trusted, and is all there is to go by.
            self.pending.push_back(Event::Incomplete(Reason::Damaged));
        }
        let length_bytes = bytes[SUM_BYTES..].iter().take_while(|b| **b & 0x80 != 0).count() + 1;
        let header = bytes.get(SUM_BYTES + length_bytes..).unwrap_or_default();
        if let Err(reason) = Block::parse(header).and_then(|block| self.new_block(block)) {
            self.stop(reason);
        }
    }

    fn new_block(&mut self, mut block: Block<'_>) -> Result<(), Reason> {
        match block.kind {
            FILE => self.new_file(&mut block)?,
            SERVICE => {
                let data = block.data;
                let (file, _) = self.new_entry(&mut block, Uses::Beside)?;
                match file.name.as_str() {
                    "CMT" | "STM" => self.begin_file(file),
                    _ => self.pass_over(data),
                }
            }
            // All that follows is encrypted.
            ENCRYPTION => self.stop(Reason::Encrypted),
            END => {
                self.end_of_archive();
                self.expect = Expect::Behind;
            }
            MAIN => self.pass_over(block.data),
            _ => {
                self.pending.push_back(Event::Incomplete(Reason::Unsupported));
                self.pass_over(block.data);
            }
        }
        Ok(())
    }

    fn new_file(&mut self, block: &mut Block<'_>) -> Result<(), Reason> {
        let (file, kind) = self.new_entry(block, Uses::Files)?;
        match kind {
            Kind::Redirection if file.packed == 0 => {
                // It has a name, and no content of its own.
                let entry = Entry { label: label(&file.name), name: Some(file.name), declared: None };
                self.pending.extend([Event::Open(Box::new(entry)), Event::Close]);
                self.await_new_head();
            }
            Kind::Folder if file.packed == 0 => self.await_new_head(),
            Kind::Folder => {
                self.pending.push_back(Event::Anomaly("a folder with content of its own in a rar file"));
                self.begin_file(file);
            }
            Kind::Redirection | Kind::File => self.begin_file(file),
        }
        Ok(())
    }

    fn new_entry(&mut self, block: &mut Block<'_>, uses: Uses) -> Result<(FileHeader, Kind), Reason> {
        let fields = &mut block.fields;
        let flags = fields.number()?;
        let size = fields.number()?;
        fields.number()?;
        fields.bytes(if flags & HAS_TIME != 0 { 4 } else { 0 })?;
        let sum = fields.bytes(if flags & HAS_SUM != 0 { 4 } else { 0 })?;
        let compression = fields.number()?;
        fields.number()?;
        let name_length = fields.number()?;
        let name = String::from_utf8_lossy(fields.bytes(name_length)?).into_owned();
        let extra = Extra::parse(&mut block.extra)?;
        let size = (flags & SIZE_IS_UNKNOWN == 0).then_some(size);
        let is_split = block.flags & (SPLIT_BEFORE | SPLIT_AFTER) != 0;
        let packing = match compression >> 7 & 7 {
            _ if extra.is_encrypted => Err(Reason::Encrypted),
            0 => Ok(None),
            _ if block.flags & SPLIT_BEFORE != 0 => Err(Reason::Partial),
            _ => packing(compression, size, uses).map(Some),
        };
        let header = FileHeader {
            name,
            packed: block.data,
            size: size.filter(|_| !is_split),
            sum: if flags & HAS_SUM != 0 { Sum::crc32(u32_le(sum, 0)) } else { Sum::None },
            packing,
            cut: is_split.then_some(Reason::Partial),
            uses,
        };
        let kind = match (flags & FOLDER != 0, extra.is_redirected) {
            (true, _) => Kind::Folder,
            (false, true) => Kind::Redirection,
            (false, false) => Kind::File,
        };
        Ok((header, kind))
    }
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    /// A link, or a copy of another entry.
    Redirection,
}

/// Six bits of version, one for solid, three of method, five of the window's size, and for version 1 of its 32nds.
fn packing(compression: u64, size: Option<u64>, uses: Uses) -> Result<Packed, Reason> {
    const OF_5_ALL_THE_SAME: u64 = 1 << 20;
    let (version, solid) = (compression & 0x3f, compression >> 6 & 1);
    let power = (compression >> 10 & if version == 0 { 0xf } else { 0x1f }) as u32;
    let mut window = (128_u64 << 10).checked_shl(power).ok_or(Reason::Damaged)?;
    let distances = match version {
        0 => Distances::Of5,
        1 if compression & OF_5_ALL_THE_SAME != 0 => Distances::Of5,
        1 => Distances::Of7,
        _ => return Err(Reason::Unsupported),
    };
    if version == 1 {
        window += window / 32 * (compression >> 15 & 0x1f);
    }
    Ok(Packed {
        version: Version::V5 { distances },
        window: usize::try_from(window).map_err(|_| Reason::Unsupported)?,
        start: if solid == 1 && uses == Uses::Files { Start::Solid } else { Start::Anew },
        size,
    })
}
