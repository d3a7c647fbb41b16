//! Towards the next hop: commands, and content in DATA form. Rule: what leaves here can be read in one way only.

use super::address::Path;
use super::capabilities::{Capabilities, Extension};
use super::command::Last;
use super::parameters::{Body, Keyword, Parameters};
use super::reply::Reply;
use crate::line_ends::{At, Refusal, Stop, plain_run};

/// Content in, the same with dots stuffed out (RFC 5321 section 4.5.2), mostly as slices of the input.
///
/// It refuses what [`Refusal`] names, since a server that takes a bare LF for a line end could read one mail as two.
#[derive(Clone, Debug)]
pub struct Stuffing {
    at: At,
    refusal: Option<Refusal>,
}

impl Stuffing {
    /// At the start of a mail.
    pub fn new() -> Self {
        Self { at: At::LineStart, refusal: None }
    }

    /// The pieces to write for these bytes. They end early at what is refused: look at [`Stuffing::refusal`] then.
    pub fn pieces<'s, 'a>(&'s mut self, content: &'a [u8]) -> Pieces<'s, 'a> {
        Pieces { stuffing: self, rest: content }
    }

    /// Why the mail cannot be sent as DATA; the connection must be dropped without the end.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// What ends the mail: the dot line, and before it the last CR LF where the content has none.
    pub fn end(&self) -> Result<&'static [u8], Refusal> {
        match (self.refusal, self.at) {
            (Some(refusal), _) => Err(refusal),
            (None, At::AfterCr) => Err(Refusal::BareCr),
            (None, At::LineStart) => Ok(b".\r\n"),
            (None, At::Within) => Ok(b"\r\n.\r\n"),
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
        if self.stuffing.refusal.is_some() {
            return None;
        }
        let (used, stop) = plain_run(self.rest, &mut self.stuffing.at);
        if used > 0 {
            let (piece, rest) = self.rest.split_at(used);
            self.rest = rest;
            return Some(piece);
        }
        self.stuffing.refusal = match stop {
            Stop::Input => None,
            Stop::Dot => {
                self.stuffing.at = At::Within;
                return Some(b".");
            }
            Stop::BareCr => Some(Refusal::BareCr),
            Stop::BareLf => Some(Refusal::BareLf),
            Stop::Nul => Some(Refusal::NulAtLineStart),
        };
        None
    }
}

/// `BDAT bytes` or `BDAT bytes LAST`.
pub fn bdat_line(bytes: u64, last: Last) -> Vec<u8> {
    match last {
        Last::Yes => format!("BDAT {bytes} LAST\r\n").into_bytes(),
        Last::No => format!("BDAT {bytes}\r\n").into_bytes(),
    }
}

/// `AUTH mechanism [initial]`, as the client gave it.
pub fn auth_line(mechanism: &str, initial: Option<&str>) -> Vec<u8> {
    match initial {
        Some(initial) => format!("AUTH {mechanism} {initial}\r\n").into_bytes(),
        None => format!("AUTH {mechanism}\r\n").into_bytes(),
    }
}

/// What becomes of a mail that the next hop has not announced to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EightBit {
    /// `BODY=8BITMIME` is refused where 8BITMIME is not announced.
    Refuse,
    /// The parameter is dropped and the mail sent as it is: every server in use takes eight bits.
    Pass,
}

/// `MAIL FROM` for a next hop, with the parameters that it announced.
///
/// SIZE and the DSN parameters are dropped where it did not; SMTPUTF8 cannot be dropped, the error is for the client
/// (RFC 6531 section 3.5).
pub fn mail_line(
    path: &Path,
    parameters: &Parameters,
    caps: &Capabilities,
    eight_bit: EightBit,
) -> Result<Vec<u8>, Reply> {
    let international = parameters.has_smtputf8() || path.address().is_some_and(|a| a.is_international());
    if international && !caps.has(Extension::Smtputf8) {
        return Err(Reply::new(
            550,
            "5.6.7",
            "the next server does not take internationalised mail (SMTPUTF8)",
        ));
    }
    let is_eight_bit = parameters.body() == Some(Body::EightBitMime);
    if is_eight_bit && eight_bit == EightBit::Refuse && !caps.has(Extension::EightBitMime) {
        return Err(Reply::new(550, "5.6.3", "the next server does not take 8-bit mail; send it encoded"));
    }
    Ok(line("MAIL FROM:", path, parameters, caps))
}

/// `RCPT TO` for a next hop, with the parameters that it announced.
pub fn rcpt_line(path: &Path, parameters: &Parameters, caps: &Capabilities) -> Result<Vec<u8>, Reply> {
    if path.address().is_some_and(|a| a.is_international()) && !caps.has(Extension::Smtputf8) {
        return Err(Reply::new(
            553,
            "5.6.7",
            "the next server does not take internationalised addresses (SMTPUTF8)",
        ));
    }
    Ok(line("RCPT TO:", path, parameters, caps))
}

