//! The filters of PDF streams (ISO 32000-1, section 7.4), one behind the other: [`Pipeline`]. Rule: what cannot be undone here is given as it is.

use super::lexer::is_blank;
use super::lzw::Lzw;
use crate::codec::inflate::Inflater;
use crate::codec::{Outcome, Run};
use crate::decoder::More;
use lockgate_model::Reason;

/// More filters than these have no use.
pub(super) const FILTERS_MAX: usize = 8;
/// What one filter gives the next at once.
const PIECE_BYTES: usize = 4 << 10;
/// How often filters are refilled before the caller hears of it.
const REFILLS_MAX: usize = 16;
/// What filters may give each other in all: what the last one throws away is work all the same.
const BETWEEN_BYTES_MAX: u64 = 256 << 20;

/// What a filter's name stands for; both spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterKind {
    Flate,
    Lzw,
    Hex,
    Ascii85,
    RunLength,
    /// Pictures: given as they are.
    Picture,
    Encrypted,
    Unknown,
}

impl FilterKind {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"FlateDecode" | b"Fl" => Self::Flate,
            b"LZWDecode" | b"LZW" => Self::Lzw,
            b"ASCIIHexDecode" | b"AHx" => Self::Hex,
            b"ASCII85Decode" | b"A85" => Self::Ascii85,
            b"RunLengthDecode" | b"RL" => Self::RunLength,
            b"DCTDecode" | b"DCT" | b"JPXDecode" | b"CCITTFaxDecode" | b"CCF" | b"JBIG2Decode" => {
                Self::Picture
            }
            b"Crypt" => Self::Encrypted,
            _ => Self::Unknown,
        }
    }
}

/// Filters, the first of which reads the file.
#[derive(Default)]
pub(super) struct Pipeline {
    stages: Vec<Stage>,
    between: u64,
}

struct Stage {
    filter: Filter,
    input: Vec<u8>,
    used: usize,
    has_ended: bool,
    /// It cannot go on, which is said once what it made before is out.
    failed: Option<Reason>,
}

enum Filter {
    Flate(Flate),
    Lzw(Lzw),
    Hex(Option<u8>),
    Ascii85(Ascii85),
    RunLength(RunLength),
}

/// What a run of the pipeline came to.
pub(super) enum Made {
    /// So many bytes, with none perhaps more work.
    Bytes(usize),
    /// No more without further input.
    Nothing,
    Failed,
}

impl Pipeline {
    /// The filters of a stream, as far as they are undone; `early` is LZW's parameter.
    pub(super) fn new(kinds: &[FilterKind], early: usize) -> Self {
        let undone = kinds.iter().map_while(|kind| {
            Some(match kind {
                FilterKind::Flate => Filter::Flate(Flate::default()),
                FilterKind::Lzw => Filter::Lzw(Lzw::new(early)),
                FilterKind::Hex => Filter::Hex(None),
                FilterKind::Ascii85 => Filter::Ascii85(Ascii85::default()),
                FilterKind::RunLength => Filter::RunLength(RunLength::default()),
                _ => return None,
            })
        });
        let stage = |filter| Stage { filter, input: Vec::new(), used: 0, has_ended: false, failed: None };
        Self { stages: undone.map(stage).collect(), between: 0 }
    }

