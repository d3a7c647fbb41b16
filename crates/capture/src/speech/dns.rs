//! DNS as it came (RFC 1035): [`Dns`], in datagrams and in streams. Rule: a question and its answer are told by themselves.

use super::Telling;
use super::buffers::Asking;
use crate::eve::Ends;
use lockgate_eve::Object;
use lockgate_model::{Buffer, Direction, FlowState};
use lockgate_proto::Side;
use lockgate_proto::dns::{Data, Message, Record, Stream, kind_name, response_code_name};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;

/// How many messages are kept for alerts that come behind them.
const KEPT_MAX: usize = 8;

/// One flow.
pub struct Dns {
    asking: Asking,
    streams: [Stream; 2],
    kept: VecDeque<(u64, Message)>,
    /// The number of the next message.
    next: u64,
}

impl Dns {
    /// Nothing has been said yet.
    pub fn new(state: Option<Box<dyn FlowState>>) -> Self {
        Self {
            asking: Asking::new(state),
            streams: [Stream::new(Side::Client), Stream::new(Side::Server)],
            kept: VecDeque::new(),
            next: 0,
        }
    }

    /// A datagram.
    pub fn datagram<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        let from = if direction == Direction::ToServer { Side::Client } else { Side::Server };
        match Message::parse(bytes, from) {
            Some(message) => self.message(message, direction, telling),
            None if !bytes.is_empty() => telling.odd.push(("dns.malformed_data", direction)),
            None => {}
        }
    }

    /// The next bytes of a side of a stream.
    pub fn data<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        let mut messages = Vec::new();
        self.stream(direction).push(bytes, &mut |message| messages.push(message));
        for message in messages {
            self.message(message, direction, telling);
        }
    }

    /// Bytes of a side were missed.
    pub fn gap(&mut self, direction: Direction) {
        self.stream(direction).gap();
    }

    fn stream(&mut self, direction: Direction) -> &mut Stream {
        let [client, server] = &mut self.streams;
        if direction == Direction::ToServer { client } else { server }
    }

    fn message<W: Write>(&mut self, message: Message, direction: Direction, telling: &mut Telling<'_, W>) {
        telling.odd.extend(message.oddities.iter().map(|oddity| (oddity.name(), direction)));
        let at = self.next;
        self.next += 1;
        let mut asked = self.asking.begin(at, direction);
        asked.fill(Buffer::DnsOpcode, message.header.opcode().to_string().as_bytes());
        if message.header.is_response() {
            asked.fill(Buffer::DnsResponseCode, message.response_code().to_string().as_bytes());
        }
        for question in &message.questions {
            if !message.header.is_response() {
                asked.fill(Buffer::DnsQuery, &question.name);
            }
            asked.fill(Buffer::DnsQueryName, &question.name);
            asked.fill(Buffer::DnsRecordType, question.kind.to_string().as_bytes());
        }
        for (buffer, records) in [
            (Buffer::DnsAnswerName, &message.answers),
            (Buffer::DnsAuthorityName, &message.authorities),
            (Buffer::DnsAdditionalName, &message.additionals),
        ] {
            records.iter().for_each(|record| asked.fill(buffer, &record.name));
        }
        asked.finish(telling);
        if self.kept.len() >= KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((at, message));
        if telling.eve.wants_all() {
            let ends = Ends::of_flow(telling.flow, direction);
            telling.eve.event("dns", &ends, Some(telling.flow), None, |event| self.describe(at, event));
        }
    }

    /// What is known of a message.
    pub fn describe(&self, at: u64, event: &mut Object<'_>) {
        let Some((_, message)) = self.kept.iter().find(|(number, _)| *number == at) else { return };
        event.object("dns", |object| write(at, message, object));
    }
}

/// As Suricata 8 writes it, version 3.
fn write(at: u64, message: &Message, object: &mut Object<'_>) {
    let header = message.header;
    object.number("version", 3);
    object.text("type", if header.is_response() { "response" } else { "request" });
    object.number("tx_id", at);
    object.number("id", header.id.into());
    object.shown("flags", format_args!("{:x}", header.flags));
    for (is, name) in [
        (header.is_response(), "qr"),
        (header.is_authoritative(), "aa"),
        (header.is_truncated(), "tc"),
        (header.is_recursion_desired(), "rd"),
        (header.is_recursion_available(), "ra"),
        (header.is_z_set(), "z"),
    ] {
        if is {
            object.flag(name, true);
        }
    }
    object.number("opcode", header.opcode().into());
    object.text("rcode", &response_code_name(message.response_code()));
    object.objects("queries", &message.questions, |object, question| {
        object.text("rrname", &text(&question.name));
        object.text("rrtype", &kind_name(question.kind));
    });
    for (name, records) in [("answers", &message.answers), ("authorities", &message.authorities)] {
        if !records.is_empty() {
            object.objects(name, records, |object, record| write_record(record, object));
        }
    }
}

fn write_record(record: &Record, object: &mut Object<'_>) {
    object.text("rrname", &text(&record.name));
    object.text("rrtype", &kind_name(record.kind));
    object.number("ttl", record.ttl.into());
    match &record.data {
        Data::Address(address) => object.shown("rdata", address),
        Data::Name(name) => object.text("rdata", &text(name)),
        Data::Texts(texts) => {
            let all: Vec<Cow<'_, str>> = texts.iter().map(|one| text(one)).collect();
            object.text("rdata", &all.join(" "));
        }
        Data::Authority { server, mailbox, numbers } => object.object("soa", |object| {
            object.text("mname", &text(server));
            object.text("rname", &text(mailbox));
            for (name, number) in ["serial", "refresh", "retry", "expire", "minimum"].into_iter().zip(numbers)
            {
                object.number(name, (*number).into());
            }
        }),
        Data::Service { priority, weight, port, target } => object.object("srv", |object| {
            object.number("priority", (*priority).into());
            object.number("weight", (*weight).into());
            object.number("port", (*port).into());
            object.text("name", &text(target));
        }),
        Data::Fingerprint { algorithm, digest, fingerprint } => object.object("sshfp", |object| {
            let mut hex = String::with_capacity(fingerprint.len() * 3);
            for (at, byte) in fingerprint.iter().enumerate() {
                let _ = write!(hex, "{}{byte:02x}", if at > 0 { ":" } else { "" });
            }
            object.text("fingerprint", &hex);
            object.number("algo", (*algorithm).into());
            object.number("type", (*digest).into());
        }),
        Data::Options(_) | Data::Other(_) => {}
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
