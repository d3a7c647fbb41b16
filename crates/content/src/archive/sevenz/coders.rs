//! Coders joined to a graph, from which bytes are pulled. Rule: a coder gives no more than its size, and each is used once.

use super::bcj2::Bcj2;
use super::header::{Coder, Folder, Streams};
use crate::codec::filter::{Filter, Filtering};
use crate::codec::lzma::{self, Alone, Lzma2};
use crate::codec::ppmd;
use crate::codec::stream::Undo;
use crate::codec::unpacker::{Extent, Packing, Unpacker};
use crate::codec::{Outcome, Run};
use crate::decoder::More;
use crate::field::u32_le;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// How much is unpacked ahead for the next coder.
const FEED_BYTES: usize = 4096;
/// What a coder holds besides its own.
const STAGE_BYTES: u64 = 2 * FEED_BYTES as u64;

/// The numbers of methods ("Methods.txt" of 7-Zip).
mod method {
    pub const COPY: u64 = 0x00;
    pub const DELTA: u64 = 0x03;
    pub const X86: u64 = 0x0303_0103;
    pub const BCJ2: u64 = 0x0303_011b;
    pub const POWER_PC: u64 = 0x0303_0205;
    pub const IA64: u64 = 0x0303_0401;
    pub const ARM: u64 = 0x0303_0501;
    pub const ARM_THUMB: u64 = 0x0303_0701;
    pub const SPARC: u64 = 0x0303_0805;
    pub const ARM64: u64 = 0x0a;
    pub const LZMA: u64 = 0x03_0101;
    pub const PPMD: u64 = 0x03_0401;
    pub const LZMA2: u64 = 0x21;
    pub const DEFLATE: u64 = 0x04_0108;
    pub const DEFLATE64: u64 = 0x04_0109;
    pub const BZIP2: u64 = 0x04_0202;
    pub const ZSTD: u64 = 0x04f7_1101;
    /// AES-256 with SHA-256, and all else that encrypts.
    pub const ENCRYPTED: std::ops::RangeInclusive<u64> = 0x06f1_0000..=0x06f1_ffff;
}

/// What pulling came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulled {
    /// So many bytes.
    Bytes(usize),
    /// Nothing yet: pull again.
    Working,
    End,
}

/// One coder, or packed bytes, and how much more is to come of it.
pub(super) struct Stage {
    work: Work,
    left: u64,
}

enum Work {
    /// Bytes of the file, from there on.
    Packed(usize),
    Copy(Box<Stage>),
    Unpack(Box<Unpack>),
    Filter(Box<Stage>, Filtering),
    Bcj2(Box<Bcj2>),
}

/// Bytes of another stage, some ahead.
pub(super) struct Feed {
    stage: Box<Stage>,
    bytes: Vec<u8>,
    at: usize,
    has_ended: bool,
}

struct Unpack {
    feed: Feed,
    codec: Codec,
    has_ended: bool,
}

enum Codec {
    Lzma(Box<Alone>),
    Lzma2(Box<Lzma2>),
    Other(Box<Unpacker>),
}

impl Stage {
    /// Fills some of the output.
    pub fn pull(&mut self, whole: &[u8], output: &mut [u8]) -> Result<Pulled, Reason> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(output.len());
        if room == 0 {
            return Ok(Pulled::End);
        }
        let output = &mut output[..room];
        let pulled = match &mut self.work {
            Work::Packed(at) => {
                let bytes = whole.get(*at..*at + room).ok_or(Reason::Truncated)?;
                output.copy_from_slice(bytes);
                *at += room;
                Pulled::Bytes(room)
            }
            Work::Copy(stage) => stage.pull(whole, output)?,
            Work::Unpack(unpack) => unpack.pull(whole, output)?,
            Work::Filter(stage, filtering) => filter(stage, filtering, whole, output)?,
            Work::Bcj2(bcj2) => bcj2.pull(whole, output)?,
        };
        match pulled {
            Pulled::Bytes(count) => self.left -= count as u64,
            Pulled::End => return Err(Reason::Truncated),
            Pulled::Working => {}
        }
        Ok(pulled)
    }

    /// What the last pull cost beyond the bytes it gave.
    pub fn worked_nanos(&self) -> u64 {
        match &self.work {
            Work::Packed(_) => 0,
            Work::Copy(stage) | Work::Filter(stage, _) => stage.worked_nanos(),
            Work::Unpack(unpack) => unpack.worked_nanos() + unpack.feed.worked_nanos(),
            Work::Bcj2(bcj2) => bcj2.worked_nanos(),
        }
    }
}

