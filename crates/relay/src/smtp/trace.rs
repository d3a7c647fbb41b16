//! Header fields of the gateway's own: `Received` and the tag. Rule: no text from outside without its control characters
//! taken away.

use super::downstream::Downstream;
use super::introduce::Client;
use crate::events::record::plain;
use crate::events::timestamp;
use lockgate_inspect::Judgement;
use lockgate_model::TransactionId;
use std::time::SystemTime;

/// `Received`, as RFC 5321 section 4.4 wants it.
pub fn received(client: &Client, down: &Downstream, hostname: &str, id: TransactionId) -> Vec<u8> {
    let (address, tls) = (client.address.ip().to_canonical(), down.accepted.stream.tls_info());
    // RFC 3848: ESMTPS says that TLS was on.
    let suffix = if tls.is_some() && client.protocol == "ESMTP" { "S" } else { "" };
    let literal = if address.is_ipv6() { format!("[IPv6:{address}]") } else { format!("[{address}]") };
    let name = client.name.as_deref().map_or(String::new(), |name| format!("{} ", field_text(name)));
    let date = timestamp::of_mail(SystemTime::now());
    let helo = field_text(&client.helo);
    format!(
        "Received: from {helo} ({name}{literal})\r\n\tby {hostname} (Lockgate) with {}{suffix} id {id};\r\n\t{date}\r\n",
        client.protocol
    )
    .into_bytes()
}

/// What was found in a mail that goes on all the same.
pub fn tag(judgement: &Judgement, id: TransactionId) -> Vec<u8> {
    let mut text = format!("X-Lockgate: tagged; id={id}\r\n");
    for finding in judgement.findings.iter().take(8) {
        let (name, part) = (field_text(&finding.name), field_text(&finding.part));
        text.push_str(&format!("X-Lockgate-Finding: {} {name}; part={part}\r\n", finding.class.name()));
    }
    for incomplete in judgement.incomplete.iter().take(8) {
        let part = field_text(&incomplete.part);
        text.push_str(&format!("X-Lockgate-Incomplete: {}; part={part}\r\n", incomplete.reason));
    }
    text.into_bytes()
}

/// One line of printable ASCII at a bounded length.
fn field_text(text: &str) -> String {
    let printable = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    plain(text).chars().map(printable).take(200).collect()
}
