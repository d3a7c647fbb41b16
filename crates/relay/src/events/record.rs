//! One transaction as it is written down: [`Record`]. Rule: Suricata's field names where it has them, and no text from
//! outside without its control characters taken away in what people read.

use crate::events::timestamp;
use lockgate_inspect::Judgement;
use lockgate_model::{Engine, Finding, Flow, Transaction, Verdict};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::SystemTime;

/// What the protocol's adapter made of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It went on.
    Forwarded,
    /// It went into a local maildir.
    Delivered,
    /// The client was refused for good.
    Refused,
    /// The client was told to come again.
    Deferred,
    /// A notice went in its place.
    Replaced,
    /// It was cut off after a part of it had gone on.
    Cut,
    /// A copy was kept, and the client told that all is well.
    Quarantined,
    /// The connection broke before there was anything to do.
    Lost,
}

impl Action {
    /// The name used in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
            Self::Replaced => "replaced",
            Self::Cut => "cut",
            Self::Quarantined => "quarantined",
            Self::Lost => "lost",
        }
    }
}

/// What is known of a mail besides its envelope.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mail<'a> {
    /// What the client called itself.
    pub helo: Option<&'a str>,
    /// The `From` field.
    pub from: Option<&'a str>,
    /// The `To` field.
    pub to: Option<&'a str>,
    /// The `Subject` field.
    pub subject: Option<&'a str>,
    /// The `Message-ID` field.
    pub message_id: Option<&'a str>,
}

/// What is known of a web exchange.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http<'a> {
    /// The host that was asked for.
    pub hostname: &'a str,
    /// Its port.
    pub port: u16,
    /// Path and query; for CONNECT, `host:port`.
    pub url: &'a str,
    /// The method.
    pub method: &'a str,
    /// The client's version.
    pub protocol: &'a str,
    /// The `User-Agent` field.
    pub user_agent: Option<&'a str>,
    /// The `Referer` field.
    pub referrer: Option<&'a str>,
    /// The response's `Content-Type` field.
    pub content_type: Option<&'a str>,
    /// The origin's status, or ours where it did not come to one.
    pub status: Option<u16>,
}

/// One transaction with its end.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The connection.
    pub flow: &'a Flow,
    /// The transaction.
    pub about: &'a Transaction,
    /// The mail, where it is one.
    pub mail: Mail<'a>,
    /// The exchange, where it is one.
    pub http: Option<Http<'a>>,
    /// What was found and judged.
    pub judgement: &'a Judgement,
    /// What was done about it.
    pub action: Action,
    /// What the client was told.
    pub reply: &'a str,
    /// Bytes of content received.
    pub wire_bytes: u64,
    /// Bytes of content that went on before the verdict, or with it.
    pub released_bytes: u64,
}

/// Alerts for one transaction; the verdict carries every finding that is kept.
const ALERTS_MAX: usize = 16;