fn filter(
    stage: &mut Stage,
    filtering: &mut Filtering,
    whole: &[u8],
    output: &mut [u8],
) -> Result<Pulled, Reason> {
    loop {
        let made = filtering.take(output);
        if made > 0 {
            return Ok(Pulled::Bytes(made));
        }
        if filtering.is_finished() {
            return Ok(Pulled::End);
        }
        let pulled = stage.pull(whole, filtering.room())?;
        filtering.filled(if let Pulled::Bytes(count) = pulled { count } else { 0 });
        match pulled {
            Pulled::Bytes(_) => {}
            Pulled::Working => return Ok(Pulled::Working),
            Pulled::End => filtering.finish(),
        }
    }
}

impl Feed {
    fn new(stage: Stage) -> Self {
        Self { stage: Box::new(stage), bytes: Vec::new(), at: 0, has_ended: false }
    }

    /// Gets more unless there are so many bytes ahead; `false` where it is to be tried again.
    pub fn top_up(&mut self, whole: &[u8], ahead: usize) -> Result<bool, Reason> {
        while !self.is_ready(ahead) {
            self.bytes.drain(..self.at);
            self.at = 0;
            let held = self.bytes.len();
            self.bytes.resize(held + FEED_BYTES, 0);
            let pulled = self.stage.pull(whole, &mut self.bytes[held..]);
            self.bytes.truncate(held + if let Ok(Pulled::Bytes(count)) = pulled { count } else { 0 });
            match pulled? {
                Pulled::Bytes(_) => {}
                Pulled::Working => return Ok(false),
                Pulled::End => self.has_ended = true,
            }
        }
        Ok(true)
    }

    /// Whether so many bytes are ahead, or all that there are.
    pub fn is_ready(&self, ahead: usize) -> bool {
        self.has_ended || self.bytes.len() - self.at >= ahead
    }

    /// Whether there are no more.
    pub fn is_spent(&self) -> bool {
        self.has_ended && self.at == self.bytes.len()
    }

    pub fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    pub fn worked_nanos(&self) -> u64 {
        self.stage.worked_nanos()
    }
}

impl Unpack {
    fn pull(&mut self, whole: &[u8], output: &mut [u8]) -> Result<Pulled, Reason> {
        if self.has_ended {
            return Ok(Pulled::End);
        }
        if !self.feed.top_up(whole, 1)? {
            return Ok(Pulled::Working);
        }
        let more = if self.feed.has_ended { More::Ended } else { More::Follows };
        let input = self.feed.bytes.get(self.feed.at..).unwrap_or_default();
        let is_out_of_input = input.is_empty();
        let run = self.codec.run(input, more, output);
        self.feed.at += run.used;
        match run.outcome {
            Outcome::Failed(reason) => return Err(reason),
            Outcome::Ended => self.has_ended = true,
            Outcome::Going if run.made == 0 && is_out_of_input && !self.codec.owes(more) => {
                return Err(Reason::Truncated);
            }
            Outcome::Going => {}
        }
        Ok(if run.made > 0 { Pulled::Bytes(run.made) } else { Pulled::Working })
    }

    fn worked_nanos(&self) -> u64 {
        match &self.codec {
            Codec::Other(unpacker) => unpacker.worked_nanos(),
            Codec::Lzma(_) | Codec::Lzma2(_) => 0,
        }
    }
}

impl Codec {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        match self {
            Self::Lzma(lzma) => lzma.run(input, more, output),
            Self::Lzma2(lzma2) => lzma2.run(input, output),
            Self::Other(unpacker) => unpacker.run(input, more, output),
        }
    }

    fn owes(&self, more: More) -> bool {
        match self {
            Self::Lzma(lzma) => lzma.owes(more),
            Self::Lzma2(_) => false,
            Self::Other(unpacker) => unpacker.owes(more),
        }
    }
}

/// A folder's coders, ready to be pulled from, and what they hold.
pub(super) fn open(
    pool: &Arc<Pool>,
    streams: &Streams,
    folder: &Folder,
    whole: &[u8],
) -> Result<(Stage, Grant), Reason> {
    if folder.coders.iter().any(|coder| method::ENCRYPTED.contains(&coder.method)) {
        return Err(Reason::Encrypted);
    }
    let mut grant = pool.grant();
    grant.grow(STAGE_BYTES * folder.coders.len() as u64)?;
    let mut graph = Graph { pool, streams, folder, whole, is_used: vec![false; folder.coders.len()] };
    let stage = graph.coder(folder.main()?)?;
    Ok((stage, grant))
}

struct Graph<'a> {
    pool: &'a Arc<Pool>,
    streams: &'a Streams,
    folder: &'a Folder,
    whole: &'a [u8],
    is_used: Vec<bool>,
}

