//! The sectors of a compound file and the chains that they make (MS-CFB, sections 2.2 to 2.5). Rule: a chain is no longer than the file.

use crate::field::{u16_le, u32_le};
use lockgate_model::{Grant, Reason};

/// The least that a file has.
const HEADER_BYTES: usize = 512;
/// Sectors of these sizes are read; writers know 9 and 12.
const SHIFT_MIN: u32 = 7;
const SHIFT_MAX: u32 = 16;
const MINI_SHIFT_MIN: u32 = 3;
/// Sector numbers from here on are no sectors (MS-CFB, section 2.1).
const SPECIAL_MIN: u32 = 0xffff_fffa;
const END_OF_CHAIN: u32 = 0xffff_fffe;
/// Where the header tells of sectors of the allocation table, and of how many.
const DIFAT_AT: usize = 76;
const DIFAT_ENTRIES: usize = 109;

/// What the header says, and where the tables are.
pub(super) struct Sectors {
    shift: u32,
    mini_shift: u32,
    /// Shorter streams are in mini sectors.
    pub(super) mini_below: u64,
    /// Whether sizes have 32 bits only.
    pub(super) has_short_sizes: bool,
    /// The sectors of the allocation table, of the mini allocation table, of the stream of mini sectors and of the directory.
    fat: Vec<u32>,
    mini_fat: Vec<u32>,
    mini: Vec<u32>,
    pub(super) directory: Vec<u32>,
    /// Whether the directory is there in whole.
    pub(super) has_whole_directory: bool,
    /// How many sectors the file may have.
    count: u32,
}

/// What comes behind a sector.
enum Next {
    Sector(u32),
    End,
    Damage,
}

impl Sectors {
    /// Reads the header and finds the tables; they draw on the grant.
    pub(super) fn read(whole: &[u8], grant: &mut Grant) -> Result<Self, Reason> {
        if whole.len() < HEADER_BYTES {
            return Err(Reason::Truncated);
        }
        let (shift, mini_shift) = (u32::from(u16_le(whole, 30)), u32::from(u16_le(whole, 32)));
        if !(SHIFT_MIN..=SHIFT_MAX).contains(&shift) || !(MINI_SHIFT_MIN..shift).contains(&mini_shift) {
            return Err(Reason::Damaged);
        }
        let count = u32::try_from(whole.len() >> shift).map_err(|_| Reason::Damaged)? + 1;
        // Each table names each sector at most once.
        grant.grow(u64::from(count) * 4 * 4)?;
        let mut sectors = Self {
            shift,
            mini_shift,
            mini_below: u32_le(whole, 56).into(),
            has_short_sizes: u16_le(whole, 26) < 4,
            fat: Vec::new(),
            mini_fat: Vec::new(),
            mini: Vec::new(),
            directory: Vec::new(),
            has_whole_directory: false,
            count,
        };
        sectors.find_fat(whole);
        sectors.directory = sectors.chain(whole, u32_le(whole, 48));
        sectors.has_whole_directory = sectors.directory.last().is_some_and(|last| {
            let is_last = matches!(sectors.behind(whole, *last), Next::End);
            is_last && sectors.sector(whole, *last).len() == 1 << shift
        });
        sectors.mini_fat = sectors.chain(whole, u32_le(whole, 60));
        // The first entry of the directory is the root, whose stream is that of the mini sectors.
        let root = sectors.directory.first().map_or(&[][..], |first| sectors.sector(whole, *first));
        sectors.mini = sectors.chain(whole, u32_le(root, 116));
        Ok(sectors)
    }

    /// The sectors of the allocation table: some are told by the header, the others by a chain of their own.
    fn find_fat(&mut self, whole: &[u8]) {
        let per_sector = (1usize << self.shift) / 4;
        let needed = (self.count as usize).div_ceil(per_sector);
        let mut fat: Vec<u32> = (0..DIFAT_ENTRIES).map(|n| u32_le(whole, DIFAT_AT + 4 * n)).collect();
        let mut next = u32_le(whole, 68);
        while next < self.count && fat.len() < needed {
            let sector = self.sector(whole, next);
            if sector.len() < 4 * per_sector {
                break;
            }
            fat.extend((0..per_sector - 1).map(|n| u32_le(sector, 4 * n)));
            next = u32_le(sector, 4 * (per_sector - 1));
        }
        fat.truncate(needed);
        fat.shrink_to_fit();
        self.fat = fat;
    }

