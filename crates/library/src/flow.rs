//! A connection: [`Flow`]. Rule: inspections of one flow share what rules note of it, and nothing else.

use crate::builder::Shared;
use crate::error::Error;
use crate::inspection::Inspection;
use lockgate_capture::seen_as;
use lockgate_inspect::{HoldPlan, Root, Session};
use lockgate_model::{self as model, Buffer, Direction, Protocol, Security, Transaction, TransactionId};
use lockgate_proto::http::Fields;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// An open connection.
pub struct Flow {
    session: Session,
    protocol: Protocol,
    inspections: u64,
}

/// What is known of a message before its content.
#[derive(Default)]
pub struct Envelope {
    pub sender: Option<String>,
    pub recipients: Vec<String>,
    pub name: Option<String>,
}

/// An address as text.
pub fn address(text: &str, port: u16) -> Result<SocketAddr, Error> {
    let address: Result<IpAddr, _> = text.parse();
    let address = address
        .map_err(|_| Error::new(format!("{text:?} is no address: write it as 192.0.2.1 or 2001:db8::1")))?;
    Ok(SocketAddr::new(address, port))
}

impl Flow {
    /// It begins.
    pub fn open(shared: &Shared, protocol: Protocol, client: SocketAddr, server: SocketAddr) -> Self {
        let flow = model::Flow {
            id: shared.next_flow(),
            protocol,
            security: Security::Clear,
            client,
            server,
            listener: String::new(),
        };
        let session = Session::open(Arc::clone(&shared.generation), &shared.pools, flow);
        Self { session, protocol, inspections: 0 }
    }

    /// A message of HTTP, by its first line and the lines of its header.
    pub fn http(&mut self, direction: Direction, line: &[u8], header: &[u8]) -> Result<Inspection, Error> {
        if self.protocol != Protocol::Http {
            return Err(Error::new("the flow was not opened as LOCKGATE_HTTP"));
        }
        let mut inspection = self.begin(direction, seen_as(&fields(header)), Envelope::default());
        let (of_line, of_header) = match direction {
            Direction::ToServer => (Buffer::HttpRequestLine, Buffer::HttpHeader),
            Direction::ToClient => (Buffer::HttpResponseLine, Buffer::HttpResponseHeader),
        };
        inspection.about(of_line, line);
        inspection.about(of_header, header);
        Ok(inspection)
    }

    /// A mail or a file.
    pub fn begin(&mut self, direction: Direction, root: Root, envelope: Envelope) -> Inspection {
        self.inspections += 1;
        let group = Arc::clone(self.session.group_for(None));
        let is_mail = matches!(root, Root::Mail);
        let about = Transaction {
            id: TransactionId(self.inspections),
            direction,
            group: group.name.clone(),
            sender: envelope.sender.clone(),
            recipients: envelope.recipients.clone(),
            name: envelope.name,
            length: None,
        };
        let inner = self.session.begin(&about, group, root, HoldPlan::Discard);
        let mut inspection = Inspection::new(inner, direction);
        if is_mail {
            if let Some(sender) = &envelope.sender {
                inspection.about(Buffer::SmtpMailFrom, sender.as_bytes());
            }
            for recipient in &envelope.recipients {
                inspection.about(Buffer::SmtpRcptTo, recipient.as_bytes());
            }
        }
        inspection
    }
}

/// The fields of a header, as far as there are any.
fn fields(header: &[u8]) -> Fields {
    let mut fields = Fields::new();
    for line in header.split(|byte| *byte == b'\n') {
        if let Some(colon) = line.iter().position(|byte| *byte == b':')
            && let (Some(name), Some(value)) = (line.get(..colon), line.get(colon + 1..))
        {
            fields.push(name.trim_ascii(), value.trim_ascii());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_headers() {
        assert_eq!(address("2001:db8::1", 80).unwrap().port(), 80);
        assert!(address("example.org", 80).is_err());
        let fields = fields(b"Host: a\r\nno field\r\nContent-Encoding:  gzip\r\n");
        assert_eq!((fields.get("content-encoding"), fields.len()), (Some(b"gzip".as_slice()), 2));
    }
}
