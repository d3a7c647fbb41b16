//! Text of several sorts. Rule: conservative; what looks like nothing in particular is text, or data.

use super::Test::Look;
use super::{Rule, Says, Seen};
use lockgate_model::FileType::{Html, Mail, Mbox, Pdf, Script, Text};

/// In order of precedence, behind all magic numbers.
pub(super) const RULES: &[Rule] = &[
    Rule { file_type: Html, asks: Look(html) },
    Rule { file_type: Html, asks: Look(xml_page) },
    Rule { file_type: Script, asks: Look(script) },
    Rule { file_type: Mbox, asks: Look(mailbox) },
    Rule { file_type: Mail, asks: Look(mail) },
    Rule { file_type: Pdf, asks: Look(late_pdf) },
    Rule { file_type: Text, asks: Look(yenc) },
    Rule { file_type: Text, asks: Look(text) },
];

/// Tags that a browser takes for the beginning of a page.
const TAGS: &[&[u8]] = &[
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<body",
    b"<title",
    b"<meta",
    b"<script",
    b"<iframe",
    b"<style",
    b"<table",
    b"<div",
    b"<font",
    b"<h1",
    b"<br",
    b"<p>",
    b"<a ",
    b"<!--",
    b"<svg",
];

/// Beginnings of what an interpreter runs.
const SCRIPTS: &[&[u8]] =
    &[b"#!", b"<?php", b"<%", b"@echo ", b"<job", b"<package>", b"on error resume next", b"#@~^"];

/// Header fields that begin a stored mail and hardly anything else.
const FIELDS_FIRST: &[&[u8]] = &[
    b"received:",
    b"return-path:",
    b"delivered-to:",
    b"envelope-to:",
    b"message-id:",
    b"mime-version:",
    b"dkim-signature:",
    b"authentication-results:",
    b"arc-seal:",
    b"x-original-to:",
    b"x-mozilla-status:",
];

/// Header fields that a mail has, and that other text may begin with as well: two of them make a mail.
const FIELDS_ANY: &[&[u8]] = &[
    b"from:",
    b"to:",
    b"cc:",
    b"date:",
    b"subject:",
    b"sender:",
    b"reply-to:",
    b"content-type:",
    b"content-transfer-encoding:",
    b"user-agent:",
    b"x-mailer:",
];

fn html(bytes: &[u8], _: Seen) -> Says {
    begins(bytes, TAGS)
}

/// Drawings and pages that begin as XML: browsers run what is in them.
fn xml_page(bytes: &[u8], seen: Seen) -> Says {
    match begins(bytes, &[b"<?xml"]) {
        Says::Yes => {}
        other => return other,
    }
    let is_page = |tag: &[u8]| bytes.windows(tag.len()).any(|window| window.eq_ignore_ascii_case(tag));
    if [&b"<svg"[..], b"<html", b"<!doctype html"].into_iter().any(is_page) {
        Says::Yes
    } else if seen == Seen::Whole {
        Says::No
    } else {
        Says::Perhaps
    }
}

fn script(bytes: &[u8], _: Seen) -> Says {
    begins(bytes, SCRIPTS)
}

/// A mail behind the line that mbox puts before each.
fn mailbox(bytes: &[u8], seen: Seen) -> Says {
    const FROM: &[u8] = b"From ";
    if bytes.starts_with(FROM) {
        return mail(bytes, seen);
    }
    if FROM.starts_with(bytes) { Says::Perhaps } else { Says::No }
}

/// yEnc is text for those who look into it, though most bytes are none that text has.
fn yenc(bytes: &[u8], seen: Seen) -> Says {
    const BEGIN: &[u8] = b"=ybegin ";
    let is_begin = |at: usize| at == 0 || bytes[at - 1] == b'\n';
    if memchr::memmem::find_iter(bytes, BEGIN).any(is_begin) {
        Says::Yes
    } else if seen == Seen::Whole {
        Says::No
    } else {
        Says::Perhaps
    }
}

