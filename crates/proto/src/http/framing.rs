//! How a body is framed (RFC 9112 section 6). Rule: one reading, or a refusal.

use super::refusal::Oddities;
use super::{Fields, Refusal, Version};

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none, whatever the fields say.
    None,
    /// So many bytes.
    Length(u64),
    /// In chunks; the last has no bytes.
    Chunked,
    /// All until the connection is closed: only a response has such.
    UntilClose,
}

/// The framing that a request's fields say (RFC 9112 section 6.3), which are then left with that alone.
pub(crate) fn of_request(
    fields: &mut Fields,
    version: Version,
    oddities: &mut Oddities,
) -> Result<Framing, Refusal> {
    let length = length(fields, oddities)?;
    let Some(coding) = coding(fields, oddities)? else {
        return Ok(length.map_or(Framing::None, Framing::Length));
    };
    if version == Version::Http10 {
        oddities.met(Refusal::TransferCodingInHttp10)?;
    }
    if length.is_some() {
        oddities.met(Refusal::LengthAndChunked)?;
    }
    fields.remove("content-length");
    Ok(coding)
}

/// The framing that a response's fields say, which are then left with that alone. What the request and the status have
/// to say comes before.
pub(crate) fn of_response(
    fields: &mut Fields,
    version: Version,
    oddities: &mut Oddities,
) -> Result<Framing, Refusal> {
    let length = length(fields, oddities)?;
    let by_length = length.map_or(Framing::UntilClose, Framing::Length);
    let Some(coding) = coding(fields, oddities)? else { return Ok(by_length) };
    if version == Version::Http10 {
        // HTTP/1.0 does not know it, so a length is all that can be meant; without one, who could say?
        oddities.note(Refusal::TransferCodingInHttp10);
        if length.is_none() {
            oddities.met(Refusal::TransferCodingInHttp10)?;
        }
        fields.remove("transfer-encoding");
        return Ok(by_length);
    }
    if length.is_some() {
        // RFC 9112 section 6.3: the chunks count. The client gets the one without the other.
        oddities.note(Refusal::LengthAndChunked);
        fields.remove("content-length");
    }
    Ok(coding)
}

/// The one value of Content-Length, and leaves one field that says so.
pub(crate) fn length(fields: &mut Fields, oddities: &mut Oddities) -> Result<Option<u64>, Refusal> {
    let mut one = None;
    let mut seen = 0;
    let mut wrong = None;
    for value in fields.list("content-length") {
        seen += 1;
        match (decimal(value), one) {
            (None, _) => wrong = Some(Refusal::BadLength),
            (Some(length), None) => one = Some(length),
            (Some(length), Some(before)) if length != before => {
                wrong = wrong.or(Some(Refusal::ConflictingLengths));
            }
            _ => {}
        }
    }
    if let Some(wrong) = wrong {
        oddities.met(wrong)?;
    }
    if let Some(one) = one {
        let digits = one.to_string();
        if seen > 1 || fields.get("content-length") != Some(digits.as_bytes()) {
            fields.remove("content-length");
            fields.push(b"Content-Length", digits.as_bytes());
        }
    }
    Ok(one)
}

/// What Transfer-Encoding says. A coding that compresses would hide the body from whoever does not know it.
fn coding(fields: &Fields, oddities: &mut Oddities) -> Result<Option<Framing>, Refusal> {
    let mut codings = fields.list("transfer-encoding");
    let Some(first) = codings.next() else { return Ok(None) };
    let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let last = codings.last();
    if last.is_none() && is_chunked(first) {
        return Ok(Some(Framing::Chunked));
    }
    oddities.met(Refusal::UnknownTransferCoding)?;
    Ok(Some(if is_chunked(last.unwrap_or(first)) { Framing::Chunked } else { Framing::UntilClose }))
}

/// A number in digits, with nothing before or behind it.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    number(digits, 10)
}

/// The same in hexadecimal digits.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    number(digits, 16)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        sum.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}
