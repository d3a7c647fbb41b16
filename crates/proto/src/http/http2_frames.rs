//! One side of HTTP/2 in clear, as a spectator sees it: [`Http2Reader`] (RFC 9113 section 4; header compression is RFC 7541). Rule: the
//! frames that carry messages come out, the others are passed over, and what cannot be followed is said once.

use loona_hpack::Decoder;

/// What a client begins with (RFC 9113 section 3.4).
pub const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A header block may be so long, before it is decompressed.
const BLOCK_BYTES_MAX: usize = 64 << 10;
/// The fields of a head may be so long together: a few bytes may stand for long fields again and again.
const FIELDS_BYTES_MAX: usize = 128 << 10;
/// How much a side may have the other remember (SETTINGS_HEADER_TABLE_SIZE is 4,096 where nobody says more).
const TABLE_BYTES_MAX: usize = 64 << 10;
const HEADER_BYTES: usize = 9;
/// Bytes of a promised stream's number, or of a priority (RFC 9113 sections 6.2, 6.6).
const PROMISED_BYTES: usize = 4;
const PRIORITY_BYTES: usize = 5;

mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const PUSH_PROMISE: u8 = 5;
    pub const CONTINUATION: u8 = 9;
}

mod flag {
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

/// A name and a value.
pub type Http2Field = (Vec<u8>, Vec<u8>);

/// What bytes of a side came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Http2Frame<'a> {
    /// All input has been used; nothing is complete.
    NeedInput,
    /// The head of a message of this stream, or its trailers.
    Head {
        /// The stream's number.
        stream: u32,
        /// All fields in their order, `:method` and the like first.
        fields: Vec<Http2Field>,
        /// Whether nothing follows it on the stream.
        is_last: bool,
    },
    /// Content of a stream's message, without padding.
    Content {
        /// The stream's number.
        stream: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A side of the stream has ended, in order or not.
    End {
        /// The stream's number.
        stream: u32,
        /// Whether it was broken off.
        is_reset: bool,
    },
    /// The side cannot be followed any more.
    Lost,
}

/// The frame at hand.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    kind: u8,
    flags: u8,
    stream: u32,
    /// Bytes of its payload that have not come yet.
    left: usize,
    /// How many of them, at the end, are padding; `None` before that is known.
    padding: Option<usize>,
}

/// One side of a connection.
pub struct Http2Reader {
    preface_left: usize,
    header: Vec<u8>,
    current: Option<Current>,
    /// The payload of a frame that is read in whole, or the header block so far.
    block: Vec<u8>,
    /// Where the header block at hand belongs: its stream, whether it ends that, and whether it is of a message that was only promised.
    open: Option<(u32, bool, bool)>,
    decoder: Decoder<'static>,
    is_lost: bool,
}

impl Http2Reader {
    /// A side from its beginning: a client's has a preface.
    pub fn new(is_client: bool) -> Self {
        let mut decoder = Decoder::new();
        decoder.set_max_allowed_table_size(TABLE_BYTES_MAX);
        Self {
            preface_left: if is_client { HTTP2_PREFACE.len() } else { 0 },
            header: Vec::with_capacity(HEADER_BYTES),
            current: None,
            block: Vec::new(),
            open: None,
            decoder,
            is_lost: false,
        }
    }

