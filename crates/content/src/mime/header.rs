//! The header block of a message or part, line by line. Rule: only the fields that say how to read the body are held.

use super::field::{Parameterised, encoding};
use super::limits::{FIELDS_MAX, HEADER_BLOCK_BYTES_MAX, HEADER_FIELDS_BYTES_MAX, HEADER_NAME_BYTES_MAX};
use super::oddity::{Oddities, Oddity};

/// What some editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The longest name that is looked for in a folded line, with white space before it.
const FOLDED_NAME_BYTES_MAX: usize = 80;

/// Reads one header block.
#[derive(Debug, Default)]
pub(super) struct HeaderReader {
    at: At,
    /// A CR was the last byte: whether it ends a line is not yet known.
    cr: bool,
    /// The name of the field being read, or the whole of one that is held.
    line: Vec<u8>,
    /// Which field that is, once its name is complete.
    field: Field,
    /// A field has begun: the block is not just the beginning of a body without one.
    has_begun: bool,
    /// A line of junk was met.
    has_junk: bool,
    bytes: u64,
    /// How much of the fields was held.
    held_bytes: usize,
    /// What a folded line begins with, while it may be the name of a field; and how much of the line was held before.
    fold: Option<(Vec<u8>, usize)>,
    /// The last line was white space alone: to some readers it ended the block.
    is_behind_blanks: bool,
    fields: Fields,
}

/// Where in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    LineStart,
    Name,
    Value,
}

/// Which field is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Field {
    #[default]
    None,
    Other,
    Type,
    Encoding,
    Disposition,
}

/// Why the reader stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It used all that there is.
    More,
    /// A line begins with a hyphen, which is not used: perhaps it is a delimiter. If it is none, [`HeaderReader::begin_line`] says so.
    Hyphen,
    /// The blank line that ends the block was used.
    Ended,
    /// A line is none of a header, and the first such in the block. To readers that take it for the first of the body,
    /// what is behind it is content; [`HeaderReader::take_body_line`] returns it.
    Junk,
    /// The body has begun without one, with what [`HeaderReader::take_body_line`] returns.
    Body,
}

/// What a header block says of its body.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Every `Content-Type`, at most [`FIELDS_MAX`]. The first is what most readers go by.
    pub media_types: Vec<Parameterised>,
    /// Every `Content-Transfer-Encoding` that is not empty, at most [`FIELDS_MAX`].
    pub encodings: Vec<String>,
    /// Every `Content-Disposition`, at most [`FIELDS_MAX`].
    pub dispositions: Vec<Parameterised>,
    /// An encoding stands in a line that is folded into another field.
    pub is_encoding_folded: bool,
    /// A line that is none of a header has been taken for the first of the body: to others it is junk in the header.
    pub is_body_line: bool,
    /// There was no field at all.
    pub is_headless: bool,
    /// The fields were longer than what is held of them.
    pub is_cut: bool,
    /// What was met.
    pub oddities: Oddities,
}

impl HeaderReader {
    /// Reads on: how much was used, and why it stopped.
    pub(super) fn push(&mut self, input: &[u8]) -> (usize, Stop) {
        let mut used = 0;
        let stop = loop {
            let Some(byte) = input.get(used).copied() else { break Stop::More };
            let (step, stop) = match self.at {
                _ if self.cr && byte != b'\n' => self.meet_bare_cr(byte),
                At::LineStart => self.line_start(byte),
                At::Name => self.name(&input[used..]),
                At::Value => (self.value(&input[used..]), None),
            };
            used += step;
            if let Some(stop) = stop {
                break stop;
            }
        };
        self.bytes += used as u64;
        if self.bytes > HEADER_BLOCK_BYTES_MAX {
            self.fields.oddities.note(Oddity::HeaderBlockTooLong);
        }
        (used, stop)
    }

    /// A line begins, with whatever comes: a hyphen there is no delimiter.
    pub(super) fn begin_line(&mut self) {
        self.finish_field();
        self.at = At::Name;
    }

    /// The block has ended: what it says.
    pub(super) fn finish(&mut self) -> Fields {
        self.finish_field();
        self.fields.is_headless = !self.has_begun;
        std::mem::take(&mut self.fields)
    }

