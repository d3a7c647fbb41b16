//! The receiver at every cut, and every false end of data. Rule: one mail stays one mail.

use super::*;
use proptest::prelude::*;

/// What a whole input came to, with content joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    events: Vec<Event>,
}

#[derive(Debug, PartialEq, Eq)]
enum Event {
    Line(Vec<u8>),
    BadLine(BadLine),
    Content(Vec<u8>),
    End,
    Refused(Refusal),
}

impl Seen {
    /// Drives a receiver; after each command line `DATA` or `BDAT n` it awaits content.
    fn new(pieces: &[&[u8]], line_ends: LineEnds) -> Self {
        let mut receiver = Receiver::new(Limits { command_line_bytes_max: 64, ..Limits::default() });
        let mut seen = Self::default();
        for piece in pieces {
            let mut rest = *piece;
            loop {
                let Step { consumed, frame } = receiver.step(rest);
                rest = &rest[consumed..];
                match frame {
                    Frame::NeedInput => break,
                    Frame::Line(line) => {
                        if line == b"DATA" {
                            receiver.expect_data(line_ends);
                        }
                        if let Some(size) = line.strip_prefix(b"BDAT ") {
                            let size = std::str::from_utf8(size).expect("digits").parse().expect("a size");
                            receiver.expect_chunk(size);
                        }
                        seen.events.push(Event::Line(line));
                    }
                    Frame::BadLine(why) => seen.events.push(Event::BadLine(why)),
                    Frame::Content(content) => seen.content(content),
                    Frame::EndOfContent => seen.events.push(Event::End),
                    Frame::Refused(why) => seen.events.push(Event::Refused(why)),
                }
            }
            assert!(rest.is_empty(), "all input is used");
        }
        seen
    }

    fn content(&mut self, content: &[u8]) {
        match self.events.last_mut() {
            Some(Event::Content(before)) => before.extend_from_slice(content),
            _ => self.events.push(Event::Content(content.to_vec())),
        }
    }

    /// Content that was seen before a refusal depends on the cut only in how it is told, not in what it is.
    fn at_every_cut(input: &[u8], line_ends: LineEnds) -> Self {
        let whole = Self::new(&[input], line_ends);
        for cut in 0..=input.len() {
            let (a, b) = input.split_at(cut);
            assert_eq!(Self::new(&[a, b], line_ends), whole, "cut at {cut} of {}", input.escape_ascii());
        }
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(Self::new(&bytes, line_ends), whole, "byte by byte");
        whole
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.events
            .iter()
            .filter_map(|e| if let Event::Line(line) = e { Some(&line[..]) } else { None })
            .collect()
    }

    fn contents(&self) -> Vec<u8> {
        let contents =
            self.events.iter().filter_map(|e| if let Event::Content(c) = e { Some(&c[..]) } else { None });
        contents.collect::<Vec<_>>().concat()
    }
}

#[test]
fn a_session_is_framed() {
    let input =
        b"NOOP\r\nDATA\r\nA: b\r\n\r\n..\r\n.x\r\na.b\r\n.\r\nBDAT 5\r\n.\r\nab\r\nBDAT 0\r\nQUIT\r\n";
    let seen = Seen::at_every_cut(input, LineEnds::Refuse);
    let expected = [
        Event::Line(b"NOOP".to_vec()),
        Event::Line(b"DATA".to_vec()),
        Event::Content(b"A: b\r\n\r\n.\r\nx\r\na.b\r\n".to_vec()),
        Event::End,
        Event::Line(b"BDAT 5".to_vec()),
        Event::Content(b".\r\nab".to_vec()),
        Event::End,
        Event::Line(b"".to_vec()),
        Event::Line(b"BDAT 0".to_vec()),
        Event::End,
        Event::Line(b"QUIT".to_vec()),
    ];
    assert_eq!(seen.events, expected);
}

#[test]
fn an_empty_mail_ends() {
    let seen = Seen::at_every_cut(b"DATA\r\n.\r\nQUIT\r\n", LineEnds::Refuse);
    assert_eq!(seen.events, [Event::Line(b"DATA".to_vec()), Event::End, Event::Line(b"QUIT".to_vec())]);
}

