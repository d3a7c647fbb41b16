//! What LHA, LArc and ARJ pack entries with (H. Yoshizaki's LZHUF and `lh5`, K. Miki's LArc; ARJ's `technote.txt`). Rule: one
//! symbol at a time; a method is its window, its codes, and nothing else.

mod adaptive;
mod blocks;
mod fastest;
mod larc;
#[cfg(test)]
pub(crate) mod tests;

use super::Run;
use super::lzhuf::{Scheme, Unlz};
use crate::decoder::More;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// How an entry was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// `lh1`: a code that follows what it meets, a window of 4 KiB.
    Adaptive,
    /// `lh4` to `lh7`, `lhx`: blocks with codes of their own, and a window of so many bits.
    Blocks { window_bits: u32, distance_bits: u32, before: Before },
    /// LArc's `lzs`.
    Lzs,
    /// LArc's `lz5`.
    Lz5,
    /// ARJ's method 4.
    Fastest,
}

/// What stands before the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    Spaces,
}

/// Unpacks one entry.
pub(crate) struct Unlzh(Box<dyn Going>);

/// What is the same for all methods.
trait Going: Send {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run;
    fn worked_nanos(&self) -> u64;
}

impl<S: Scheme> Going for Unlz<S> {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        Self::run(self, input, more, output)
    }

    fn worked_nanos(&self) -> u64 {
        Self::worked_nanos(self)
    }
}

impl Unlzh {
    /// Awaits an entry of so many bytes.
    ///
    /// # Errors
    ///
    /// As the pool says.
    pub(crate) fn new(pool: &Arc<Pool>, method: Method, size: u64) -> Result<Self, Reason> {
        let size = Some(size);
        Ok(Self(match method {
            Method::Adaptive => begun(pool, adaptive::Adaptive::new(), &[b' '; 4096], size)?,
            Method::Blocks { window_bits, distance_bits, before } => {
                let scheme = blocks::Blocks::new(distance_bits);
                match before {
                    Before::Spaces => begun(pool, scheme, &vec![b' '; 1 << window_bits], size)?,
                    Before::Nothing => bare(pool, scheme, 1 << window_bits, size)?,
                }
            }
            Method::Lzs => begun(pool, larc::Lzs, &[b' '; larc::LZS_WINDOW_BYTES], size)?,
            Method::Lz5 => begun(pool, larc::Lz5::default(), &larc::lz5_window(), size)?,
            Method::Fastest => bare(pool, fastest::Fastest, fastest::WINDOW_BYTES, size)?,
        }))
    }

    /// Unpacks until the input is used, the output full, or the entry at its end.
    pub(crate) fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        self.0.run(input, more, output)
    }

    /// As [`Decoder::worked_nanos`](crate::Decoder::worked_nanos).
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.0.worked_nanos()
    }
}

/// With a window that is full already.
fn begun<S: Scheme + 'static>(
    pool: &Arc<Pool>,
    scheme: S,
    fill: &[u8],
    size: Option<u64>,
) -> Result<Box<dyn Going>, Reason> {
    let mut unlz = Unlz::new(pool, scheme)?;
    unlz.window.begin_filled(fill)?;
    unlz.begin(size);
    Ok(Box::new(unlz))
}

/// With a window of so many bytes, and nothing in it.
fn bare<S: Scheme + 'static>(
    pool: &Arc<Pool>,
    scheme: S,
    window_bytes: usize,
    size: Option<u64>,
) -> Result<Box<dyn Going>, Reason> {
    let mut unlz = Unlz::new(pool, scheme)?;
    unlz.window.begin(window_bytes);
    unlz.begin(size);
    Ok(Box::new(unlz))
}