    /// Gives the first filter bytes to read.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if let Some(first) = self.stages.first_mut().filter(|stage| !stage.has_ended) {
            first.input.extend_from_slice(bytes);
        }
    }

    /// Whether nothing is filtered.
    pub(super) fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Whether the last filter, or one before it, has met its end: nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.stages.iter().any(|stage| stage.has_ended && stage.is_idle())
    }

    /// Whether there is something to do without further input.
    pub(super) fn owes(&self) -> bool {
        // What stands before a filter that has ended is not needed.
        let needed = |stage: &&Stage| !(stage.has_ended && stage.is_idle());
        self.stages.iter().rev().take_while(needed).any(|stage| !stage.is_idle())
    }

    /// Undoes what is there, for as long as there is room.
    pub(super) fn run(&mut self, more: More, output: &mut [u8]) -> Made {
        let mut refills = 0;
        match self.pull(self.stages.len(), more, output, &mut refills) {
            Ok(0) if refills >= REFILLS_MAX => Made::Bytes(0),
            Ok(0) => Made::Nothing,
            Ok(made) => Made::Bytes(made),
            Err(_) => Made::Failed,
        }
    }

    /// What the first so many filters give.
    fn pull(
        &mut self,
        count: usize,
        more: More,
        output: &mut [u8],
        refills: &mut usize,
    ) -> Result<usize, Reason> {
        let Some(at) = count.checked_sub(1) else { return Ok(0) };
        loop {
            let stage = &mut self.stages[at];
            if stage.has_ended {
                (stage.input, stage.used) = (Vec::new(), 0);
                if stage.is_idle() {
                    return Ok(0);
                }
            }
            let is_last_input = at == 0 || self.stages[..at].iter().all(Stage::is_idle);
            let more = if is_last_input { more } else { More::Follows };
            let stage = &mut self.stages[at];
            let run = stage.run(more, output);
            if run.made > 0 {
                return Ok(run.made);
            }
            if let Outcome::Failed(reason) = run.outcome {
                return Err(reason);
            }
            if at == 0 || !stage.is_idle() && run.used == 0 || *refills >= REFILLS_MAX {
                return Ok(0);
            }
            *refills += 1;
            let mut piece = [0; PIECE_BYTES];
            let made = self.pull(at, more, &mut piece, refills)?;
            if made == 0 {
                return Ok(0);
            }
            self.between += made as u64;
            if self.between > BETWEEN_BYTES_MAX {
                return Err(Reason::Expansion);
            }
            let stage = &mut self.stages[at];
            if !stage.has_ended {
                stage.input.extend_from_slice(&piece[..made]);
            }
        }
    }
}

impl Stage {
    fn is_idle(&self) -> bool {
        let owes = match &self.filter {
            Filter::Flate(flate) => flate.inflater.owes(),
            Filter::Lzw(lzw) => lzw.owes(),
            Filter::RunLength(run) => run.repeats > 0,
            Filter::Ascii85(ascii) => ascii.made > 0,
            Filter::Hex(_) => false,
        };
        !owes && self.failed.is_none() && (self.has_ended || self.used == self.input.len())
    }

    fn run(&mut self, more: More, output: &mut [u8]) -> Run {
        if self.has_ended && self.is_idle() {
            return Run { used: 0, made: 0, outcome: Outcome::Ended };
        }
        if let Some(reason) = self.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        let input = &self.input[self.used..];
        let run = match &mut self.filter {
            Filter::Flate(flate) => flate.run(input, output),
            Filter::Lzw(lzw) => lzw.run(input, output),
            Filter::Hex(high) => undo_hex(high, input, more, output),
            Filter::Ascii85(ascii) => ascii.run(input, more, output),
            Filter::RunLength(run) => run.run(input, output),
        };
        self.used += run.used;
        if self.used == self.input.len() {
            self.input.clear();
            self.used = 0;
        }
        self.has_ended |= run.outcome == Outcome::Ended;
        if let Outcome::Failed(reason) = run.outcome {
            self.failed = Some(reason);
        }
        run
    }
}

/// Deflate within zlib's wrapping, of which readers ask little: a check sum that is wrong or not there is nothing.
#[derive(Default)]
struct Flate {
    inflater: Inflater,
    /// How much of zlib's header has been met.
    header: u8,
}

impl Flate {
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let mut skipped = 0;
        while self.header < 2
            && let Some(byte) = input.get(skipped)
        {
            match (self.header, byte) {
                // Some writers leave another line end before the data.
                (0, b'\r' | b'\n') => {}
                // Deflate without the wrapping.
                (0, byte) if byte & 0x0f != 8 => {
                    self.header = 2;
                    break;
                }
                _ => self.header += 1,
            }
            skipped += 1;
        }
        let run = self.inflater.run(&input[skipped..], output);
        Run { used: run.used + skipped, ..run }
    }
}

