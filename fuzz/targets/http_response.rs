//! A server's responses to methods. Rule: the same frames at every cut, and what is written reads back as the same.
#![no_main]

use lockgate_fuzz::http::{End, Message, Read, behind, kept, wide, write_body};
use lockgate_proto::http::{
    Disposition, Eof, Frame, Framing, Limits, ResponseHead, ResponseReader, write_response,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((methods, responses)) = lockgate_fuzz::halves(input) else { return };
    let Some((content, pieces)) = lockgate_fuzz::cut(responses) else { return };
    let small = Limits { head_bytes_max: 300, fields_max: 5, start_line_bytes_max: 60, ..Limits::default() };
    for limits in [Limits::default(), small] {
        let seen = read(Disposition::Passive, limits, methods, [content]);
        assert_eq!(seen, read(Disposition::Passive, limits, methods, pieces.iter().copied()));
        assert_eq!(seen.0.refused, None, "a spectator refuses nothing");
        let strict = read(Disposition::Strict, limits, methods, [content]);
        assert_eq!(strict, read(Disposition::Strict, limits, methods, pieces.iter().copied()));
        written(&strict.0, strict.1, methods);
    }
});

fn read<'a>(
    disposition: Disposition,
    limits: Limits,
    methods: &str,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Read<ResponseHead>, Eof) {
    let mut reader = ResponseReader::new(disposition, limits);
    let mut methods = methods.lines();
    let mut read = Read::default();
    reader.expect(methods.next().unwrap_or_default().as_bytes());
    for mut chunk in chunks {
        loop {
            let step = reader.step(chunk);
            chunk = behind(chunk, &step);
            let ends = step.frame == Frame::End;
            if !read.take(step.frame, reader.quirks()) {
                break;
            }
            if ends && read.messages.last().is_some_and(|message| !message.head.is_interim()) {
                reader.expect(methods.next().unwrap_or_default().as_bytes());
            }
        }
    }
    read.has_begun = reader.has_begun();
    let eof = reader.eof();
    assert!(read.refused.is_none() || !reader.keeps_alive() || reader.has_begun());
    (read, eof)
}

/// Each message that came whole is written alone, and is read as one.
fn written(read_once: &Read<ResponseHead>, eof: Eof, methods: &str) {
    let mut methods = methods.lines();
    let mut method = methods.next().unwrap_or_default();
    for message in &read_once.messages {
        let until_close = message.framing == Framing::UntilClose;
        let whole = if until_close { eof == Eof::Complete } else { matches!(message.end, End::End(_)) };
        if whole {
            same(message, method);
        }
        if !message.head.is_interim() {
            method = methods.next().unwrap_or_default();
        }
    }
}

fn same(message: &Message<ResponseHead>, method: &str) {
    let mut bytes = Vec::new();
    write_response(&message.head, message.framing, &mut bytes);
    write_body(message, &mut bytes);
    let (again, eof) = read(Disposition::Strict, wide(), method, [bytes.as_slice()]);
    assert_eq!(eof, Eof::Complete);
    let [same] = again.messages.as_slice() else { panic!("{:?}", bytes.escape_ascii().to_string()) };
    assert_eq!(
        (&same.body, &same.trailers, same.framing),
        (&message.body, &message.trailers, message.framing)
    );
    assert_eq!((same.head.status, &same.head.reason), (message.head.status, &message.head.reason));
    assert!(!matches!(&same.end, End::End(quirks) if !quirks.is_empty()), "{same:?}");
    let made: &[&str] = match message.framing {
        Framing::UntilClose => &["content-length", "transfer-encoding", "connection"],
        _ => &["content-length", "transfer-encoding"],
    };
    assert_eq!(kept(&same.head.fields, made), kept(&message.head.fields, made));
}
