//! Header fields (RFC 9110 section 5). Rule: kept in their order and as they came; a name means the same in any case.

use super::Refusal;
use super::lines::OddLines;
use super::refusal::Oddities;
use std::fmt;

/// Header or trailer fields, in order. All lie in one buffer.
#[derive(Clone, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// Where a field lies: its name, and right behind that its value.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    name_bytes: usize,
    value_bytes: usize,
}

/// How many fields most heads have at most, and bytes of them.
const FIELDS_USUAL: usize = 16;
const FIELDS_USUAL_BYTES: usize = 768;

impl Fields {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a field behind the others. Whitespace around the value is no part of it.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let value = trim(value);
        if self.spans.is_empty() {
            // Most heads fit: they need not be moved while they grow.
            self.spans.reserve(FIELDS_USUAL);
            self.bytes.reserve(FIELDS_USUAL_BYTES);
        }
        self.spans.push(Span { start: self.bytes.len(), name_bytes: name.len(), value_bytes: value.len() });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
    }

    /// The value of the first field of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The value of each field of this name.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |field| field.0.eq_ignore_ascii_case(name.as_bytes())).map(|field| field.1)
    }

    /// Takes every field of this name away.
    pub fn remove(&mut self, name: &str) {
        self.retain(|found| !found.eq_ignore_ascii_case(name.as_bytes()));
    }

    /// Keeps the fields with such names.
    pub fn retain(&mut self, mut keeps: impl FnMut(&[u8]) -> bool) {
        let bytes = &self.bytes;
        self.spans.retain(|span| keeps(span.of(bytes).0));
    }

    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| span.of(&self.bytes))
    }

    /// The elements of a field that is a list (RFC 9110 section 5.6.1), of all its lines, trimmed. Empty ones count:
    /// who wants them ignored does so. A comma within quotes is taken for one between elements.
    pub fn list<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name).flat_map(|value| value.split(|byte| *byte == b',')).map(trim)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether a list has this element, in any case.
    pub fn list_has(&self, name: &str, element: &str) -> bool {
        self.list(name).any(|found| found.eq_ignore_ascii_case(element.as_bytes()))
    }

    /// Joins a continuation to the last field, with one space. Says whether there was one to join it to.
    pub(crate) fn fold(&mut self, continuation: &[u8]) -> bool {
        let Some(last) = self.spans.last_mut() else { return false };
        let continuation = trim(continuation);
        if !continuation.is_empty() {
            // The last field's value lies at the end of the buffer, or does again.
            self.bytes.truncate(last.start + last.name_bytes + last.value_bytes);
            if last.value_bytes > 0 {
                self.bytes.push(b' ');
                last.value_bytes += 1;
            }
            self.bytes.extend_from_slice(continuation);
            last.value_bytes += continuation.len();
        }
        true
    }
}

impl Span {
    fn of(self, bytes: &[u8]) -> (&[u8], &[u8]) {
        let field = bytes.get(self.start..).unwrap_or_default();
        let field = field.get(..self.name_bytes + self.value_bytes).unwrap_or_default();
        field.split_at_checked(self.name_bytes).unwrap_or_default()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Fields {}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_list().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

impl<'a> FromIterator<(&'a [u8], &'a [u8])> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], &'a [u8])>>(pairs: I) -> Self {
        let mut fields = Self::new();
        pairs.into_iter().for_each(|(name, value)| fields.push(name, value));
        fields
    }
}

/// Without the whitespace around it, which is SP and HTAB and nothing else (RFC 9110 section 5.6.3).
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |at| at + 1);
    text.get(start..end).unwrap_or_default()
}

/// Whether it is a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| IN_TOKEN[usize::from(*byte)])
}

/// Which bytes a token may have.
const IN_TOKEN: [bool; 256] = {
    let mut belongs = [false; 256];
    let mut byte = 0;
    while byte < belongs.len() {
        let b = byte as u8;
        belongs[byte] = b.is_ascii_alphanumeric()
            || matches!(b, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~');
        byte += 1;
    }
    belongs
};

/// Puts a field line, without its end, to the fields.
pub(crate) fn field_line(
    fields: &mut Fields,
    line: &[u8],
    odd_lines: OddLines,
    fields_max: usize,
    oddities: &mut Oddities,
) -> Result<(), Refusal> {
    let colon = memchr::memchr(b':', line);
    if odd_lines == OddLines::Mended && colon.is_none() && !matches!(line.first(), Some(b' ' | b'\t')) {
        oddities.note(Refusal::FieldWithoutColon);
        return Ok(());
    }
    // To the end whatever is met, so that the compiler makes vector instructions of it.
    let is_control =
        |byte: u8| (byte < b' ' || byte == 0x7f) & (byte != b'\t') & (byte != b'\r') & (byte != 0);
    if line.iter().fold(false, |any, byte| any | is_control(*byte)) {
        oddities.met(Refusal::ControlCharacter)?;
    }
    if matches!(line.first(), Some(b' ' | b'\t')) {
        if fields.is_empty() {
            oddities.met(Refusal::ObsFold)?;
        }
        odd_lines.met(Refusal::ObsFold, oddities)?;
        fields.fold(line);
        return Ok(());
    }
    let Some(colon) = colon else { return oddities.met(Refusal::FieldWithoutColon) };
    let (name, rest) = line.split_at_checked(colon).unwrap_or_default();
    let named = name.trim_ascii_end();
    if named.len() < name.len() {
        odd_lines.met(Refusal::FieldNameSpace, oddities)?;
    }
    if !is_token(named) {
        odd_lines.met(Refusal::BadFieldName, oddities)?;
        if odd_lines == OddLines::Mended {
            return Ok(());
        }
    }
    if fields.len() >= fields_max {
        return oddities.met(Refusal::TooManyFields);
    }
    fields.push(named, rest.get(1..).unwrap_or_default());
    Ok(())
}