/// Section 7.4.2.
fn undo_hex(high: &mut Option<u8>, input: &[u8], more: More, output: &mut [u8]) -> Run {
    let (mut used, mut made) = (0, 0);
    while made < output.len() {
        let Some(byte) = input.get(used) else {
            if more == More::Ended
                && let Some(last) = high.take()
            {
                output[made] = last << 4;
                made += 1;
            }
            break;
        };
        used += 1;
        match (char::from(*byte).to_digit(16), high.take()) {
            (Some(low), Some(high)) => {
                output[made] = high << 4 | low as u8;
                made += 1;
            }
            (Some(digit), None) => *high = Some(digit as u8),
            (None, last) if *byte == b'>' => {
                if let Some(last) = last {
                    output[made] = last << 4;
                    made += 1;
                }
                return Run { used, made, outcome: Outcome::Ended };
            }
            // Junk between digits is passed over.
            (None, last) => *high = last,
        }
    }
    Run { used, made, outcome: Outcome::Going }
}

/// Section 7.4.3.
#[derive(Default)]
struct Ascii85 {
    value: u32,
    count: u32,
    /// Bytes that are made and wait for room.
    waiting: [u8; 4],
    made: usize,
    has_ended: bool,
}

impl Ascii85 {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        let (mut used, mut made) = (0, 0);
        loop {
            while self.made > 0 && made < output.len() {
                output[made] = self.waiting[0];
                self.waiting.rotate_left(1);
                (self.made, made) = (self.made - 1, made + 1);
            }
            if self.made > 0 {
                return Run { used, made, outcome: Outcome::Going };
            }
            if self.has_ended {
                return Run { used, made, outcome: Outcome::Ended };
            }
            let Some(byte) = input.get(used) else {
                if more == More::Ended && self.count > 1 {
                    self.end_group();
                    continue;
                }
                return Run { used, made, outcome: Outcome::Going };
            };
            used += 1;
            match byte {
                b'z' if self.count == 0 => (self.waiting, self.made) = ([0; 4], 4),
                b'!'..=b'u' => {
                    self.value = self.value.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                    self.count += 1;
                    if self.count == 5 {
                        (self.waiting, self.made) = (self.value.to_be_bytes(), 4);
                        (self.value, self.count) = (0, 0);
                    }
                }
                b'~' => {
                    self.has_ended = true;
                    self.end_group();
                }
                byte if is_blank(*byte) => {}
                // Junk is passed over, as in hexadecimal.
                _ => {}
            }
        }
    }

    /// A last group of less than five gives one byte less than it has.
    fn end_group(&mut self) {
        let count = std::mem::take(&mut self.count);
        let mut value = std::mem::take(&mut self.value);
        if count > 1 {
            (count..5).for_each(|_| value = value.wrapping_mul(85).wrapping_add(84));
            (self.waiting, self.made) = (value.to_be_bytes(), count as usize - 1);
        }
    }
}

/// Section 7.4.5.
#[derive(Default)]
struct RunLength {
    /// Bytes that are still to be copied.
    copies: usize,
    /// How often the next byte comes, or the known one.
    repeats: usize,
    byte: Option<u8>,
    repeats_due: usize,
}