    /// All sectors of a chain, as far as it goes.
    fn chain(&self, whole: &[u8], first: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = Next::Sector(first);
        while let Next::Sector(sector) = next {
            if sector >= self.count || chain.len() >= self.count as usize {
                break;
            }
            chain.push(sector);
            next = self.behind(whole, sector);
        }
        chain.shrink_to_fit();
        chain
    }

    /// The bytes of a sector; fewer where the file ends before it does.
    pub(super) fn sector<'a>(&self, whole: &'a [u8], number: u32) -> &'a [u8] {
        let start = (u64::from(number) + 1) << self.shift;
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(whole.len());
        &whole[start..whole.len().min(start + (1 << self.shift))]
    }

    fn behind(&self, whole: &[u8], sector: u32) -> Next {
        self.entry(whole, &self.fat, sector)
    }

    /// An entry of the table that lies in these sectors.
    fn entry(&self, whole: &[u8], table: &[u32], number: u32) -> Next {
        let per_sector_shift = self.shift - 2;
        let Some(sector) = table.get((number >> per_sector_shift) as usize) else { return Next::Damage };
        let sector = self.sector(whole, *sector);
        let at = 4 * (number & ((1 << per_sector_shift) - 1)) as usize;
        if sector.len() < at + 4 {
            return Next::Damage;
        }
        match u32_le(sector, at) {
            END_OF_CHAIN => Next::End,
            SPECIAL_MIN.. => Next::Damage,
            other => Next::Sector(other),
        }
    }

    /// The bytes of a mini sector.
    fn mini_sector<'a>(&self, whole: &'a [u8], number: u32) -> &'a [u8] {
        let at = u64::from(number) << self.mini_shift;
        let Some(sector) = self.mini.get(usize::try_from(at >> self.shift).unwrap_or(usize::MAX)) else {
            return &[];
        };
        let sector = self.sector(whole, *sector);
        let start = (at & ((1 << self.shift) - 1)) as usize;
        sector.get(start..sector.len().min(start + (1 << self.mini_shift))).unwrap_or_default()
    }

    /// How many bytes the directory has, as far as it is there.
    pub(super) fn directory_bytes(&self) -> usize {
        self.directory.len() << self.shift
    }

    /// So many bytes of the directory, which lie within one sector.
    pub(super) fn in_directory<'a>(&self, whole: &'a [u8], at: usize, length: usize) -> Option<&'a [u8]> {
        let sector = self.sector(whole, *self.directory.get(at >> self.shift)?);
        let start = at & ((1 << self.shift) - 1);
        sector.get(start..start + length)
    }
}

/// A place in a stream.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    is_mini: bool,
    sector: u32,
    /// Bytes of the sector that have been read.
    read: usize,
    /// Bytes of the stream that are still to come.
    pub(super) left: u64,
    /// How many sectors it may still meet: a chain that is longer goes in a circle.
    hops: u64,
}

impl Cursor {
    /// At the beginning of a stream.
    pub(super) fn new(sectors: &Sectors, first: u32, length: u64) -> Self {
        let is_mini = length < sectors.mini_below;
        let per_sector = sectors.shift - sectors.mini_shift;
        let hops = if is_mini { u64::from(sectors.count) << per_sector } else { sectors.count.into() };
        Self { is_mini, sector: first, read: 0, left: length, hops }
    }

    /// Reads on; 0 where the stream ends, or where its chain does before it (then some is `left`).
    pub(super) fn read(&mut self, sectors: &Sectors, whole: &[u8], output: &mut [u8]) -> usize {
        let mut made = 0;
        while made < output.len() && self.left > 0 {
            let sector = match self.is_mini {
                true => sectors.mini_sector(whole, self.sector),
                false => sectors.sector(whole, self.sector),
            };
            let rest = sector.get(self.read..).unwrap_or_default();
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            let now = rest.len().min(output.len() - made).min(left);
            if now == 0 && !self.go_on(sectors, whole, sector.len()) {
                break;
            }
            output[made..made + now].copy_from_slice(&rest[..now]);
            made += now;
            self.read += now;
            self.left -= now as u64;
        }
        made
    }

    /// To the next sector.
    fn go_on(&mut self, sectors: &Sectors, whole: &[u8], seen: usize) -> bool {
        let table = if self.is_mini { &sectors.mini_fat } else { &sectors.fat };
        match sectors.entry(whole, table, self.sector) {
            Next::Sector(next) if self.hops > 0 && seen > 0 => {
                (self.sector, self.read) = (next, 0);
                self.hops -= 1;
                true
            }
            _ => false,
        }
    }
}