impl Record<'_> {
    /// Its EVE lines: the verdict, then an alert for each finding.
    pub fn eve(&self, now: SystemTime) -> Vec<String> {
        let mut verdict = self.common(now, "verdict");
        verdict.insert("verdict".into(), self.verdict());
        let alerts = self.judgement.findings.iter().take(ALERTS_MAX).map(|finding| {
            let mut alert = self.common(now, "alert");
            alert.insert("alert".into(), self.alert(finding));
            Value::Object(alert).to_string()
        });
        std::iter::once(Value::Object(verdict).to_string()).chain(alerts).collect()
    }

    fn common(&self, now: SystemTime, event_type: &str) -> Map<String, Value> {
        let mut event = Map::new();
        event.insert("timestamp".into(), timestamp::of(now).into());
        event.insert("flow_id".into(), self.flow.id.into());
        event.insert("event_type".into(), event_type.into());
        insert_address(&mut event, "src", self.flow.client);
        insert_address(&mut event, "dest", self.flow.server);
        event.insert("proto".into(), "TCP".into());
        event.insert("app_proto".into(), self.flow.protocol.name().into());
        if let Some(smtp) = self.smtp() {
            event.insert("smtp".into(), smtp);
        }
        if let Some(email) = self.email() {
            event.insert("email".into(), email);
        }
        if let Some(http) = self.http() {
            event.insert("http".into(), http);
        }
        event
    }

    fn http(&self) -> Option<Value> {
        let http = self.http?;
        let mut fields = Map::new();
        fields.insert("hostname".into(), http.hostname.into());
        fields.insert("http_port".into(), http.port.into());
        fields.insert("url".into(), http.url.into());
        fields.insert("http_method".into(), http.method.into());
        fields.insert("protocol".into(), http.protocol.into());
        let texts = [
            ("http_user_agent", http.user_agent),
            ("http_refer", http.referrer),
            ("http_content_type", http.content_type),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name.into(), text.into());
            }
        }
        if let Some(status) = http.status {
            fields.insert("status".into(), status.into());
        }
        fields.insert("length".into(), self.wire_bytes.into());
        Some(fields.into())
    }

    fn smtp(&self) -> Option<Value> {
        // The null sender of a bounce is "<>", which is not the same as no envelope (RFC 5321 section 4.5.5).
        let sender = self.about.sender.as_deref()?;
        let bracketed = |path: &str| format!("<{path}>");
        let recipients: Vec<_> = self.about.recipients.iter().map(|path| bracketed(path)).collect();
        let mut smtp = Map::new();
        if let Some(helo) = self.mail.helo {
            smtp.insert("helo".into(), helo.into());
        }
        smtp.insert("mail_from".into(), bracketed(sender).into());
        smtp.insert("rcpt_to".into(), recipients.into());
        Some(smtp.into())
    }

    fn email(&self) -> Option<Value> {
        let fields = [
            ("from", self.mail.from),
            ("to", self.mail.to),
            ("subject", self.mail.subject),
            ("message_id", self.mail.message_id),
        ];
        let mut email = Map::new();
        for (name, value) in fields {
            match (name, value) {
                ("to", Some(to)) => _ = email.insert(name.into(), json!([to])),
                (_, Some(value)) => _ = email.insert(name.into(), value.into()),
                (_, None) => {}
            }
        }
        (!email.is_empty()).then(|| email.into())
    }

    fn verdict(&self) -> Value {
        let judgement = self.judgement;
        let incomplete = judgement
            .incomplete
            .iter()
            .map(|incomplete| json!({"part": &*incomplete.part, "reason": incomplete.reason.name()}));
        json!({
            "id": self.about.id.to_string(),
            "verdict": judgement.verdict.name(),
            "action": self.action.name(),
            "group": self.about.group,
            "listener": self.flow.listener,
            "reply": self.reply,
            "wire_bytes": self.wire_bytes,
            "released_bytes": self.released_bytes,
            "deciding": judgement.deciding,
            "findings": judgement.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "findings_count": judgement.findings_count,
            "incomplete": incomplete.collect::<Vec<_>>(),
            "incomplete_count": judgement.incomplete_count,
        })
    }

    fn alert(&self, finding: &Finding) -> Value {
        let action = if self.judgement.verdict > Verdict::Tag { "blocked" } else { "allowed" };
        json!({
            "action": action,
            "signature": &*finding.name,
            "category": finding.class.name(),
            "severity": if finding.engine == Engine::Content { 3 } else { 1 },
            "metadata": {
                "verdict_id": [self.about.id.to_string()],
                "engine": [finding.engine.name()],
                "rule": [&*finding.rule],
                "part": [&*finding.part],
            },
        })
    }

    /// Its line for people; none where it passed and nothing was found.
    pub fn log(&self) -> Option<String> {
        let judgement = self.judgement;
        let is_peace = judgement.verdict == Verdict::Pass
            && judgement.findings.is_empty()
            && judgement.incomplete.is_empty()
            && matches!(self.action, Action::Forwarded | Action::Delivered);
        if is_peace {
            return None;
        }
        let id = self.about.id;
        let mut line = format!(
            "{} {id} {} from {}: {}",
            judgement.verdict.name(),
            self.flow.protocol.name(),
            self.flow.client.ip().to_canonical(),
            self.action.name()
        );
        if let Some(sender) = &self.about.sender {
            let first = self.about.recipients.first().map_or("", String::as_str);
            let _ = write!(line, ", <{}> to <{}>", plain(sender), plain(first));
            if self.about.recipients.len() > 1 {
                let _ = write!(line, " and {} more", self.about.recipients.len() - 1);
            }
        }
        if let Some(http) = self.http {
            let (method, host, url) = (plain(http.method), plain(http.hostname), plain(http.url));
            let _ = write!(line, ", {method} {host} {url}");
        }
        if let Some(finding) = judgement.deciding_finding().or(judgement.findings.first()) {
            let (name, part, rule) = (plain(&finding.name), plain(&finding.part), plain(&finding.rule));
            let _ = write!(line, "; {name} in {part} ({rule})");
        }
        if let Some(incomplete) = judgement.incomplete.first() {
            let _ = write!(line, "; {} not inspected: {}", plain(&incomplete.part), incomplete.reason);
        }
        if !self.reply.is_empty() {
            let _ = write!(line, "; {}", plain(self.reply.lines().next().unwrap_or("")));
        }
        Some(line)
    }
}

/// A finding with its evidence, as events and `lockgate scan --json` show it.
pub fn finding_json(finding: &Finding) -> Value {
    json!({
        "engine": finding.engine.name(),
        "class": finding.class.name(),
        "rule": &*finding.rule,
        "name": &*finding.name,
        "part": &*finding.part,
        "buffer": finding.buffer.name(),
        "offset": finding.offset,
    })
}

/// Something that happened to the gateway itself.
pub fn notice(now: SystemTime, what: &str, details: &str) -> String {
    json!({
        "timestamp": timestamp::of(now),
        "event_type": "lockgate",
        "lockgate": {"what": what, "details": details},
    })
    .to_string()
}

/// Figures about the gateway itself.
pub fn stats<'f>(now: SystemTime, figures: impl Iterator<Item = &'f (&'f str, u64)>) -> String {
    let figures: Map<String, Value> =
        figures.map(|(name, figure)| ((*name).to_owned(), (*figure).into())).collect();
    json!({"timestamp": timestamp::of(now), "event_type": "stats", "stats": {"lockgate": figures}})
        .to_string()
}

pub(super) fn insert_address(event: &mut Map<String, Value>, side: &str, address: SocketAddr) {
    event.insert(format!("{side}_ip"), address.ip().to_canonical().to_string().into());
    event.insert(format!("{side}_port"), address.port().into());
}

/// Text from outside for a line that people read: no control characters, and no end of line, that could forge another.
pub fn plain(text: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().take(SHOWN_MAX).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}
