//! What is said on a flow: a [`Speech`] for each protocol. Rule: a protocol is read as it came, and what cannot be is said.

mod buffers;
mod coding;
mod content;
mod dns;
mod doubt;
mod exchange;
mod files;
mod ftp;
mod ftp_data;
mod http;
mod http2;
mod lines;
mod odd;
mod pop3;
mod side;
mod smtp;
mod tls;

pub use coding::seen_as;
pub use content::Inspector;
pub use files::{Files, Recorder};

use dns::Dns;
use ftp::Ftp;
use ftp_data::FtpData;
use http::Http;
use http2::Http2;
use pop3::Pop3;
use smtp::Smtp;
use tls::Tls;

use crate::eve::{Alarm, Eve};
use crate::expected::{Expected, File};
use lockgate_eve::Object;
use lockgate_model::{Direction, FlowState, Protocol, Reason};
use lockgate_packet::{Chunk, Flow};
use std::io::Write;
use std::net::IpAddr;

/// The first line of what clients of HTTP/2 begin with (RFC 9113 section 3.4).
const HTTP2_LINE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// What is said on a flow, in the protocol it is said in.
pub enum Speech {
    /// HTTP.
    Http(Box<Http>),
    /// HTTP/2.
    Http2(Box<Http2>),
    /// SMTP.
    Smtp(Box<Smtp>),
    /// POP3.
    Pop3(Box<Pop3>),
    /// DNS.
    Dns(Box<Dns>),
    /// TLS.
    Tls(Box<Tls>),
    /// FTP's control connection.
    Ftp(Box<Ftp>),
    /// A file of FTP.
    FtpData(Box<FtpData>),
    /// Nothing that is taken apart.
    Other,
}

/// Whether something else is spoken from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is not.
    Stays,
    /// It is: TLS behind STARTTLS, whatever a tunnel carries.
    Begins,
}

/// Where a speech tells what it comes to.
pub struct Telling<'a, W> {
    /// Its flow.
    pub flow: &'a Flow,
    /// What rules have matched.
    pub alarms: &'a mut Vec<Alarm>,
    /// What is odd, as `app-layer-event` names it, and which way it went.
    pub odd: &'a mut Vec<(&'static str, Direction)>,
    /// What connections are to come.
    pub expected: &'a mut Expected,
    /// Where events are written.
    pub eve: &'a mut Eve<W>,
}

impl<W: Write> Telling<'_, W> {
    /// Something could not be inspected in whole.
    pub fn incomplete(&mut self, direction: Direction, reason: Reason) {
        self.eve.incomplete(self.flow, direction, reason);
    }
}

impl Speech {
    /// Of a protocol that carries content, whose client began with these bytes.
    pub fn with_content(protocol: Protocol, inspector: Inspector, begun: &[u8]) -> Self {
        match protocol {
            Protocol::Http if begun.starts_with(HTTP2_LINE) => Self::Http2(Box::new(Http2::new(inspector))),
            Protocol::Http => Self::Http(Box::new(Http::new(inspector))),
            Protocol::Smtp => Self::Smtp(Box::new(Smtp::new(inspector))),
            Protocol::Pop3 => Self::Pop3(Box::new(Pop3::new(inspector))),
            _ => Self::Other,
        }
    }

    /// Of one that carries none.
    pub fn plain(protocol: Protocol, state: Option<Box<dyn FlowState>>) -> Self {
        match protocol {
            Protocol::Dns => Self::Dns(Box::new(Dns::new(state))),
            Protocol::Tls => Self::Tls(Box::new(Tls::new(state))),
            Protocol::Ftp => Self::Ftp(Box::new(Ftp::new(state))),
            _ => Self::Other,
        }
    }

    /// Of a connection that brings a file.
    pub fn of_file(inspector: Inspector, file: File) -> Self {
        Self::FtpData(Box::new(FtpData::new(inspector, file)))
    }

    /// The next bytes of a side. Says whether something else is spoken behind them.
    pub fn data<W: Write>(&mut self, chunk: Chunk<'_>, telling: &mut Telling<'_, W>) -> Turn {
        match self {
            Self::Http(http) => return http.data(chunk.direction, chunk.bytes, telling),
            Self::Smtp(smtp) => return smtp.data(chunk.direction, chunk.bytes, telling),
            Self::Pop3(pop3) => return pop3.data(chunk.direction, chunk.bytes, telling),
            Self::Ftp(ftp) => return ftp.data(chunk.direction, chunk.bytes, telling),
            Self::Http2(http) => http.data(chunk.direction, chunk.bytes, telling),
            Self::Dns(dns) => dns.data(chunk.direction, chunk.bytes, telling),
            Self::Tls(tls) => tls.data(chunk.direction, chunk.bytes, telling),
            Self::FtpData(data) => data.data(chunk.direction, chunk.bytes, telling),
            Self::Other => {}
        }
        Turn::Stays
    }

    /// A datagram.
    pub fn datagram<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        if let Self::Dns(dns) = self {
            dns.datagram(direction, bytes, telling);
        }
    }

    /// Bytes of a side were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, bytes: u64, telling: &mut Telling<'_, W>) {
        match self {
            Self::Http(http) => http.gap(direction, bytes, telling),
            Self::Http2(http) => http.gap(direction, telling),
            Self::Smtp(smtp) => smtp.gap(direction, telling),
            Self::Pop3(pop3) => pop3.gap(direction, telling),
            Self::Dns(dns) => dns.gap(direction),
            Self::Tls(tls) => tls.gap(direction),
            Self::Ftp(ftp) => ftp.gap(direction),
            Self::FtpData(data) => data.gap(direction, telling),
            Self::Other => {}
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        match self {
            Self::Http(http) => http.end(direction, telling),
            Self::Http2(http) => http.end(direction, telling),
            Self::Smtp(smtp) => smtp.end(direction, telling),
            Self::Pop3(pop3) => pop3.end(direction, telling),
            Self::Tls(tls) => tls.end(direction, telling),
            Self::FtpData(data) => data.end(direction, telling),
            Self::Dns(_) | Self::Ftp(_) | Self::Other => {}
        }
    }

    /// What is known of a transaction, for an alert.
    pub fn describe(&self, transaction: u64, event: &mut Object<'_>) {
        match self {
            Self::Http(http) => http.describe(transaction, event),
            Self::Http2(http) => http.describe(transaction, event),
            Self::Smtp(smtp) => smtp.describe(transaction, event),
            Self::Dns(dns) => dns.describe(transaction, event),
            Self::Tls(tls) => tls.describe(event),
            Self::Ftp(ftp) => ftp.describe(transaction, event),
            Self::FtpData(data) => data.describe(event),
            Self::Pop3(_) | Self::Other => {}
        }
    }

    /// The transaction that is at hand, where there is one alone.
    pub fn only_transaction(&self) -> Option<u64> {
        if let Self::Http(http) = self { http.only_transaction() } else { None }
    }

    /// For whom proxies have asked in a transaction: the first of them, and the last.
    pub fn forwarded(&self, transaction: Option<u64>) -> Option<[IpAddr; 2]> {
        if let Self::Http(http) = self { http.forwarded(transaction) } else { None }
    }

    /// What has been told needs to be known no longer.
    pub fn forget(&mut self) {
        match self {
            Self::Http(http) => http.forget(),
            Self::Http2(http) => http.forget(),
            _ => {}
        }
    }
}