fn line(verb: &str, path: &Path, parameters: &Parameters, caps: &Capabilities) -> Vec<u8> {
    let mut line = format!("{verb}<{}>", path.as_str());
    for (keyword, value) in parameters.iter() {
        if !caps.has(keyword.extension()) {
            continue;
        }
        // The type utf-8 needs SMTPUTF8 on both sides (RFC 6533 section 3); a line of ASCII stays one.
        let is_ascii = value.is_none_or(str::is_ascii);
        if keyword == Keyword::Orcpt && !is_ascii && !caps.has(Extension::Smtputf8) {
            continue;
        }
        line.push(' ');
        line.push_str(keyword.name());
        if let Some(value) = value {
            line.push('=');
            line.push_str(value);
        }
    }
    line.push_str("\r\n");
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smtp::command::Command;

    fn stuffed(chunks: &[&[u8]]) -> Result<Vec<u8>, Refusal> {
        let mut stuffing = Stuffing::new();
        let mut out = Vec::new();
        for chunk in chunks {
            stuffing.pieces(chunk).for_each(|piece| out.extend_from_slice(piece));
        }
        out.extend_from_slice(stuffing.end()?);
        Ok(out)
    }

    #[test]
    fn dots_are_stuffed_at_every_cut() {
        let long = [b"x".repeat(130), b"\r\n.".to_vec(), b"y".repeat(70), b"\r\n".to_vec()].concat();
        let long_stuffed =
            [b"x".repeat(130), b"\r\n..".to_vec(), b"y".repeat(70), b"\r\n.\r\n".to_vec()].concat();
        let cases: &[(&[u8], &[u8])] = &[
            (b"", b".\r\n"),
            (b"a", b"a\r\n.\r\n"),
            (b"a\r\n", b"a\r\n.\r\n"),
            (b".", b"..\r\n.\r\n"),
            (b".\r\n", b"..\r\n.\r\n"),
            (b"a\r\n.\r\n..b\r\nc.d\r\n", b"a\r\n..\r\n...b\r\nc.d\r\n.\r\n"),
            (&long, &long_stuffed),
        ];
        for (content, expected) in cases {
            assert_eq!(stuffed(&[content]).as_deref(), Ok(*expected));
            for cut in 0..=content.len() {
                let (a, b) = content.split_at(cut);
                assert_eq!(stuffed(&[a, b]).as_deref(), Ok(*expected), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_could_end_a_mail_early_is_refused() {
        let cases: &[(&[u8], Refusal)] = &[
            (b"a\n.\n", Refusal::BareLf),
            (b"a\r.\r", Refusal::BareCr),
            (b"a\n.\r\n", Refusal::BareLf),
            (b"a\r", Refusal::BareCr),
            (b"a\r\n\0.\r\n", Refusal::NulAtLineStart),
        ];
        for (content, refusal) in cases {
            for cut in 0..=content.len() {
                let (a, b) = content.split_at(cut);
                assert_eq!(stuffed(&[a, b]), Err(*refusal), "{content:?}");
            }
        }
    }

    #[test]
    fn lines_carry_what_was_announced() {
        let all = Capabilities::ours().with(Extension::Auth);
        let none = Capabilities::none();
        let cases = [
            (
                "MAIL FROM:<@x:a@b> SIZE=5 RET=FULL AUTH=<>",
                &all,
                "MAIL FROM:<a@b> SIZE=5 RET=FULL AUTH=<>\r\n",
            ),
            ("MAIL FROM:<a@b> SIZE=5 BODY=8BITMIME ENVID=x", &none, "MAIL FROM:<a@b>\r\n"),
            ("MAIL FROM:<> smtputf8", &all, "MAIL FROM:<> SMTPUTF8\r\n"),
            ("RCPT TO:a@b notify=never", &all, "RCPT TO:<a@b> NOTIFY=never\r\n"),
            ("RCPT TO:<a@b> NOTIFY=NEVER ORCPT=rfc822;c", &none, "RCPT TO:<a@b>\r\n"),
        ];
        for (text, caps, expected) in cases {
            let line = match Command::parse(text.as_bytes()).expect(text) {
                Command::Mail { path, parameters } => mail_line(&path, &parameters, caps, EightBit::Pass),
                Command::Rcpt { path, parameters } => rcpt_line(&path, &parameters, caps),
                other => panic!("{other:?}"),
            };
            assert_eq!(line.as_deref(), Ok(expected.as_bytes()));
        }
    }

    #[test]
    fn what_cannot_be_dropped_is_refused() {
        let none = Capabilities::none();
        for (text, code) in [
            ("MAIL FROM:<a@b> SMTPUTF8", 550),
            ("MAIL FROM:<ü@b>", 550),
            ("MAIL FROM:<a@b> BODY=8BITMIME", 550),
            ("RCPT TO:<ü@b>", 553),
        ] {
            let reply = match Command::parse(text.as_bytes()).expect(text) {
                Command::Mail { path, parameters } => mail_line(&path, &parameters, &none, EightBit::Refuse),
                Command::Rcpt { path, parameters } => rcpt_line(&path, &parameters, &none),
                other => panic!("{other:?}"),
            };
            assert_eq!(reply.expect_err(text).code(), code, "{text}");
        }
    }

    #[test]
    fn chunks_are_announced() {
        assert_eq!(bdat_line(0, Last::Yes), b"BDAT 0 LAST\r\n");
        assert_eq!(bdat_line(u64::MAX, Last::No), b"BDAT 18446744073709551615\r\n");
    }
}
