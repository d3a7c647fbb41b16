//! A client's requests. Rule: the same frames at every cut, and what is written of them reads back as the same.
#![no_main]

use lockgate_fuzz::http::{End, Read, behind, kept, wide, write_body};
use lockgate_proto::http::{
    Disposition, Form, Framing, Limits, RequestHead, RequestReader, Scheme, Target, Url, strip_hop_by_hop,
    wants_close, write_request,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let small = Limits { head_bytes_max: 300, fields_max: 5, start_line_bytes_max: 60, ..Limits::default() };
    for limits in [Limits::default(), small] {
        let seen = read(Disposition::Passive, limits, [content]);
        assert_eq!(seen, read(Disposition::Passive, limits, pieces.iter().copied()));
        assert_eq!(seen.refused, None, "a spectator refuses nothing");
        let strict = read(Disposition::Strict, limits, [content]);
        assert_eq!(strict, read(Disposition::Strict, limits, pieces.iter().copied()));
        for form in [Form::Origin, Form::Absolute] {
            written(&strict, form);
        }
    }
});

fn read<'a>(
    disposition: Disposition,
    limits: Limits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Read<RequestHead> {
    let mut reader = RequestReader::new(disposition, limits);
    let mut read = Read::default();
    for mut chunk in chunks {
        loop {
            let step = reader.step(chunk);
            chunk = behind(chunk, &step);
            if !read.take(step.frame, reader.quirks()) {
                break;
            }
        }
    }
    read.has_begun = reader.has_begun();
    read
}

/// Each message that came whole is written alone, and is read as one.
fn written(read_once: &Read<RequestHead>, form: Form) {
    for message in &read_once.messages {
        let head = &message.head;
        // Only HTTP/1.0 leaves the host out; who relays that must say one.
        let names_host = head.fields.get("host").is_some() || matches!(head.target, Target::Absolute(_));
        if !matches!(message.end, End::End(_)) || !names_host {
            continue;
        }
        let mut stripped = head.fields.clone();
        strip_hop_by_hop(&mut stripped);
        assert!(stripped.get("connection").is_none() && stripped.len() <= head.fields.len());
        let mut bytes = Vec::new();
        write_request(head, form, message.framing, &mut bytes);
        write_body(message, &mut bytes);
        let again = read(Disposition::Strict, wide(), [bytes.as_slice()]);
        let [same] = again.messages.as_slice() else { panic!("{:?}", bytes.escape_ascii().to_string()) };
        assert!(matches!(&same.end, End::End(quirks) if quirks.is_empty()), "{same:?}");
        assert_eq!(
            (&same.body, &same.trailers, same.framing),
            (&message.body, &message.trailers, message.framing)
        );
        assert_eq!(same.head.method, head.method);
        assert_eq!(wants_close(&same.head.fields, head.version), wants_close(&head.fields, head.version));
        assert_eq!(same.head.expects_continue(), head.fields.list_has("expect", "100-continue"));
        let made = ["host", "content-length", "transfer-encoding"];
        assert_eq!(kept(&same.head.fields, &made), kept(&head.fields, &made));
        assert!(same.head.fields.all("content-length").count() <= 1);
        assert_ne!(same.framing, Framing::UntilClose);
        match &head.target {
            Target::Absolute(url) => {
                assert_eq!(same.head.url(url.scheme).as_ref(), Some(url));
                said(url);
            }
            Target::Origin(_) => assert_eq!(same.head.url(Scheme::Http), head.url(Scheme::Http)),
            other => assert_eq!(&same.head.target, other),
        }
    }
}

/// What stands in events can be read again, where nothing in it needs to be escaped there.
fn said(url: &Url) {
    let text = url.to_string();
    if !text.contains('\\') {
        assert_eq!(Url::parse(text.as_bytes()).as_ref(), Ok(url));
    }
}
