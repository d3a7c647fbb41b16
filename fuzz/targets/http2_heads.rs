//! Heads of HTTP/2. Rule: what is taken is, written as HTTP/1, one message with the same meaning; and what leaves by HTTP/2
//! is taken again.
#![no_main]

use lockgate_fuzz::http::wide;
use lockgate_proto::http::{
    Disposition, Fields, Follows, Form, Frame, Framing, Limits, Pseudo, RequestHead, RequestReader,
    ResponseHead, ResponseReader, Scheme, Target, authority_of, may_leave_by_http2, request_from_http2,
    response_from_http2, write_request, write_response,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, input)) = input.split_first() else { return };
    let follows = if first & 1 == 0 { Follows::Nothing } else { Follows::Content };
    // Method, scheme, authority, path, then names and values, with a byte between them that UTF-8 never has.
    let mut words = input.split(|byte| *byte == 0xff);
    let mut word = || words.next().unwrap_or_default();
    let (method, scheme, authority, path) = (word(), word(), word(), word());
    let given = |bit: u8, word| (first & bit == 0).then_some(word);
    let pseudo =
        Pseudo { method, scheme: given(2, scheme), authority: given(4, authority), path: given(8, path) };
    let mut fields = Fields::new();
    while let Some(name) = words.next() {
        fields.push(name, words.next().unwrap_or_default());
    }
    let small = Limits { head_bytes_max: 300, fields_max: 5, start_line_bytes_max: 60, ..Limits::default() };
    for limits in [Limits::default(), small] {
        if let Ok((head, framing)) = request_from_http2(pseudo, fields.clone(), follows, &limits) {
            request(&head, framing, follows);
        }
        let status = u16::from(*first) * 5;
        if let Ok((head, framing)) = response_from_http2(status, fields.clone(), follows, method, &limits) {
            response(&head, framing, method);
        }
    }
});

fn request(head: &RequestHead, framing: Framing, follows: Follows) {
    let mut bytes = Vec::new();
    write_request(head, Form::Origin, framing, &mut bytes);
    let mut reader = RequestReader::new(Disposition::Strict, wide());
    let step = reader.step(&bytes);
    // A star names no host but by its field, which may be left to `:authority`.
    if head.target == Target::Asterisk && head.fields.get("host").is_none() {
        return;
    }
    let Frame::Head(same, same_framing) = step.frame else {
        panic!("{:?}: {}", step.frame, bytes.escape_ascii())
    };
    assert_eq!(step.consumed, bytes.len(), "nothing is left to be another message");
    assert!(reader.quirks().is_empty(), "{:?}", reader.quirks());
    assert_eq!((&same.method, same_framing), (&head.method, framing));
    match &head.target {
        Target::Absolute(url) => assert_eq!(same.url(url.scheme).as_ref(), Some(url)),
        other => assert_eq!(&same.target, other),
    }
    assert_eq!(kept(&same.fields), kept(&head.fields));
    again(head, follows);
}

/// As it would leave by HTTP/2.
fn again(head: &RequestHead, follows: Follows) {
    let (scheme, path) = match &head.target {
        Target::Absolute(url) => (url.scheme, url.path.clone()),
        _ => (Scheme::Https, b"*".to_vec()),
    };
    if matches!(head.target, Target::Authority { .. }) {
        return;
    }
    let authority = authority_of(head, scheme).expect("it names a host");
    let fields: Fields = head.fields.iter().filter(|(name, _)| may_leave_by_http2(name)).collect();
    let pseudo = Pseudo {
        method: &head.method,
        scheme: Some(scheme.name().as_bytes()),
        authority: Some(authority.as_bytes()),
        path: Some(&path),
    };
    let (same, _) = request_from_http2(pseudo, fields, follows, &wide()).expect("it was taken before");
    assert_eq!(same.target, head.target);
    assert_eq!(kept(&same.fields), kept(&head.fields));
}

fn response(head: &ResponseHead, framing: Framing, method: &[u8]) {
    let mut bytes = Vec::new();
    write_response(head, framing, &mut bytes);
    let mut reader = ResponseReader::new(Disposition::Strict, wide());
    reader.expect(method);
    let step = reader.step(&bytes);
    let Frame::Head(same, same_framing) = step.frame else {
        panic!("{:?}: {}", step.frame, bytes.escape_ascii())
    };
    assert_eq!(step.consumed, bytes.len(), "nothing is left to be another message");
    assert_eq!(same.status, head.status);
    assert!(same_framing == framing || method == b"CONNECT", "{same_framing:?} {framing:?}");
    assert_eq!(kept(&same.fields), kept(&head.fields));
}

/// Fields that are not made anew.
fn kept(fields: &Fields) -> Vec<(Vec<u8>, Vec<u8>)> {
    let all = fields.iter().filter(|(name, _)| may_leave_by_http2(name));
    all.map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec())).collect()
}
