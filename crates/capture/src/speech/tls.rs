//! TLS as it came: [`Tls`], its handshake as far as it is in clear. Rule: a connection is one transaction.

use super::Telling;
use super::buffers::{Asking, Message};
use crate::eve::Ends;
use lockgate_eve::{Object, timestamp};
use lockgate_model::{Buffer, Direction, FlowState};
use lockgate_proto::Side;
use lockgate_proto::tls::{Certificate, Hello, Said, Spectator, fingerprint, ja3_hash, version_name};
use std::io::Write;
use std::time::Duration;

/// One connection.
pub struct Tls {
    asking: Asking,
    sides: [Way; 2],
    known: Known,
    is_told: bool,
}

/// What goes one way.
struct Way {
    spectator: Spectator,
    message: Option<Message>,
}

/// What events have of it.
#[derive(Default)]
struct Known {
    server_name: Option<String>,
    version: Option<u16>,
    ja3: Option<String>,
    ja3s: Option<String>,
    ja4: Option<String>,
    alpn: Vec<String>,
    certificate: Option<(Certificate, String)>,
    /// What was odd.
    told: Vec<&'static str>,
}

impl Tls {
    /// Nothing has been said yet.
    pub fn new(state: Option<Box<dyn FlowState>>) -> Self {
        let way = |from| Way { spectator: Spectator::new(from), message: None };
        Self {
            asking: Asking::new(state),
            sides: [way(Side::Client), way(Side::Server)],
            known: Known::default(),
            is_told: false,
        }
    }

    /// The next bytes of a side.
    pub fn data<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        let way = &mut self.sides[usize::from(direction == Direction::ToClient)];
        if way.spectator.is_over() {
            return;
        }
        let mut said = Vec::new();
        way.spectator.push(bytes, &mut |one| said.push(one));
        let asking = &mut self.asking;
        let message = way.message.get_or_insert_with(|| asking.begin(0, direction));
        for one in said {
            match one {
                Said::Hello(hello) => self.known.hello(&hello, direction, message),
                Said::Certificates(chain) => {
                    if let Some(name) = self.known.certificates(&chain, message) {
                        self.known.odd(name, direction, telling);
                    }
                }
                Said::Odd(oddity) => self.known.odd(oddity.name(), direction, telling),
                Said::Encrypted => {}
            }
        }
        message.tell(telling);
        if self.sides.iter().all(|way| way.spectator.is_over()) {
            self.log(telling);
        }
    }

    /// Bytes of a side were missed.
    pub fn gap(&mut self, direction: Direction) {
        self.sides[usize::from(direction == Direction::ToClient)].spectator.gap();
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if let Some(message) = self.sides[usize::from(direction == Direction::ToClient)].message.take() {
            message.finish(telling);
        }
        self.log(telling);
    }

    fn log<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        if std::mem::replace(&mut self.is_told, true) || !telling.eve.wants_all() {
            return;
        }
        let ends = Ends::of_flow(telling.flow, Direction::ToServer);
        telling.eve.event("tls", &ends, Some(telling.flow), None, |event| self.describe(event));
    }

    /// What is known of it.
    pub fn describe(&self, event: &mut Object<'_>) {
        event.object("tls", |object| self.known.write(object));
    }
}

impl Known {
    /// Each is told once in a connection.
    fn odd<W: Write>(&mut self, name: &'static str, direction: Direction, telling: &mut Telling<'_, W>) {
        if !self.told.contains(&name) {
            self.told.push(name);
            telling.odd.push((name, direction));
        }
    }

    fn hello(&mut self, hello: &Hello, direction: Direction, message: &mut Message) {
        let version = hello.version();
        message.fill(Buffer::TlsVersion, &version.to_be_bytes());
        message.fill(Buffer::TlsRandom, &hello.random);
        for protocol in &hello.alpn {
            message.fill(Buffer::TlsAlpn, protocol);
        }
        let ja3 = hello.ja3();
        let hash = ja3_hash(&ja3);
        if direction == Direction::ToClient {
            message.fill(Buffer::Ja3sString, ja3.as_bytes());
            message.fill(Buffer::Ja3sHash, hash.as_bytes());
            self.version = Some(version);
            self.ja3s = Some(hash);
            return;
        }
        let ja4 = hello.ja4();
        if let Some(name) = &hello.server_name {
            message.fill(Buffer::TlsServerName, name);
            self.server_name = Some(String::from_utf8_lossy(name).into_owned());
        }
        message.fill(Buffer::Ja3String, ja3.as_bytes());
        message.fill(Buffer::Ja3Hash, hash.as_bytes());
        message.fill(Buffer::Ja4Hash, ja4.as_bytes());
        self.alpn = hello.alpn.iter().map(|one| String::from_utf8_lossy(one).into_owned()).collect();
        (self.ja3, self.ja4) = (Some(hash), Some(ja4));
    }

    /// The name of what is wrong with the first, where that cannot be read.
    fn certificates(&mut self, chain: &[Vec<u8>], message: &mut Message) -> Option<&'static str> {
        for certificate in chain {
            message.fill(Buffer::TlsCertificates, certificate);
        }
        let first = chain.first()?;
        let print = fingerprint(first);
        message.fill(Buffer::TlsFingerprint, print.as_bytes());
        let certificate = match Certificate::read(first) {
            Ok(certificate) => certificate,
            Err(oddity) => return Some(oddity.name()),
        };
        message.fill(Buffer::TlsSubject, certificate.subject.as_bytes());
        message.fill(Buffer::TlsIssuer, certificate.issuer.as_bytes());
        message.fill(Buffer::TlsSerial, certificate.serial.as_bytes());
        for name in &certificate.alternative_names {
            message.fill(Buffer::TlsAlternativeNames, name.as_bytes());
        }
        self.certificate = Some((certificate, print));
        None
    }

    fn write(&self, object: &mut Object<'_>) {
        if let Some((certificate, print)) = &self.certificate {
            object.text("subject", &certificate.subject);
            object.text("issuerdn", &certificate.issuer);
            object.text("serial", &certificate.serial);
            object.text("fingerprint", print);
            object.texts("subjectaltname", &certificate.alternative_names);
        }
        object.text_if("sni", self.server_name.as_deref());
        if let Some(version) = self.version {
            object.text("version", &version_name(version));
        }
        if let Some((certificate, _)) = &self.certificate {
            object.text("notbefore", &day(certificate.not_before));
            object.text("notafter", &day(certificate.not_after));
        }
        if !self.alpn.is_empty() {
            object.texts("client_alpns", &self.alpn);
        }
        for (name, hash) in [("ja3", &self.ja3), ("ja3s", &self.ja3s)] {
            if let Some(hash) = hash {
                object.object(name, |object| object.text("hash", hash));
            }
        }
        object.text_if("ja4", self.ja4.as_deref());
    }
}

/// A moment as certificates have them in EVE: without fractions and zone.
fn day(seconds: i64) -> String {
    let text = timestamp::of(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
    text.split('.').next().unwrap_or_default().to_owned()
}