impl Graph<'_> {
    /// The coder of that number, with all that is before it. As each is used once, this goes no deeper than there are coders.
    fn coder(&mut self, number: usize) -> Result<Stage, Reason> {
        let coder = self.folder.coders.get(number).ok_or(Reason::Damaged)?;
        let left = *self.folder.sizes.get(number).ok_or(Reason::Damaged)?;
        if std::mem::replace(&mut self.is_used[number], true) {
            return Err(Reason::Damaged);
        }
        let first = self.folder.coders[..number].iter().map(|coder| coder.inputs).sum::<usize>();
        let mut inputs = Vec::new();
        for input in first..first + coder.inputs {
            inputs.push(self.input(input)?);
        }
        Ok(Stage { work: work(self.pool, coder, left, inputs)?, left })
    }

    fn input(&mut self, input: usize) -> Result<Stage, Reason> {
        if let Some((_, output)) = self.folder.binds.iter().find(|(bound, _)| *bound == input) {
            return self.coder(*output);
        }
        let place = self.folder.packed.iter().position(|packed| *packed == input).ok_or(Reason::Damaged)?;
        let range = self.streams.pack(self.folder.first_pack + place, self.whole)?;
        Ok(Stage { left: range.len() as u64, work: Work::Packed(range.start) })
    }
}

fn work(pool: &Arc<Pool>, coder: &Coder, size: u64, inputs: Vec<Stage>) -> Result<Work, Reason> {
    if coder.method == method::BCJ2 {
        let feeds: Vec<Feed> = inputs.into_iter().map(Feed::new).collect();
        return Ok(Work::Bcj2(Box::new(Bcj2::new(feeds.try_into().map_err(|_| Reason::Damaged)?))));
    }
    let Ok([stage]) = <[Stage; 1]>::try_from(inputs) else { return Err(Reason::Damaged) };
    if coder.method == method::COPY {
        return Ok(Work::Copy(Box::new(stage)));
    }
    if let Some(filter) = filter_of(coder) {
        return Ok(Work::Filter(Box::new(stage), Filtering::new(filter)));
    }
    let codec = codec_of(pool, coder, size)?;
    Ok(Work::Unpack(Box::new(Unpack { feed: Feed::new(stage), codec, has_ended: false })))
}

/// Branches begin at 0 unless it is told otherwise.
fn filter_of(coder: &Coder) -> Option<Filter> {
    let start = u32_le(&coder.properties, 0);
    Some(match coder.method {
        method::DELTA => Filter::delta(usize::from(*coder.properties.first()?) + 1),
        method::X86 | 4 => Filter::x86(start),
        method::POWER_PC | 5 => Filter::power_pc(start),
        method::IA64 | 6 => Filter::ia64(start),
        method::ARM | 7 => Filter::arm(start),
        method::ARM_THUMB | 8 => Filter::arm_thumb(start),
        method::SPARC | 9 => Filter::sparc(start),
        method::ARM64 => Filter::arm64(start),
        _ => return None,
    })
}

fn codec_of(pool: &Arc<Pool>, coder: &Coder, size: u64) -> Result<Codec, Reason> {
    let other = |packing| {
        let mut unpacker = Unpacker::new(pool);
        unpacker.begin(packing);
        Ok(Codec::Other(Box::new(unpacker)))
    };
    match coder.method {
        method::LZMA => {
            let properties = coder.properties.first_chunk::<5>().ok_or(Reason::Damaged)?;
            Ok(Codec::Lzma(Box::new(Alone::bare(pool, *properties, Some(size))?)))
        }
        method::LZMA2 => {
            let dictionary = coder.properties.first().ok_or(Reason::Damaged)?;
            Ok(Codec::Lzma2(Box::new(Lzma2::new(pool, *dictionary)?)))
        }
        method::PPMD => {
            let [order, memory @ ..] = coder.properties.first_chunk::<5>().ok_or(Reason::Damaged)?;
            other(Packing::PpmdH { order: *order, memory_bytes: u32::from_le_bytes(*memory), size })
        }
        method::ZSTD => other(Packing::Zstd(Extent::Known)),
        method::DEFLATE64 => other(Packing::Deflate64),
        method::DEFLATE => other(Packing::Deflate),
        method::BZIP2 => other(Packing::Bzip2),
        _ => Err(Reason::Unsupported),
    }
}

/// What a byte that comes out of a folder costs, for each KiB.
pub(super) fn nanos_per_kib(folder: &Folder) -> u32 {
    let of = |coder: &Coder| match coder.method {
        method::COPY => 100,
        method::LZMA | method::LZMA2 => 2 * lzma::NANOS_PER_KIB,
        method::DEFLATE => 3_000,
        method::PPMD => ppmd::NANOS_PER_KIB,
        _ => 4_000,
    };
    folder.coders.iter().map(of).sum()
}