impl RunLength {
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let (mut used, mut made) = (0, 0);
        while made < output.len() {
            if self.repeats > 0 {
                let now = self.repeats.min(output.len() - made);
                output[made..made + now].fill(self.byte.unwrap_or_default());
                (self.repeats, made) = (self.repeats - now, made + now);
                continue;
            }
            let rest = &input[used..];
            if rest.is_empty() {
                break;
            }
            if self.copies > 0 {
                let now = self.copies.min(rest.len()).min(output.len() - made);
                output[made..made + now].copy_from_slice(&rest[..now]);
                (self.copies, used, made) = (self.copies - now, used + now, made + now);
                continue;
            }
            used += 1;
            if self.repeats_due > 0 {
                (self.byte, self.repeats) = (Some(rest[0]), std::mem::take(&mut self.repeats_due));
                continue;
            }
            match usize::from(rest[0]) {
                128 => return Run { used, made, outcome: Outcome::Ended },
                length @ 0..128 => self.copies = length + 1,
                length => self.repeats_due = 257 - length,
            }
        }
        Run { used, made, outcome: Outcome::Going }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::samples::{prose, zlib};

    fn undo(kinds: &[FilterKind], input: &[u8], cut: usize) -> Result<Vec<u8>, Reason> {
        let mut pipeline = Pipeline::new(kinds, 1);
        let mut output = Vec::new();
        let pieces = input.chunks(cut).map(|piece| (piece, More::Follows)).chain([(&b""[..], More::Ended)]);
        for (piece, more) in pieces {
            pipeline.feed(piece);
            loop {
                let mut room = [0; 100];
                match pipeline.run(more, &mut room) {
                    Made::Bytes(made) => output.extend_from_slice(&room[..made]),
                    Made::Nothing => break,
                    Made::Failed => return Err(Reason::Damaged),
                }
            }
        }
        Ok(output)
    }

    pub(in crate::document) fn ascii85(content: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for group in content.chunks(4) {
            let mut padded = [0; 4];
            padded[..group.len()].copy_from_slice(group);
            let mut value = u32::from_be_bytes(padded);
            let mut digits = [0; 5];
            for digit in digits.iter_mut().rev() {
                (*digit, value) = ((value % 85) as u8 + b'!', value / 85);
            }
            text.extend_from_slice(&digits[..=group.len()]);
        }
        [&text[..], b"~>"].concat()
    }

    fn hex(content: &[u8]) -> Vec<u8> {
        content.iter().flat_map(|b| format!("{b:02X}\n").into_bytes()).chain(*b">").collect()
    }

    #[test]
    fn each_and_all() {
        use FilterKind::*;
        let content = prose(1, 20_000);
        let flate = zlib(&content);
        let runs = [&b"\x02abc\xfex\x00y"[..], b"\x80junk"].concat();
        let cases = [
            (vec![Flate], flate.clone(), content.clone()),
            (vec![Flate], [&b"\r\n"[..], &flate, b"\n"].concat(), content.clone()),
            (vec![Flate], flate[2..].to_vec(), content.clone()),
            (vec![Hex], hex(&content), content.clone()),
            (vec![Hex], b"4 1 4".to_vec(), b"A@".to_vec()),
            (vec![Ascii85], ascii85(&content), content.clone()),
            (vec![Ascii85], ascii85(&content[..5]), content[..5].to_vec()),
            (vec![Ascii85], b"z!!".to_vec(), vec![0; 5]),
            (vec![RunLength], runs, b"abcxxxy".to_vec()),
            (vec![Ascii85, Flate], ascii85(&flate), content.clone()),
            (vec![Flate, Hex, Flate], zlib(&hex(&flate)), content.clone()),
            (vec![Flate, Picture], flate, content),
        ];
        for (kinds, input, expected) in cases {
            for cut in [1, 3, 4000, 100_000] {
                assert!(undo(&kinds, &input, cut) == Ok(expected.clone()), "{kinds:?}, {cut}");
            }
        }
        assert_eq!(undo(&[Flate], b"x\x9c\xff\xff\xff", 9), Err(Reason::Damaged));
    }

    #[test]
    fn what_is_thrown_away_is_bounded() {
        let blank = zlib(&vec![b' '; 3 << 20]);
        assert_eq!(undo(&[FilterKind::Flate, FilterKind::Hex], &blank, 4000), Ok(Vec::new()));
    }
}
