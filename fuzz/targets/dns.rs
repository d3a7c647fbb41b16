//! DNS in datagrams and in streams. Rule: the same messages at every cut, and none larger than it may be.
#![no_main]

use lockgate_proto::Side;
use lockgate_proto::dns::{
    Data, MESSAGE_BYTES_MAX, Message, NAME_BYTES_MAX, NAMES_BYTES_MAX, RECORDS_MAX, Stream, kind_name,
    looks_like, response_code_name,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    for from in [Side::Client, Side::Server] {
        if let Some(message) = Message::parse(content, from) {
            assert_eq!(looks_like(content), message.is_whole());
            measured(&message);
        }
        assert_eq!(read(from, [content]), read(from, pieces.iter().copied()));
        read_with_gaps(from, &pieces);
    }
    Stream::looks_like(content);
});

fn measured(message: &Message) {
    let sections = [&message.answers, &message.authorities, &message.additionals];
    let records: usize = sections.iter().map(|section| section.len()).sum();
    assert!(message.questions.len() + records <= RECORDS_MAX);
    let mut names: usize = message.questions.iter().map(|question| question.name.len()).sum();
    for record in sections.into_iter().flatten() {
        assert!(record.name.len() <= NAME_BYTES_MAX);
        names += record.name.len();
        if let Data::Name(name) = &record.data {
            names += name.len();
        }
        assert!(!kind_name(record.kind).is_empty());
    }
    assert!(names <= NAMES_BYTES_MAX + 3 * NAME_BYTES_MAX);
    assert!(!response_code_name(message.response_code()).is_empty());
    assert!(message.oddities.iter().all(|oddity| oddity.name().starts_with("dns.")));
}

fn read<'a>(from: Side, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Message> {
    let (mut stream, mut messages) = (Stream::new(from), Vec::new());
    for piece in pieces {
        stream.push(piece, &mut |message| messages.push(message));
        assert!(stream.held_bytes() <= MESSAGE_BYTES_MAX + 2);
    }
    messages
}

fn read_with_gaps(from: Side, pieces: &[&[u8]]) {
    let mut stream = Stream::new(from);
    for (at, piece) in pieces.iter().enumerate() {
        if at % 3 == 2 {
            stream.gap();
        }
        stream.push(piece, &mut |message| measured(&message));
    }
}
