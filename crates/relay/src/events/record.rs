//! One transaction as it is written down: [`Record`]. Rule: Suricata's field names where it has them, and no text from
//! outside without its control characters taken away in what people read.

use crate::events::timestamp;
use lockgate_eve::Object;
use lockgate_inspect::Judgement;
use lockgate_model::{Class, Engine, Finding, Flow, Points, Transaction, Verdict};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

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
    /// Who the client has proved to be.
    pub user: Option<&'a str>,
    /// From the request's head to the end.
    pub took: Duration,
    /// Whether the client has followed a link past a block page, so that lists do not hold.
    pub is_bypassed: bool,
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

/// The longest URL that is written in whole, in bytes; where one is cut, [`CUT`] stands behind it.
pub(super) const URL_BYTES_MAX: usize = 8192;
/// No URL has it.
pub(super) const CUT: char = '…';
/// Most lines are no longer.
const LINE_BYTES: usize = 1 << 10;
/// Alerts for one transaction; the verdict carries every finding that is kept.
const ALERTS_MAX: usize = 16;

impl Record<'_> {
    /// Its EVE lines: the verdict, then an alert for each finding.
    pub fn eve(&self, now: SystemTime) -> Vec<String> {
        let mut lines = Vec::with_capacity(1);
        lines.push(Object::line(LINE_BYTES, |event| {
            self.common(now, "verdict", event);
            event.object("verdict", |verdict| self.verdict(verdict));
        }));
        lines.extend(self.judgement.findings.iter().take(ALERTS_MAX).map(|finding| {
            Object::line(LINE_BYTES, |event| {
                self.common(now, "alert", event);
                event.object("alert", |alert| self.alert(finding, alert));
            })
        }));
        lines
    }

    fn common(&self, now: SystemTime, event_type: &str, event: &mut Object<'_>) {
        event.shown("timestamp", timestamp::of(now));
        event.number("flow_id", self.flow.id);
        event.text("event_type", event_type);
        event.shown("src_ip", self.flow.client.ip().to_canonical());
        event.number("src_port", self.flow.client.port().into());
        event.shown("dest_ip", self.flow.server.ip().to_canonical());
        event.number("dest_port", self.flow.server.port().into());
        event.text("proto", "TCP");
        event.text("app_proto", self.flow.protocol.name());
        self.smtp(event);
        self.email(event);
        self.http(event);
    }

    fn http(&self, event: &mut Object<'_>) {
        let Some(http) = self.http else { return };
        event.object("http", |fields| {
            fields.text("hostname", http.hostname);
            fields.number("http_port", http.port.into());
            fields.text("url", &shortened(http.url));
            fields.text("http_method", http.method);
            fields.text("protocol", http.protocol);
            fields.text_if("http_user_agent", http.user_agent);
            fields.text_if("http_refer", http.referrer);
            fields.text_if("http_content_type", http.content_type);
            if let Some(status) = http.status {
                fields.number("status", status.into());
            }
            fields.number("length", self.wire_bytes);
        });
    }

    fn smtp(&self, event: &mut Object<'_>) {
        // The null sender of a bounce is "<>", which is not the same as no envelope (RFC 5321 section 4.5.5).
        let Some(sender) = self.about.sender.as_deref() else { return };
        event.object("smtp", |smtp| {
            smtp.text_if("helo", self.mail.helo);
            smtp.text("mail_from", &format!("<{sender}>"));
            smtp.texts("rcpt_to", self.about.recipients.iter().map(|path| format!("<{path}>")));
        });
    }

    fn email(&self, event: &mut Object<'_>) {
        let Mail { from, to, subject, message_id, .. } = self.mail;
        if [from, to, subject, message_id].iter().all(Option::is_none) {
            return;
        }
        event.object("email", |email| {
            email.text_if("from", from);
            if let Some(to) = to {
                email.texts("to", [to]);
            }
            email.text_if("subject", subject);
            email.text_if("message_id", message_id);
        });
    }

    fn verdict(&self, verdict: &mut Object<'_>) {
        let judgement = self.judgement;
        verdict.shown("id", self.about.id);
        verdict.text("verdict", judgement.verdict.name());
        verdict.text("action", self.action.name());
        verdict.text("group", &self.about.group);
        verdict.text("listener", &self.flow.listener);
        verdict.text("reply", self.reply);
        verdict.number("wire_bytes", self.wire_bytes);
        verdict.number("released_bytes", self.released_bytes);
        verdict.value("deciding", &judgement.deciding.into());
        let findings: Vec<Value> = judgement.findings.iter().map(finding_json).collect();
        verdict.value("findings", &findings.into());
        verdict.number("findings_count", judgement.findings_count);
        verdict.objects("incomplete", &judgement.incomplete, |object, incomplete| {
            object.text("part", &incomplete.part);
            object.text("reason", incomplete.reason.name());
        });
        verdict.number("incomplete_count", judgement.incomplete_count);
        if let Some(points) = &judgement.points {
            verdict.object("points", |object| write_points(points, object));
        }
        let Some(http) = self.http else { return };
        verdict.text_if("user", http.user);
        verdict.number("milliseconds", u64::try_from(http.took.as_millis()).unwrap_or(u64::MAX));
        if self.is_bypassed() {
            verdict.value("bypassed", &true.into());
        }
    }

    /// Whether a proxy's client was asked who it is, as each is that does not say so by itself.
    fn is_asked_for_a_name(&self) -> bool {
        const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;
        let status = self.http.and_then(|http| http.status);
        self.action == Action::Refused && status == Some(PROXY_AUTHENTICATION_REQUIRED)
    }

    /// Whether lists would have said something else.
    fn is_bypassed(&self) -> bool {
        self.http.is_some_and(|http| http.is_bypassed)
            && self.judgement.findings.iter().any(|found| found.class == Class::Web)
    }

    fn alert(&self, finding: &Finding, alert: &mut Object<'_>) {
        alert.text("action", if self.judgement.verdict > Verdict::Tag { "blocked" } else { "allowed" });
        if let Some(signature) = &finding.signature {
            alert.number("gid", signature.generator.into());
            alert.number("signature_id", signature.id.into());
            alert.number("rev", signature.revision.into());
        }
        alert.text("signature", &finding.name);
        let signature = finding.signature.as_deref();
        alert.text("category", signature.map_or(finding.class.name(), |signature| &signature.category));
        let severity = signature.map(|signature| signature.severity.into());
        alert.number("severity", severity.unwrap_or(if finding.engine == Engine::Content { 3 } else { 1 }));
        alert.object("metadata", |metadata| {
            metadata.texts("verdict_id", [self.about.id.to_string()]);
            metadata.texts("engine", [finding.engine.name()]);
            metadata.texts("rule", [&*finding.rule]);
            metadata.texts("part", [&*finding.part]);
        });
    }

    /// Its line for people; none where it passed and nothing was found.
    pub fn log(&self) -> Option<String> {
        let judgement = self.judgement;
        let is_peace = judgement.verdict == Verdict::Pass
            && judgement.findings.is_empty()
            && judgement.incomplete.is_empty()
            && (matches!(self.action, Action::Forwarded | Action::Delivered) || self.is_asked_for_a_name());
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
            if let Some(user) = http.user {
                let _ = write!(line, " by {}", plain(user));
            }
            if self.is_bypassed() {
                line.push_str(" past the block page");
            }
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

/// What was counted, and of what.
fn write_points(points: &Points, object: &mut Object<'_>) {
    object.signed("sum", points.sum);
    object.signed("max", points.max);
    object.objects("terms", &points.terms, |object, term| {
        object.text("name", &term.name);
        match term.points {
            Some(points) => object.signed("points", points),
            None => object.null("points"),
        }
        object.number("times", term.times.into());
        object.text("rule", &term.rule);
    });
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

/// A URL, with a mark where it is cut.
fn shortened(url: &str) -> Cow<'_, str> {
    if url.len() <= URL_BYTES_MAX {
        return Cow::Borrowed(url);
    }
    let mut end = URL_BYTES_MAX;
    while !url.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}{CUT}", &url[..end]))
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
