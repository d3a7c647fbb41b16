//! What else lists what an event is about: [`Also`]. Rule: the lists as they are now, asked as on the wire; for who asks afterwards, and
//! never while serving.

use crate::config::Config;
use crate::lists;
use lockgate_webfilter::{ContentType, Database, Decision, Outcome, Request};
use serde_json::Value;

/// The lists of an event's group, and its request.
pub struct Also {
    database: Database,
    decisions: Vec<Decision>,
}

impl Also {
    /// Nothing where no list has decided anything, or the lists cannot be read any more.
    pub fn of(event: &Value, config: &Config) -> Option<Self> {
        let verdict = &event["verdict"];
        let mut findings = verdict["findings"].as_array().into_iter().flatten();
        findings.find(|finding| finding["engine"] == "webfilter")?;
        let group = verdict["group"].as_str().unwrap_or_default();
        let (database, errors) = lists::load_whole(config, group);
        if !errors.is_empty() {
            return None;
        }
        let request = request(event)?;
        let content_type = event["http"]["http_content_type"].as_str().unwrap_or_default();
        let media_type = ContentType::parse(content_type).media_type;
        let now = database.now();
        let decisions =
            vec![database.judge(&request, now), database.decide_type(&request.address, &media_type, now)];
        Some(Self { database, decisions })
    }

    /// The other lines that ban what a line bans, each as it is told, `FILE:LINE` in it.
    pub fn banned(&self, rule: &str) -> Vec<String> {
        let with_it = self.decisions.iter().find(|decision| lines(decision).any(|line| line.rule() == rule));
        let others = with_it.into_iter().flat_map(lines);
        let others = others.filter(|line| line.outcome == Outcome::Banned && line.rule() != rule);
        others.map(ToString::to_string).chain(self.database.lines_for_phrase_of(rule)).collect()
    }
}

fn lines(decision: &Decision) -> impl Iterator<Item = &lockgate_webfilter::Listing> {
    decision.by.iter().chain(&decision.also)
}

/// The request as far as the event says it.
fn request(event: &Value) -> Option<Request> {
    let http = &event["http"];
    let word = |name: &str| http[name].as_str();
    let (host, path) = (word("hostname")?, word("url").unwrap_or_default());
    let scheme = if http["http_port"] == 443 { "https" } else { "http" };
    let lines = [("User-Agent", word("http_user_agent")), ("Referer", word("http_refer"))];
    let lines =
        lines.map(|(name, value)| value.map(|value| format!("{name}: {value}\r\n")).unwrap_or_default());
    let path = if path.starts_with('/') { path } else { "" };
    let request = Request::new(scheme, host.as_bytes(), path.as_bytes())
        .with_header(lines.concat().as_bytes())
        .through_tunnel(word("http_method") == Some("CONNECT"));
    Some(match event["src_ip"].as_str().and_then(|client| client.parse().ok()) {
        Some(client) => request.by(client),
        None => request,
    })
}