    /// The next bytes: how many of them were used, and what they came to. Nothing but `NeedInput` ends it.
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> (usize, Http2Frame<'a>) {
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            if self.is_lost {
                return (bytes.len(), Http2Frame::NeedInput);
            }
            let (more, frame) = match &self.current {
                Some(current) => self.payload(*current, rest),
                None if rest.is_empty() => return (used, Http2Frame::NeedInput),
                None => (self.head(rest), None),
            };
            used += more;
            match frame {
                Some(frame) => {
                    self.is_lost = frame == Http2Frame::Lost;
                    return (used, frame);
                }
                None if more == 0 && self.current.is_some() => return (used, Http2Frame::NeedInput),
                None => {}
            }
        }
    }

    /// Bytes of it are missing: nothing more can be read.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }

    /// The preface, and the nine bytes that a frame begins with.
    fn head(&mut self, bytes: &[u8]) -> usize {
        if self.preface_left > 0 {
            let used = self.preface_left.min(bytes.len());
            self.preface_left -= used;
            return used;
        }
        let used = (HEADER_BYTES - self.header.len()).min(bytes.len());
        self.header.extend_from_slice(bytes.get(..used).unwrap_or_default());
        if let [high, middle, low, kind, flags, a, b, c, d] = *self.header.as_slice() {
            self.header.clear();
            let left = u32::from_be_bytes([0, high, middle, low]) as usize;
            let stream = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
            let is_padded =
                matches!(kind, kind::DATA | kind::HEADERS | kind::PUSH_PROMISE) && flags & flag::PADDED != 0;
            let padding = if is_padded { None } else { Some(0) };
            self.current = Some(Current { kind, flags, stream, left, padding });
        }
        used
    }

    fn payload<'a>(&mut self, mut current: Current, bytes: &'a [u8]) -> (usize, Option<Http2Frame<'a>>) {
        let mut used = 0;
        if current.padding.is_none() && current.left > 0 {
            let Some(first) = bytes.first() else { return (0, None) };
            (used, current.left) = (1, current.left - 1);
            if usize::from(*first) > current.left {
                return (used, Some(Http2Frame::Lost));
            }
            current.padding = Some((*first).into());
        }
        let padding = current.padding.unwrap_or(0);
        let rest = bytes.get(used..).unwrap_or_default();
        let content = rest.get(..current.left.saturating_sub(padding).min(rest.len())).unwrap_or_default();
        current.left -= content.len();
        used += content.len();
        let behind = rest.get(content.len()..).unwrap_or_default();
        if current.left <= padding {
            let skipped = current.left.min(behind.len());
            current.left -= skipped;
            current.padding = Some(current.left);
            used += skipped;
        }
        let is_over = current.left == 0;
        self.current = (!is_over).then_some(current);
        (used, self.taken(current, content, is_over))
    }

    /// What a part of a frame's payload comes to.
    fn taken<'a>(&mut self, current: Current, content: &'a [u8], is_over: bool) -> Option<Http2Frame<'a>> {
        let Current { kind, flags, stream, .. } = current;
        match kind {
            kind::DATA if !content.is_empty() => {
                if is_over && flags & flag::END_STREAM != 0 {
                    // Told when it is asked again.
                    self.current = Some(Current { left: 0, padding: Some(0), ..current });
                }
                Some(Http2Frame::Content { stream, bytes: content })
            }
            kind::DATA if is_over && flags & flag::END_STREAM != 0 => {
                self.current = None;
                Some(Http2Frame::End { stream, is_reset: false })
            }
            kind::RST_STREAM if is_over => Some(Http2Frame::End { stream, is_reset: true }),
            kind::HEADERS | kind::PUSH_PROMISE | kind::CONTINUATION => {
                self.block.extend_from_slice(content);
                if self.block.len() > BLOCK_BYTES_MAX {
                    return Some(Http2Frame::Lost);
                }
                if is_over { self.fragment(current) } else { None }
            }
            _ => None,
        }
    }

    /// A frame of a header block is there, whole.
    fn fragment<'a>(&mut self, current: Current) -> Option<Http2Frame<'a>> {
        let Current { kind, flags, stream, .. } = current;
        if (kind == kind::CONTINUATION) != self.open.is_some() {
            return Some(Http2Frame::Lost);
        }
        if kind != kind::CONTINUATION {
            let is_promised = kind == kind::PUSH_PROMISE;
            let before = match is_promised {
                true => PROMISED_BYTES,
                false if flags & flag::PRIORITY != 0 => PRIORITY_BYTES,
                false => 0,
            };
            if before > self.block.len() {
                return Some(Http2Frame::Lost);
            }
            self.block.drain(..before);
            self.open = Some((stream, flags & flag::END_STREAM != 0, is_promised));
        }
        if flags & flag::END_HEADERS == 0 {
            return None;
        }
        let (stream, is_last, is_promised) = self.open.take()?;
        match self.decoded() {
            None => Some(Http2Frame::Lost),
            Some(_) if is_promised => None,
            Some(fields) => Some(Http2Frame::Head { stream, fields, is_last }),
        }
    }

    fn decoded(&mut self) -> Option<Vec<Http2Field>> {
        let (mut fields, mut bytes) = (Vec::new(), 0);
        let block = std::mem::take(&mut self.block);
        let decoded = self.decoder.decode_with_cb(&block, |name, value| {
            // As RFC 9113 counts (section 6.5.2).
            bytes += name.len() + value.len() + 32;
            if bytes <= FIELDS_BYTES_MAX {
                fields.push((name.into_owned(), value.into_owned()));
            }
        });
        (decoded.is_ok() && bytes <= FIELDS_BYTES_MAX).then_some(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    /// What a side's bytes come to, content joined.
    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = Http2Reader::new(true);
        let mut all: Vec<String> = Vec::new();
        for piece in pieces {
            let mut bytes = *piece;
            loop {
                let (used, frame) = reader.step(bytes);
                bytes = &bytes[used..];
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                match frame {
                    Http2Frame::NeedInput => break,
                    Http2Frame::Head { stream, fields, is_last } => {
                        let fields: Vec<String> =
                            fields.iter().map(|(name, value)| text(name) + "=" + &text(value)).collect();
                        all.push(format!("{stream} {} {is_last}", fields.join(" ")));
                    }
                    Http2Frame::Content { stream, bytes } => match all.last_mut() {
                        Some(last) if last.starts_with(&format!("{stream}:")) => last.push_str(&text(bytes)),
                        _ => all.push(format!("{stream}:{}", text(bytes))),
                    },
                    Http2Frame::End { stream, is_reset } => all.push(format!("{stream} ends {is_reset}")),
                    Http2Frame::Lost => all.push("lost".to_owned()),
                }
            }
        }
        all
    }

    #[test]
    fn messages_come_out_at_every_cut() {
        // GET, http, /, and user-agent: probe, which is remembered as number 62.
        let first = [&[0x82, 0x86, 0x84, 0x40 | 58 & 0x3f, 5][..], b"probe"].concat();
        let padded = [&[2][..], b"content", &[0, 0]].concat();
        let all = [
            HTTP2_PREFACE.to_vec(),
            frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]),
            frame(kind::HEADERS, flag::PRIORITY, 1, &[&[0, 0, 0, 0, 9][..], &first[..4]].concat()),
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, &first[4..]),
            frame(kind::DATA, flag::PADDED, 1, &padded),
            frame(kind::DATA, flag::END_STREAM, 1, b" and more"),
            frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 3, &[0x83, 0xbe]),
            frame(kind::RST_STREAM, 0, 3, &[0, 0, 0, 8]),
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, &[]),
            b"whatever follows".to_vec(),
        ]
        .concat();
        let expected = [
            "1 :method=GET :scheme=http :path=/ user-agent=probe false",
            "1:content and more",
            "1 ends false",
            "3 :method=POST user-agent=probe true",
            "3 ends true",
            "lost",
        ];
        for cut in 0..all.len() {
            assert_eq!(read(&[&all[..cut], &all[cut..]]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = all.chunks(1).collect();
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn few_bytes_do_not_become_many() {
        let value = vec![b'a'; 200];
        let literal = [&[0x40, 1, b'x', 0x7f, (200 - 127) as u8][..], &value].concat();
        let mut all = [HTTP2_PREFACE.to_vec(), frame(kind::HEADERS, flag::END_HEADERS, 1, &literal)].concat();
        for _ in 0..4 {
            all.extend(frame(kind::HEADERS, 0, 3, &[]));
            (0..4).for_each(|_| all.extend(frame(kind::CONTINUATION, 0, 3, &[0xbe; 250])));
            all.extend(frame(kind::CONTINUATION, flag::END_HEADERS, 3, &[0xbe; 250]));
        }
        let read = read(&[&all]);
        assert_eq!((read.len(), read[1].as_str()), (2, "lost"), "1,250 fields of 233 bytes are too many");
    }
}