/// One header field that says it all, or two that mails have among the first lines, and every line a field.
fn mail(bytes: &[u8], seen: Seen) -> Says {
    let mut known = 0;
    let mut lines = Lines { rest: bytes, seen };
    if bytes.starts_with(b"From ") || bytes.starts_with(b">From ") {
        // The line that mbox puts before each mail.
        match lines.next() {
            Some(_) => {}
            None => return if seen == Seen::Prefix { Says::Perhaps } else { Says::No },
        }
    } else if b">From ".starts_with(bytes) || b"From ".starts_with(bytes) {
        return Says::Perhaps;
    }
    for line in lines.by_ref() {
        match first_of(line) {
            Field::First => return Says::Yes,
            Field::Any => known += 1,
            Field::Other | Field::Folded => {}
            Field::None => return Says::No,
        }
        if known == 2 {
            return Says::Yes;
        }
    }
    if seen == Seen::Whole || !may_be_field(lines.rest) { Says::No } else { Says::Perhaps }
}

/// Whole lines, as far as they are there; at the end of the part also the last without its line end.
struct Lines<'a> {
    rest: &'a [u8],
    seen: Seen,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let Some(at) = memchr::memchr(b'\n', self.rest) else {
            let is_last = self.seen == Seen::Whole && !self.rest.is_empty();
            return is_last.then(|| std::mem::take(&mut self.rest));
        };
        let (line, rest) = self.rest.split_at(at);
        self.rest = &rest[1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

enum Field {
    First,
    Any,
    Other,
    Folded,
    None,
}

fn first_of(line: &[u8]) -> Field {
    let starts = |names: &[&[u8]]| {
        names.iter().any(|n| line.get(..n.len()).is_some_and(|start| start.eq_ignore_ascii_case(n)))
    };
    if starts(FIELDS_FIRST) {
        return Field::First;
    }
    if starts(FIELDS_ANY) {
        return Field::Any;
    }
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Field::Folded;
    }
    match memchr::memchr(b':', line) {
        Some(at) if at > 0 && line[..at].iter().all(|b| b.is_ascii_graphic()) => Field::Other,
        _ => Field::None,
    }
}

/// Whether a line that has begun may still become a header field.
fn may_be_field(line: &[u8]) -> bool {
    let name = memchr::memchr(b':', line).map_or(line, |at| &line[..at]);
    matches!(line.first(), None | Some(b' ' | b'\t'))
        || name.iter().all(|b| b.is_ascii_graphic() || *b == b'\r')
}

/// Readers take a PDF whose header stands anywhere in the first 1,024 bytes.
fn late_pdf(bytes: &[u8], seen: Seen) -> Says {
    if memchr::memmem::find(bytes, b"%PDF-").is_some() {
        Says::Yes
    } else if seen == Seen::Whole {
        Says::No
    } else {
        Says::Perhaps
    }
}

/// No control characters but those that text has. Bytes above ASCII may be any character set.
fn text(bytes: &[u8], _: Seen) -> Says {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Says::Yes;
    }
    Says::when(!bytes.iter().any(|b| matches!(b, 0..=6 | 14..=26 | 28..=31 | 127)))
}

/// Whether it begins with one of these, behind a byte order mark and white space.
fn begins(bytes: &[u8], prefixes: &[&[u8]]) -> Says {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.len() < MARK.len() && MARK.starts_with(bytes) {
        return Says::Perhaps;
    }
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let blank = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
    any_prefix(&bytes[blank..], prefixes)
}

/// Whether it begins with one of these, in either case.
fn any_prefix(bytes: &[u8], prefixes: &[&[u8]]) -> Says {
    let mut says = Says::No;
    for prefix in prefixes {
        let length = bytes.len().min(prefix.len());
        if bytes[..length].eq_ignore_ascii_case(&prefix[..length]) {
            if length == prefix.len() {
                return Says::Yes;
            }
            says = Says::Perhaps;
        }
    }
    says
}