    /// Whether the block, if it ends here, was the beginning of a body.
    pub(super) fn ends_in_body(&self) -> bool {
        self.at == At::Name && self.looks_like_body()
    }

    /// The line that is none of a header, with its line end unless that is still to come.
    pub(super) fn take_body_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line)
    }

    /// Some readers end a line at a bare CR, and some take it for nothing. Here it ends one that has begun; so a
    /// field that it hides is found, and a run of them ends no block.
    fn meet_bare_cr(&mut self, byte: u8) -> (usize, Option<Stop>) {
        self.fields.oddities.note(Oddity::BareCrInHeader);
        if byte == b'\r' {
            return (1, None);
        }
        self.cr = false;
        if self.at == At::Name && !self.has_begun {
            return (0, self.end_junk(b"\r"));
        }
        if self.at != At::LineStart {
            self.end_line();
        }
        (0, None)
    }

    fn line_start(&mut self, byte: u8) -> (usize, Option<Stop>) {
        match byte {
            b'\n' => {
                self.cr = false;
                return (1, Some(Stop::Ended));
            }
            b'\r' => {
                self.cr = true;
                return (1, None);
            }
            b'-' => return (0, Some(Stop::Hyphen)),
            b' ' | b'\t' => {
                self.has_begun = true;
                if self.field == Field::None {
                    self.fields.oddities.note(Oddity::JunkInHeader);
                    self.field = Field::Other;
                }
                self.at = At::Value;
                self.fold = Some((Vec::new(), self.line.len()));
            }
            _ => self.begin_line(),
        }
        (0, None)
    }

    fn name(&mut self, rest: &[u8]) -> (usize, Option<Stop>) {
        if self.cr {
            // The LF of a CRLF: the line has no colon.
            self.cr = false;
            return (1, self.end_junk(b"\r\n"));
        }
        let end = memchr::memchr3(b':', b'\n', b'\r', rest).unwrap_or(rest.len());
        let room = HEADER_NAME_BYTES_MAX - self.line.len();
        if end > room {
            self.fields.oddities.note(Oddity::HeaderNameTooLong);
            if !self.has_begun {
                // As much is used as would be in smaller pieces: it has been told as header by then.
                self.line.extend_from_slice(&rest[..room]);
                return (room, Some(Stop::Body));
            }
            self.line.clear();
            self.field = Field::Other;
            self.at = At::Value;
            return (room, None);
        }
        self.line.extend_from_slice(&rest[..end]);
        match rest.get(end) {
            None => (end, None),
            Some(b'\r') => {
                self.cr = true;
                (end + 1, None)
            }
            Some(b'\n') => (end + 1, self.end_junk(b"\n")),
            Some(_) if !self.has_begun && !could_be_name(&self.line) => {
                self.fields.oddities.note(Oddity::HeaderWithoutEnd);
                (end, Some(Stop::Body))
            }
            Some(_) => {
                self.has_begun = true;
                self.field = Field::named(&self.line);
                self.line.clear();
                self.at = At::Value;
                (end + 1, None)
            }
        }
    }

    fn value(&mut self, rest: &[u8]) -> usize {
        if self.cr {
            self.cr = false;
            self.end_line();
            return 1;
        }
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        if self.fold.is_some()
            && let Some(used) = self.meet_fold(&rest[..end])
        {
            return used;
        }
        if !matches!(self.field, Field::None | Field::Other) {
            let kept = end.min(HEADER_FIELDS_BYTES_MAX - self.held_bytes);
            self.fields.is_cut |= end > kept;
            self.held_bytes += kept;
            self.line.extend_from_slice(&rest[..kept]);
        }
        match rest.get(end) {
            None => end,
            Some(b'\r') => {
                self.cr = true;
                end + 1
            }
            Some(_) => {
                self.end_line();
                end + 1
            }
        }
    }

    /// A folded line that is a field which says how to read the body: some readers take it for one. How much was used.
    fn meet_fold(&mut self, text: &[u8]) -> Option<usize> {
        let (name, line_bytes) = self.fold.as_mut()?;
        let colon = memchr::memchr(b':', text);
        let begun = &text[..colon.unwrap_or(text.len())];
        if name.len() + begun.len() > FOLDED_NAME_BYTES_MAX {
            self.fold = None;
            return None;
        }
        name.extend_from_slice(begun);
        let colon = colon?;
        let (field, line_bytes) = (Field::named(name), *line_bytes);
        self.fold = None;
        if field == Field::Other {
            return None;
        }
        self.line.truncate(line_bytes);
        self.finish_field();
        self.fields.oddities.note(Oddity::FieldFolded);
        self.fields.is_encoding_folded |= field == Field::Encoding;
        self.field = field;
        Some(colon + 1)
    }

    /// A line has ended.
    fn end_line(&mut self) {
        self.is_behind_blanks = self.fold.take().is_some_and(|(line, _)| line.trim_ascii().is_empty());
        if self.at == At::Name {
            self.fields.oddities.note(Oddity::JunkInHeader);
            self.line.clear();
            self.field = Field::Other;
        }
        self.at = At::LineStart;
    }

    /// A line without a colon has ended. It is the first of the body, if it looks like that, else junk.
    fn end_junk(&mut self, line_end: &[u8]) -> Option<Stop> {
        if self.looks_like_body() {
            self.fields.oddities.note(Oddity::HeaderWithoutEnd);
            self.line.extend_from_slice(line_end);
            self.fields.is_body_line = self.has_begun;
            return Some(Stop::Body);
        }
        if self.has_junk {
            self.end_line();
            return None;
        }
        self.has_junk = true;
        self.line.extend_from_slice(line_end);
        let line = std::mem::take(&mut self.line);
        self.end_line();
        self.line = line;
        Some(Stop::Junk)
    }

    /// Whether no field has come at all; or the body is encoded, and the line before is blank but for white space; or the
    /// line is one of base64, and that is what the body is written in. Behind other junk the header goes on: taking it
    /// for the body would hide the fields there.
    fn looks_like_body(&self) -> bool {
        let is_base64 = self.fields.encodings.iter().any(|name| name.contains("64"));
        let is_from = self.line.starts_with(b"From ") || self.line.starts_with(b">From ");
        !self.has_begun && !is_from
            || self.is_behind_blanks && !self.fields.encodings.is_empty()
            || is_base64 && self.line.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b))
    }

    fn finish_field(&mut self) {
        let value = std::mem::take(&mut self.line);
        let fields = &mut self.fields;
        match std::mem::take(&mut self.field) {
            Field::None | Field::Other => self.line = value,
            Field::Type => {
                let parsed = Parameterised::parse(&value, &mut fields.oddities);
                keep(&mut fields.media_types, parsed, Oddity::TypeRepeated, &mut fields.oddities);
            }
            Field::Disposition => {
                let parsed = Parameterised::parse(&value, &mut fields.oddities);
                keep(&mut fields.dispositions, parsed, Oddity::DispositionRepeated, &mut fields.oddities);
            }
            Field::Encoding => {
                let parsed = encoding(&value, &mut fields.oddities);
                if !parsed.is_empty() {
                    keep(&mut fields.encodings, parsed, Oddity::EncodingRepeated, &mut fields.oddities);
                }
            }
        }
        self.line.clear();
    }
}

/// Keeps a field; where there is one already that says something else, that is noted.
fn keep<T: PartialEq>(kept: &mut Vec<T>, value: T, oddity: Oddity, oddities: &mut Oddities) {
    if kept.first().is_some_and(|first| *first != value) {
        oddities.note(oddity);
    }
    if kept.len() < FIELDS_MAX {
        kept.push(value);
    }
}

/// Whether it is printable. Spaces are let pass, for the line that begins a message in a mailbox file.
fn could_be_name(name: &[u8]) -> bool {
    let name = name.strip_prefix(BYTE_ORDER_MARK).unwrap_or(name);
    name.iter().all(|b| matches!(b, b'\t' | b' '..=b'~'))
}

impl Field {
    fn named(name: &[u8]) -> Self {
        let name = name.strip_prefix(BYTE_ORDER_MARK).unwrap_or(name).trim_ascii();
        let fields: [(&[u8], Self); 3] = [
            (b"content-type", Self::Type),
            (b"content-transfer-encoding", Self::Encoding),
            (b"content-disposition", Self::Disposition),
        ];
        fields
            .iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map_or(Self::Other, |(_, field)| *field)
    }
}
