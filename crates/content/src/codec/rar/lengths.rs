//! How long the codes are, as RAR 2 to 7 tell it: by a code of its own, with runs. Rule: no more than there are symbols.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::Code;
use lockgate_model::Reason;

/// Symbols of the code that lengths are told by: 16 lengths, two repetitions, two runs of none.
const LENGTH_SYMBOLS: usize = 20;

/// Reads the lengths of all codes. What is told is added to what was there, so that it is zero where nothing is kept.
///
/// # Errors
///
/// Damaged where a repetition has nothing to repeat, or the code is none.
pub(super) fn read(bits: &mut Bits, code: &mut Code, lengths: &mut [u8]) -> Result<(), Reason> {
    code.build(&own(bits))?;
    let mut at = 0;
    while at < lengths.len() {
        let symbol = code.take(bits)?;
        let (count, repeated) = match symbol {
            0..=15 => {
                lengths[at] = (lengths[at] + symbol as u8) & 15;
                at += 1;
                continue;
            }
            16 | 18 => (bits.take(3) as usize + 3, symbol == 16),
            _ => (bits.take(7) as usize + 11, symbol == 17),
        };
        let last = at.checked_sub(1).and_then(|last| lengths.get(last)).copied();
        let length = if repeated { last.ok_or(Reason::Damaged)? } else { 0 };
        let end = (at + count).min(lengths.len());
        lengths[at..end].fill(length);
        at = end;
    }
    Ok(())
}

/// The lengths of the code that lengths are told by: four bits each, where 15 begins a run of none, or is itself.
fn own(bits: &mut Bits) -> [u8; LENGTH_SYMBOLS] {
    let mut lengths = [0; LENGTH_SYMBOLS];
    let mut at = 0;
    while at < LENGTH_SYMBOLS {
        let length = bits.take(4) as u8;
        if length == 15 {
            let run = bits.take(4) as usize;
            if run > 0 {
                at += run + 2;
                continue;
            }
        }
        lengths[at] = length;
        at += 1;
    }
    lengths
}
