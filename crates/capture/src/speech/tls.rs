//! TLS as it came (RFC 8446, RFC 5246): [`Tls`], up to where it is encrypted. Rule: rules are asked of each side's flight by
//! itself, and a connection is told once.

use super::Telling;
use super::buffers::{Asking, Message};
use crate::eve::Ends;
use lockgate_eve::{Object, timestamp};
use lockgate_model::{Buffer, Direction, FlowState};
use lockgate_proto::Side;
use lockgate_proto::tls::{Certificate, Hello, Oddity, Said, Spectator, fingerprint, ja3_hash, version_name};
use std::io::Write;
use std::time::Duration;

/// One connection.
pub struct Tls {
    asking: Asking,
    sides: [Heard; 2],
    certificate: Option<Shown>,
    odd: Vec<Oddity>,
    is_told: bool,
}

/// What is heard of one side.
struct Heard {
    spectator: Spectator,
    /// Its flight, as rules are asked of it: its hello and what follows that in the clear.
    flight: Option<Message>,
    hello: Option<Box<Hello>>,
}

/// The server's certificate.
struct Shown {
    certificate: Certificate,
    fingerprint: String,
}

impl Tls {
    /// Nothing has been said yet.
    pub fn new(state: Option<Box<dyn FlowState>>) -> Self {
        Self {
            asking: Asking::new(state),
            sides: [Heard::new(Direction::ToServer), Heard::new(Direction::ToClient)],
            certificate: None,
            odd: Vec::new(),
            is_told: false,
        }
    }

    /// The next bytes of a side.
    pub fn data<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        let mut heard = Vec::new();
        self.side(direction).spectator.push(bytes, &mut |said| heard.push(said));
        for said in heard {
            match said {
                Said::Hello(hello) => self.hello(direction, hello, telling),
                Said::Certificates(chain) => self.certificates(direction, &chain, telling),
                Said::Odd(oddity) => self.odd(oddity, direction, telling),
                Said::Encrypted => self.flight_ends(direction, telling),
            }
        }
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        self.side(direction).spectator.gap();
        self.flight_ends(direction, telling);
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        self.flight_ends(direction, telling);
    }

    fn side(&mut self, direction: Direction) -> &mut Heard {
        let [client, server] = &mut self.sides;
        if direction == Direction::ToServer { client } else { server }
    }

    /// Rules are asked about each once in a connection.
    fn odd<W: Write>(&mut self, oddity: Oddity, direction: Direction, telling: &mut Telling<'_, W>) {
        if !self.odd.contains(&oddity) {
            self.odd.push(oddity);
            telling.odd.push((oddity.name(), direction));
        }
    }

    fn hello<W: Write>(&mut self, direction: Direction, hello: Box<Hello>, telling: &mut Telling<'_, W>) {
        // A second one, behind a request to try again, is a flight of its own.
        self.flight_ends(direction, telling);
        let mut flight = self.asking.begin(direction);
        flight.fill(Buffer::TlsRandom, &hello.random);
        flight.fill(Buffer::TlsVersion, &hello.version().to_be_bytes());
        if let Some(name) = &hello.server_name {
            flight.fill(Buffer::TlsServerName, name);
        }
        hello.alpn.iter().for_each(|name| flight.fill(Buffer::TlsAlpn, name));
        let ja3 = hello.ja3();
        let (string, hash) = match direction {
            Direction::ToServer => (Buffer::Ja3String, Buffer::Ja3Hash),
            Direction::ToClient => (Buffer::Ja3sString, Buffer::Ja3sHash),
        };
        flight.fill(string, ja3.as_bytes());
        flight.fill(hash, ja3_hash(&ja3).as_bytes());
        let side = self.side(direction);
        side.hello = Some(hello);
        if direction == Direction::ToServer {
            if let Some(hello) = &side.hello {
                flight.fill(Buffer::Ja4Hash, hello.ja4().as_bytes());
            }
            // What follows it is for the server alone: rules need not wait.
            return flight.finish(telling.alarms);
        }
        side.flight = Some(flight);
    }

    fn certificates<W: Write>(
        &mut self,
        direction: Direction,
        chain: &[Vec<u8>],
        telling: &mut Telling<'_, W>,
    ) {
        let Some(own) = chain.first() else { return };
        let read = Certificate::read(own);
        let mut flight = match self.side(direction).flight.take() {
            Some(flight) => flight,
            None => self.asking.begin(direction),
        };
        chain.iter().for_each(|der| flight.fill(Buffer::TlsCertificates, der));
        let fingerprint = fingerprint(own);
        flight.fill(Buffer::TlsFingerprint, fingerprint.as_bytes());
        match read {
            Ok(certificate) => {
                flight.fill(Buffer::TlsSubject, certificate.subject.as_bytes());
                flight.fill(Buffer::TlsIssuer, certificate.issuer.as_bytes());
                flight.fill(Buffer::TlsSerial, certificate.serial.as_bytes());
                for name in &certificate.alternative_names {
                    flight.fill(Buffer::TlsAlternativeNames, name.as_bytes());
                }
                if direction == Direction::ToClient {
                    self.certificate = Some(Shown { certificate, fingerprint });
                }
            }
            Err(oddity) => self.odd(oddity, direction, telling),
        }
        self.side(direction).flight = Some(flight);
        self.flight_ends(direction, telling);
    }

    /// What is heard of a side's flight is all there is.
    fn flight_ends<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if let Some(flight) = self.side(direction).flight.take() {
            flight.finish(telling.alarms);
            self.log(telling);
        }
    }

    fn log<W: Write>(&mut self, telling: &mut Telling<'_, W>) {
        if self.is_told || !telling.eve.wants_all() {
            return;
        }
        self.is_told = true;
        let ends = Ends::of_flow(telling.flow, Direction::ToServer);
        telling.eve.event("tls", &ends, Some(telling.flow), None, |event| self.describe(event));
    }

    /// What is known of the connection.
    pub fn describe(&self, event: &mut Object<'_>) {
        let [client, server] = &self.sides;
        let (client, server) = (client.hello.as_deref(), server.hello.as_deref());
        event.object("tls", |object| write(client, server, self.certificate.as_ref(), object));
    }
}

