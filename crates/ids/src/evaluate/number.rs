//! Numbers in a buffer: `byte_test` and its kin. Rule: what is not there, or is no number, holds nothing.

use super::{Piece, VARIABLES, amount_of};
use crate::ruleset::bytes::{Arithmetic, ByteTest, Encoding, Field, Operator};

/// The number of a field, and where it ends in the piece.
pub(super) fn read(
    piece: Piece<'_>,
    field: &Field,
    at: usize,
    variables: &[u64; VARIABLES],
) -> Option<(u64, usize)> {
    let amount = |amount| amount_of(amount, variables);
    let begins = if field.is_relative { at as i64 } else { -i64::try_from(piece.base).ok()? };
    let from = usize::try_from(begins.checked_add(amount(field.offset))?).ok()?;
    let length = usize::try_from(amount(field.length)).ok()?;
    let bytes = piece.bytes.get(from..from.checked_add(length)?)?;
    let value = match field.encoding {
        _ if bytes.is_empty() => 0,
        Encoding::Big if length <= 8 => bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        Encoding::Little if length <= 8 => {
            bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        }
        Encoding::Digits(base) => digits(bytes, base)?,
        _ => return None,
    };
    let value = field.mask.map_or(value, |mask| (value & mask) >> mask.trailing_zeros());
    Some((value, from + length))
}

/// As `strtoull` reads: white space, perhaps `0x`, digits, and whatever follows.
fn digits(bytes: &[u8], base: u32) -> Option<u64> {
    let text = bytes.trim_ascii_start();
    let text = match text {
        [b'0', b'x' | b'X', rest @ ..] if base == 16 => rest,
        text => text,
    };
    let mut value: Option<u64> = None;
    for byte in text {
        let Some(digit) = char::from(*byte).to_digit(base) else { break };
        let next = value.unwrap_or(0).checked_mul(base.into())?.checked_add(digit.into())?;
        value = Some(next);
    }
    value
}

pub(super) fn test(piece: Piece<'_>, test: &ByteTest, at: usize, variables: &[u64; VARIABLES]) -> bool {
    let Some((value, _)) = read(piece, &test.field, at, variables) else { return false };
    let with = amount_of(test.value, variables) as u64;
    let holds = match test.operator {
        Operator::Less => value < with,
        Operator::LessOrEqual => value <= with,
        Operator::Greater => value > with,
        Operator::GreaterOrEqual => value >= with,
        Operator::Equal => value == with,
        Operator::And => value & with != 0,
        Operator::Or => value ^ with != 0,
    };
    holds != test.is_negated
}

pub(super) fn calculate(arithmetic: Arithmetic, value: u64, operand: u64) -> Option<u64> {
    match arithmetic {
        Arithmetic::Add => value.checked_add(operand),
        Arithmetic::Subtract => Some(value.wrapping_sub(operand)),
        Arithmetic::Multiply => value.checked_mul(operand),
        Arithmetic::Divide => value.checked_div(operand),
        Arithmetic::ShiftLeft => value.checked_shl(u32::try_from(operand).ok()?),
        Arithmetic::ShiftRight => value.checked_shr(u32::try_from(operand).ok()?),
    }
}
