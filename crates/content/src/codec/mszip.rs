//! MSZIP: deflate in blocks of 32 KiB that know those before (MS-MCI). Rule: a block is made when all of it is there.

use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;
use zlib_rs::{Inflate, InflateFlush, Status};

/// The most that a block makes, and how far it reaches back.
pub(crate) const BLOCK_BYTES_MAX: usize = 32 << 10;
/// What a block costs for each byte made.
pub(crate) const BYTE_NANOS: u64 = 4;
const SIGNATURE: &[u8] = b"CK";
const WINDOW_BITS: u8 = 15;
/// What inflating holds, and what came before.
const STATE_BYTES: u64 = (48 << 10) + BLOCK_BYTES_MAX as u64;

/// Blocks on their way.
pub(crate) struct Mszip {
    inflate: Inflate,
    before: Vec<u8>,
    _grant: Grant,
}

impl Mszip {
    /// Awaits the first block.
    ///
    /// # Errors
    ///
    /// Where the pool gives no more.
    pub(crate) fn new(pool: &Arc<Pool>) -> Result<Self, Reason> {
        let mut grant = pool.grant();
        grant.grow(STATE_BYTES)?;
        Ok(Self { inflate: Inflate::new(false, WINDOW_BITS), before: Vec::new(), _grant: grant })
    }

    /// Appends to the output what the block makes: so many bytes, or, where that is not known, as many as it does.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`].
    pub(crate) fn block(
        &mut self,
        input: &[u8],
        size: Option<usize>,
        output: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let packed = input.strip_prefix(SIGNATURE).ok_or(Reason::Damaged)?;
        let room = size.unwrap_or(BLOCK_BYTES_MAX);
        if room > BLOCK_BYTES_MAX {
            return Err(Reason::Damaged);
        }
        self.inflate.reset(false);
        if !self.before.is_empty() && self.inflate.set_dictionary(&self.before).is_err() {
            return Err(Reason::Damaged);
        }
        let from = output.len();
        output.resize(from + room, 0);
        let status = self.inflate.decompress(packed, &mut output[from..], InflateFlush::Finish);
        let made = usize::try_from(self.inflate.total_out()).unwrap_or(usize::MAX).min(room);
        output.truncate(from + made);
        let is_whole = status == Ok(Status::StreamEnd) && size.is_none_or(|size| size == made);
        if !is_whole {
            return Err(Reason::Damaged);
        }
        let before = output.get(from..).unwrap_or_default();
        let kept = self.before.len().min(BLOCK_BYTES_MAX - before.len());
        self.before.drain(..self.before.len() - kept);
        self.before.extend_from_slice(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{deflate, prose};

    #[test]
    fn blocks_reach_back_into_those_before() {
        let mut mszip = Mszip::new(&Pool::new(1 << 20)).unwrap();
        let mut output = Vec::new();
        let content = prose(1, 30_000);
        let block = [b"CK", &deflate(&content)[..]].concat();
        assert_eq!(mszip.block(&block, Some(content.len()), &mut output), Ok(()));
        // A fixed block: a copy of 258 bytes from 30,000 before, and the end.
        let mut bits = crate::codec::lz::tests::BitWriter::default();
        for (value, count) in [(0b011, 3), (0b1010_0011, 8), (0b10111, 5)] {
            bits.put(value, count);
        }
        bits.put(30_000 - 24_577, 13);
        bits.put(0, 7);
        let block = [b"CK", &bits.bytes[..]].concat();
        assert_eq!(mszip.block(&block, Some(258), &mut output), Ok(()));
        assert!(output == [&content[..], &content[..258]].concat());
        for bent in [&b"CK"[..], b"KC", b"", &block[..block.len() - 1]] {
            assert_eq!(mszip.block(bent, Some(258), &mut Vec::new()), Err(Reason::Damaged));
        }
        assert_eq!(mszip.block(&block, Some(257), &mut Vec::new()), Err(Reason::Damaged));
        assert!(Mszip::new(&Pool::new(1000)).is_err());
    }
}
