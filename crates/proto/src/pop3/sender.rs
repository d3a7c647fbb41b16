//! A mail towards a POP3 client, dots stuffed. Rule: every line ends with CR LF, so that all readers see the same end.

use super::receiver::Status;
use crate::line_ends::{At, Stop, plain_run};

/// Content in, the same as a multi-line reply out (RFC 1939 section 3), mostly as slices of the input.
///
/// A bare LF becomes CR LF: a client that takes LF for a line end would take LF . LF for the end of the mail, and what
/// follows for replies that nobody inspected as such. A bare CR passes; no client takes it for a line end.
#[derive(Clone, Debug)]
pub struct Stuffing {
    at: At,
}

impl Stuffing {
    /// At the start of a mail.
    pub fn new() -> Self {
        Self { at: At::LineStart }
    }

    /// The pieces to write for these bytes.
    pub fn pieces<'s, 'a>(&'s mut self, content: &'a [u8]) -> Pieces<'s, 'a> {
        Pieces { stuffing: self, rest: content }
    }

    /// What ends the reply: the dot line, and before it a line end where the content has none.
    pub fn end(&self) -> &'static [u8] {
        match self.at {
            At::LineStart => b".\r\n",
            At::Within => b"\r\n.\r\n",
            At::AfterCr => b"\n.\r\n",
        }
    }
}

impl Default for Stuffing {
    fn default() -> Self {
        Self::new()
    }
}

/// Pieces of one chunk; see [`Stuffing::pieces`]. Use all of them, or the state is not that of the whole chunk.
#[derive(Debug)]
pub struct Pieces<'s, 'a> {
    stuffing: &'s mut Stuffing,
    rest: &'a [u8],
}

impl<'a> Iterator for Pieces<'_, 'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (used, stop) = plain_run(self.rest, &mut self.stuffing.at);
            if used > 0 {
                let (piece, rest) = self.rest.split_at(used);
                self.rest = rest;
                return Some(piece);
            }
            match stop {
                Stop::Input => return None,
                Stop::Dot => {
                    self.stuffing.at = At::Within;
                    return Some(b".");
                }
                Stop::BareLf => {
                    self.rest = self.rest.get(1..).unwrap_or_default();
                    self.stuffing.at = At::LineStart;
                    return Some(b"\r\n");
                }
                Stop::BareCr => self.stuffing.at = At::Within,
                Stop::Nul => {
                    // A client that drops NULs must not find a dot at the start of the line.
                    let nuls = self.rest.iter().take_while(|b| **b == 0).count();
                    self.rest = self.rest.get(nuls..).unwrap_or_default();
                }
            }
        }
    }
}

/// A status line of ours, with its CR LF; control characters are replaced, and long text is cut off.
pub fn status_line(status: Status, text: &str) -> Vec<u8> {
    let word = match status {
        Status::Ok => "+OK",
        Status::Err => "-ERR",
        Status::Continue => "+",
    };
    // RFC 2449 section 4: 512 bytes with all.
    let clean = text.chars().map(|c| if c.is_control() { '?' } else { c });
    let mut line = format!("{word} ");
    for c in clean {
        if line.len() + c.len_utf8() > 510 {
            break;
        }
        line.push(c);
    }
    line.push_str("\r\n");
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuffed(chunks: &[&[u8]]) -> Vec<u8> {
        let mut stuffing = Stuffing::new();
        let mut out = Vec::new();
        for chunk in chunks {
            stuffing.pieces(chunk).for_each(|piece| out.extend_from_slice(piece));
        }
        out.extend_from_slice(stuffing.end());
        out
    }

    #[test]
    fn lines_are_stuffed_and_ended_at_every_cut() {
        let cases: &[(&[u8], &[u8])] = &[
            (b"", b".\r\n"),
            (b"a", b"a\r\n.\r\n"),
            (b"a\r\n", b"a\r\n.\r\n"),
            (b"a\r", b"a\r\n.\r\n"),
            (b".\r\n..\r\n", b"..\r\n...\r\n.\r\n"),
            (b"a\n.\nb", b"a\r\n..\r\nb\r\n.\r\n"),
            (b"\n.\r\n+OK", b"\r\n..\r\n+OK\r\n.\r\n"),
            (b"\n\n", b"\r\n\r\n.\r\n"),
            (b"a\rb\r\r\n", b"a\rb\r\r\n.\r\n"),
            (b"a\r\n\0\0.\r\nb\0c", b"a\r\n..\r\nb\0c\r\n.\r\n"),
        ];
        for (content, expected) in cases {
            assert_eq!(stuffed(&[content]), *expected, "{}", content.escape_ascii());
            for cut in 0..=content.len() {
                let (a, b) = content.split_at(cut);
                assert_eq!(stuffed(&[a, b]), *expected, "cut at {cut} of {}", content.escape_ascii());
            }
        }
    }

    #[test]
    fn status_lines_stay_lines() {
        assert_eq!(status_line(Status::Err, "no\r\n+OK"), b"-ERR no??+OK\r\n");
        assert_eq!(status_line(Status::Ok, &"é".repeat(999)).len(), 512);
    }
}
