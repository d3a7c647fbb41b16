//! Bytes → values, in one pass. Rule: nothing beyond the length that was given is read, and every byte goes into the checksum.

use std::fmt;
use std::io::Read;

/// How much is read at once: small enough to stay near.
const BUFFER_BYTES: usize = 64 << 10;

/// How deep values may lie in each other.
const DEPTH_MAX: u32 = 256;

/// Why bytes are no stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit(pub &'static str);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unfit {}

/// Where values are read from.
pub struct Reader<'a> {
    source: &'a mut dyn Read,
    buffer: Box<[u8]>,
    /// What of the buffer is still to be taken.
    at: usize,
    end: usize,
    /// Bytes that are not in the buffer yet.
    unread: u64,
    sum: crc32fast::Hasher,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Reads so many bytes, and no more.
    pub fn new(source: &'a mut dyn Read, bytes: u64) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { source, buffer, at: 0, end: 0, unread: bytes, sum: crc32fast::Hasher::new(), depth: 0 }
    }

    /// How many bytes have not been taken.
    pub fn left(&self) -> u64 {
        self.unread + (self.end - self.at) as u64
    }

    /// Whether so many values of at least so many bytes can be left.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where they cannot.
    pub fn has(&self, count: usize, bytes: usize) -> Result<(), Unfit> {
        match (count as u64).checked_mul(bytes as u64).filter(|needed| *needed <= self.left()) {
            Some(_) => Ok(()),
            None => Err(Unfit("it is cut, or a length is wrong")),
        }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where they are not there.
    #[inline]
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Unfit> {
        if let Some(bytes) = self.buffer.get(self.at..self.end).and_then(|rest| rest.first_chunk()) {
            self.at += N;
            return Ok(*bytes);
        }
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills a slice with the next bytes.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where they are not there.
    pub fn fill(&mut self, mut out: &mut [u8]) -> Result<(), Unfit> {
        self.has(out.len(), 1)?;
        loop {
            let taken = out.len().min(self.end - self.at);
            let (front, rest) = out.split_at_mut(taken);
            front.copy_from_slice(&self.buffer[self.at..self.at + taken]);
            self.at += taken;
            out = rest;
            if out.is_empty() {
                return Ok(());
            }
            if out.len() < BUFFER_BYTES {
                self.refill()?;
                continue;
            }
            // What is larger than the buffer goes round it.
            let whole = out.len() / BUFFER_BYTES * BUFFER_BYTES;
            let (front, rest) = out.split_at_mut(whole);
            for piece in front.chunks_mut(BUFFER_BYTES) {
                self.source.read_exact(piece).map_err(|_| CUT)?;
                self.sum.update(piece);
            }
            self.unread -= whole as u64;
            out = rest;
        }
    }

    /// The next bytes of what must be taken in units, at least one of them and at most `bytes`, a multiple of the unit.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where not even one unit is there.
    pub fn units(&mut self, unit: usize, bytes: usize) -> Result<&[u8], Unfit> {
        if self.end - self.at < unit {
            self.refill()?;
        }
        let length = (self.end - self.at).min(bytes) / unit * unit;
        if length == 0 {
            return Err(CUT);
        }
        self.at += length;
        Ok(&self.buffer[self.at - length..self.at])
    }

    /// Reads a value that lies in another one, if not too deep.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where it is none, or too deep.
    pub fn within<T>(&mut self, load: impl FnOnce(&mut Self) -> Result<T, Unfit>) -> Result<T, Unfit> {
        if self.depth >= DEPTH_MAX {
            return Err(Unfit("it nests too deep"));
        }
        self.depth += 1;
        let loaded = load(self);
        self.depth -= 1;
        loaded
    }

    /// Reads on, behind what is still in the buffer.
    fn refill(&mut self) -> Result<(), Unfit> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        let room = self.buffer.len() - self.end;
        let more = usize::try_from(self.unread).unwrap_or(usize::MAX).min(room);
        let piece = &mut self.buffer[self.end..self.end + more];
        self.source.read_exact(piece).map_err(|_| CUT)?;
        self.sum.update(piece);
        self.end += more;
        self.unread -= more as u64;
        Ok(())
    }

    /// The checksum of all bytes (that of gzip).
    ///
    /// # Errors
    ///
    /// [`Unfit`] where there are more than were taken.
    pub fn finish(self) -> Result<u32, Unfit> {
        if self.left() > 0 { Err(Unfit("it is longer than what it holds")) } else { Ok(self.sum.finalize()) }
    }
}

const CUT: Unfit = Unfit("it is cut");