impl Heard {
    fn new(direction: Direction) -> Self {
        let from = if direction == Direction::ToServer { Side::Client } else { Side::Server };
        Self { spectator: Spectator::new(from), flight: None, hello: None }
    }
}

fn write(client: Option<&Hello>, server: Option<&Hello>, shown: Option<&Shown>, object: &mut Object<'_>) {
    if let Some(Shown { certificate, fingerprint }) = shown {
        object.text("subject", &certificate.subject);
        object.text("issuerdn", &certificate.issuer);
        object.text("serial", &certificate.serial);
        object.text("fingerprint", fingerprint);
    }
    if let Some(name) = client.and_then(|hello| hello.server_name.as_ref()) {
        object.text("sni", &String::from_utf8_lossy(name));
    }
    if let (None, Some(client), Some(server)) = (shown, client, server)
        && !client.session_id.is_empty()
        && client.session_id == server.session_id
        && server.supported_versions.is_empty()
    {
        object.flag("session_resumed", true);
    }
    if let Some(hello) = server.or(client) {
        object.text("version", &version_name(hello.version()));
    }
    if let Some(Shown { certificate, .. }) = shown {
        object.text("notbefore", &day(certificate.not_before));
        object.text("notafter", &day(certificate.not_after));
    }
    if let Some(hello) = client {
        write_ja3("ja3", hello, object);
        object.text("ja4", &hello.ja4());
    }
    if let Some(hello) = server {
        write_ja3("ja3s", hello, object);
    }
}

fn write_ja3(name: &str, hello: &Hello, object: &mut Object<'_>) {
    let string = hello.ja3();
    object.object(name, |object| {
        object.text("hash", &ja3_hash(&string));
        object.text("string", &string);
    });
}

/// A moment without parts of a second; what is before 1970 is its beginning.
fn day(seconds: i64) -> String {
    let mut text = timestamp::of(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
    text.truncate("0000-00-00T00:00:00".len());
    text
}