#[test]
fn bad_lines_are_answered_once_and_left_behind() {
    let long = [b"NOOP ".as_slice(), &[b'x'; 200], b"\r\nQUIT\r\n"].concat();
    let fits = [b"NOOP ".as_slice(), &[b'x'; 57], b"\r\nQUIT\r\n"].concat();
    let cases: &[(&[u8], Option<BadLine>)] = &[
        (&long, Some(BadLine::TooLong)),
        (&fits, None),
        (b"NOOP\nQUIT\r\n", Some(BadLine::BareLf)),
        (b"NO\rOP\r\nQUIT\r\n", Some(BadLine::BareCr)),
        (b"NOOP\r\r\nQUIT\r\n", Some(BadLine::BareCr)),
        (b"NO\0OP\r\nQUIT\r\n", Some(BadLine::Nul)),
    ];
    for (input, expected) in cases {
        let seen = Seen::at_every_cut(input, LineEnds::Refuse);
        assert_eq!(seen.events.len(), 2);
        assert_eq!(seen.events[1], Event::Line(b"QUIT".to_vec()));
        match expected {
            Some(why) => assert_eq!(seen.events[0], Event::BadLine(*why)),
            None => assert!(matches!(seen.events[0], Event::Line(_))),
        }
    }
}

/// Strings of up to `length` pieces around and before a dot.
fn permutations(pieces: &[&[u8]], length: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last.iter().flat_map(|head| pieces.iter().map(move |p| [head, *p].concat())).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Whether somebody who takes each CR, LF, CR LF for a line end, and drops NULs, sees a line with only a dot.
fn lenient_reader_sees_end(content: &[u8]) -> bool {
    let text: Vec<u8> = content.iter().copied().filter(|b| *b != 0).collect();
    text.split(|b| *b == b'\r' || *b == b'\n').any(|line| line == b".")
}

#[test]
fn only_crlf_dot_crlf_ends_a_mail() {
    let around = permutations(&[b"\r", b"\n", b"\0", b"\r\n"], 3);
    for before in &around {
        for behind in &around {
            let variant = [b"text".as_slice(), before, b".", behind].concat();
            let is_end = before.ends_with(b"\r\n") && behind.starts_with(b"\r\n");
            let input = [b"DATA\r\n".as_slice(), &variant, b"MAIL FROM:<evil@x>\r\n.\r\nQUIT\r\n"].concat();
            let seen = Seen::at_every_cut(&input, LineEnds::Refuse);
            let ends = seen.events.iter().filter(|e| **e == Event::End).count();
            assert_eq!(ends, 1, "{}", variant.escape_ascii());
            let injected = seen.lines().iter().any(|l| l.starts_with(b"MAIL"));
            assert!(!injected || is_end, "{}", variant.escape_ascii());
            // What was let through before a refusal holds no end for anyone, once stuffed again.
            let mut stuffing = crate::smtp::Stuffing::new();
            let sent: Vec<u8> = stuffing.pieces(&seen.contents()).collect::<Vec<_>>().concat();
            assert!(!lenient_reader_sees_end(&sent), "{} as {}", variant.escape_ascii(), sent.escape_ascii());
        }
    }
}

#[test]
fn a_refused_mail_is_swallowed_to_its_end() {
    let input = b"DATA\r\na\nb\r\n.\n.\r\nMAIL\r\n.\r\nQUIT\r\n";
    let seen = Seen::at_every_cut(input, LineEnds::Refuse);
    let expected = [
        Event::Line(b"DATA".to_vec()),
        Event::Content(b"a".to_vec()),
        Event::Refused(Refusal::BareLf),
        Event::End,
        Event::Line(b"QUIT".to_vec()),
    ];
    assert_eq!(seen.events, expected);
}

#[test]
fn passed_content_is_whole() {
    let cases: &[(&[u8], &[u8])] = &[
        (b"a\nb\rc\r\n", b"a\nb\rc\r\n"),
        (b"\n.\n\r\n", b"\n.\n\r\n"),
        (b".\rx\r\n", b"\rx\r\n"),
        (b".\r\r\n", b"\r\r\n"),
        (b".\r.\r\n", b"\r.\r\n"),
        (b"..\r\n", b".\r\n"),
        (b".\nx\r\n", b"\nx\r\n"),
        (b"\0.\r\n", b"\0.\r\n"),
        (b".\0\r\n", b"\0\r\n"),
        (b"\r\r\n", b"\r\r\n"),
    ];
    for (sent, expected) in cases {
        let input = [b"DATA\r\n".as_slice(), sent, b".\r\nQUIT\r\n"].concat();
        let seen = Seen::at_every_cut(&input, LineEnds::Pass);
        assert_eq!(seen.contents(), *expected, "{}", sent.escape_ascii());
        assert_eq!(seen.lines(), [b"DATA", b"QUIT"], "{}", sent.escape_ascii());
    }
}

#[test]
fn passed_content_is_noted() {
    let mut receiver = Receiver::new(Limits::default());
    receiver.expect_data(LineEnds::Pass);
    let mut rest: &[u8] = b"a\nb\rc";
    while !rest.is_empty() {
        rest = &rest[receiver.step(rest).consumed..];
    }
    assert_eq!(receiver.noted(), Some(Refusal::BareLf));
    receiver.expect_data(LineEnds::Pass);
    assert_eq!(receiver.noted(), None);
}

#[test]
fn long_lines_have_a_limit_where_one_is_set() {
    for (length, refused) in [(98, false), (99, true), (300, true)] {
        for cut in [0, 1, 50, 98] {
            let mut receiver = Receiver::new(Limits { text_line_bytes_max: 100, ..Limits::default() });
            receiver.expect_data(LineEnds::Refuse);
            let mail = [b"x\r\n".as_slice(), &vec![b'y'; length], b"\r\nz\r\n.\r\n"].concat();
            let mut frames = Vec::new();
            for piece in [&mail[..cut], &mail[cut..]] {
                let mut rest = piece;
                loop {
                    let step = receiver.step(rest);
                    rest = &rest[step.consumed..];
                    if step.frame == Frame::NeedInput {
                        break;
                    }
                    frames.push(step.frame);
                    if frames.last() == Some(&Frame::EndOfContent) {
                        break;
                    }
                }
            }
            assert_eq!(frames.contains(&Frame::Refused(Refusal::LongLine)), refused, "{length} {cut}");
            assert_eq!(frames.last(), Some(&Frame::EndOfContent));
        }
    }
}

#[test]
fn what_stands_before_tls_is_forgotten() {
    let mut receiver = Receiver::new(Limits::default());
    assert_eq!(receiver.step(b"EHLO evil").frame, Frame::NeedInput);
    receiver.discard_pending();
    assert_eq!(receiver.step(b"EHLO good\r\n").frame, Frame::Line(b"EHLO good".to_vec()));
}

#[test]
fn auth_lines_have_a_limit_of_their_own() {
    let mut receiver = Receiver::new(Limits::default());
    let line = [vec![b'A'; 5000], b"\r\n".to_vec()].concat();
    assert_eq!(receiver.step(&line).frame, Frame::BadLine(BadLine::TooLong));
    receiver.expect_auth_line();
    assert!(matches!(receiver.step(&line).frame, Frame::Line(_)));
    receiver.expect_commands();
    assert_eq!(receiver.step(&line).frame, Frame::BadLine(BadLine::TooLong));
}

/// Content of well-formed lines, some of them long, many with dots.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just(b".".to_vec()),
        Just(b"..".to_vec()),
        Just(b"".to_vec()),
        prop::collection::vec(prop::sample::select(&b"ab.\0\x80 "[..]), 1..150).prop_map(|mut l| {
            if l[0] == 0 {
                l[0] = b'x';
            }
            l
        }),
    ];
    prop::collection::vec(line, 0..12)
        .prop_map(|lines| lines.iter().flat_map(|l| [l, &b"\r\n"[..]].concat()).collect())
}

proptest! {
    #[test]
    fn stuffing_and_receiving_are_inverse(content in content(), seed in any::<u64>()) {
        let mut stuffing = crate::smtp::Stuffing::new();
        let mut wire = b"DATA\r\n".to_vec();
        stuffing.pieces(&content).for_each(|p| wire.extend_from_slice(p));
        wire.extend_from_slice(stuffing.end().expect("well formed"));
        wire.extend_from_slice(b"QUIT\r\n");
        let mut pieces = Vec::new();
        let (mut rest, mut random) = (&wire[..], seed | 1);
        while !rest.is_empty() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (piece, next) = rest.split_at(rest.len().min(1 + (random >> 33) as usize % 90));
            pieces.push(piece);
            rest = next;
        }
        let seen = Seen::new(&pieces, LineEnds::Refuse);
        prop_assert_eq!(seen.contents(), content);
        prop_assert_eq!(seen.lines(), [b"DATA", b"QUIT"]);
    }
}
