//! ARJ's method 4: lengths and distances with as many ones before them as they are long. Rule: no codes at all.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;

pub(super) const WINDOW_BYTES: usize = 32 << 10;

/// There is no state.
pub(super) struct Fastest;

/// A number of `from` bits, or of one more for each 1 before it, up to `to`; each size goes on where the last ended.
fn number(bits: &mut Bits, from: u32, to: u32) -> usize {
    let (mut width, mut base) = (from, 0);
    while width < to && bits.is_set() {
        base += 1 << width;
        width += 1;
    }
    base + bits.take(width) as usize
}

impl Scheme for Fastest {
    fn bits_needed(&self) -> usize {
        48
    }

    fn bytes_made_max(&self) -> usize {
        256
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        match number(bits, 0, 7) {
            0 => window.push(bits.take(8) as u8),
            length => window.copy(number(bits, 9, 13) + 1, length + 2)?,
        }
        Ok(Symbol::Read)
    }
}
