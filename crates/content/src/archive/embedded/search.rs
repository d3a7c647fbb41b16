//! Finds where an archive may begin. Rule: a third of the bytes is looked at; one table says "not here" for nearly every place.
//!
//! Each magic has four bytes in a row that are known, and so three pairs of neighbours. One of them stands at a place whose
//! number three divides.

/// A header may begin so many bytes before the end and not be known by what is there.
pub(super) const CARRIED_BYTES: usize = 6;

/// Four bytes that are searched for, and how far before them the header begins.
const MAGICS: [([u8; 4], usize); 3] = [(*b"7z\xbc\xaf", 0), (*b"Rar!", 0), (*b"MSCF", 0)];
/// LHA's method stands two bytes into the header; its third byte after `-l` is one of these.
const LHA_START: usize = 2;
const LHA_METHODS: [(u8, &[u8]); 2] = [(b'h', b"012345678dx"), (b'z', b"s458")];
const ARJ: [u8; 2] = *b"\x60\xea";

/// For each pair of bytes, whether one of the magics has it.
static PAIRS: [u64; 1024] = pairs();

const fn set(mut table: [u64; 1024], first: u8, second: u8) -> [u64; 1024] {
    let pair = u16::from_le_bytes([first, second]) as usize;
    table[pair / 64] |= 1 << (pair % 64);
    table
}

const fn pairs() -> [u64; 1024] {
    let mut table = [0; 1024];
    let mut magic = 0;
    while magic < MAGICS.len() {
        let four = MAGICS[magic].0;
        table = set(table, four[0], four[1]);
        table = set(table, four[1], four[2]);
        table = set(table, four[2], four[3]);
        magic += 1;
    }
    let mut kind = 0;
    while kind < LHA_METHODS.len() {
        let (letter, methods) = LHA_METHODS[kind];
        table = set(table, b'-', b'l');
        table = set(table, b'l', letter);
        let mut method = 0;
        while method < methods.len() {
            table = set(table, letter, methods[method]);
            method += 1;
        }
        kind += 1;
    }
    table
}

/// Finds the places of some bytes where a header may begin that is known by bytes that are all there.
pub(super) struct Places<'a> {
    input: &'a [u8],
    /// The next of either sort; each is looked for again only behind itself, so that all takes one pass.
    magic: Option<usize>,
    arj: Option<usize>,
}

impl<'a> Places<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, magic: by_pairs(input, 0), arj: arj(input, 0) }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = match (self.magic, self.arj) {
            (Some(magic), Some(arj)) => magic.min(arj),
            (magic, arj) => magic.or(arj)?,
        };
        if self.magic == Some(place) {
            self.magic = by_pairs(self.input, place + 1);
        }
        if self.arj == Some(place) {
            self.arj = arj(self.input, place + 1);
        }
        Some(place)
    }
}

fn arj(input: &[u8], from: usize) -> Option<usize> {
    memchr::memmem::find(input.get(from..)?, &ARJ).map(|at| from + at)
}

fn by_pairs(input: &[u8], from: usize) -> Option<usize> {
    // What a header is known by may begin behind its beginning.
    let mut at = from;
    loop {
        let rest = input.get(at..)?;
        let hit = rest.chunks_exact(3).position(|three| {
            let pair = usize::from(u16::from_le_bytes([three[0], three[1]]));
            PAIRS[pair / 64] >> (pair % 64) & 1 != 0
        });
        // The last pairs are too few for chunks of three.
        let place = hit.map_or(at + rest.len() / 3 * 3, |hit| at + 3 * hit);
        let first = place.saturating_sub(2).max(from);
        let starts = (first..=place).find_map(|four| start(input, four, from));
        if starts.is_some() || hit.is_none() {
            return starts;
        }
        at = place + 3;
    }
}

/// Where the header begins that these four bytes are of.
fn start(input: &[u8], at: usize, from: usize) -> Option<usize> {
    let four = *input.get(at..)?.first_chunk::<4>()?;
    if let Some((_, before)) = MAGICS.iter().find(|(magic, _)| *magic == four) {
        return at.checked_sub(*before).filter(|start| *start >= from);
    }
    let is_lha = four[..2] == *b"-l"
        && LHA_METHODS.iter().any(|(letter, methods)| four[2] == *letter && methods.contains(&four[3]));
    at.checked_sub(LHA_START).filter(|start| is_lha && *start >= from)
}
