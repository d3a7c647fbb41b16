//! What the lists change of an exchange: the engine's side of [`Rewriter`]. Rule: what is on a list of exceptions is left as it
//! is.

use crate::database::{Database, List};
use crate::decision::{Listing, Outcome};
use crate::moment::Moment;
use crate::request::{HEADER_BYTES_MAX, Request};
use crate::rewrites::Changed;
use crate::ruleset::kind::Purpose;
use crate::table::ListId;
use lockgate_model::rewrite::{Asking, Line, Replaced, Rewriter, Rewriting};
use std::sync::Arc;

/// What a line becomes where it is to be taken away; e2guardian's own spelling, and that of the one before it.
const IGNORED: [&[u8]; 2] = [b"X-E2G-IgnoreMe:", b"X-DG-IgnoreMe:"];
/// All that changes requests.
const OF_REQUESTS: [Purpose; 5] =
    [Purpose::Url, Purpose::Redirect, Purpose::Tunnel, Purpose::Header, Purpose::AddedHeader];

impl Database {
    /// Whether the lists change anything.
    pub(crate) fn rewrites_anything(&self) -> bool {
        let others = [Purpose::ResponseHeader, Purpose::Content];
        OF_REQUESTS.into_iter().chain(others).any(|purpose| self.rewrites.has(purpose))
    }

    /// What becomes of a request at a time, and which lines say so.
    pub fn rewritten(&self, request: &Request, now: Moment) -> (Rewriting, Vec<Listing>) {
        let mut rewriting = Rewriting::default();
        if !self.rewrites_anything() || self.judge(request, now).outcome == Outcome::Exception {
            return (rewriting, Vec::new());
        }
        let mut by: Vec<(ListId, u32)> = Vec::new();
        rewriting.changes_content = self.rewrites.has(Purpose::Content);
        let apply = |purpose, text: &[u8]| self.rewrites.apply(purpose, text, &self.lists, now);
        if request.is_tunnel {
            let url = [b"https://", request.address.host.as_bytes()].concat();
            rewriting.url = apply(Purpose::Tunnel, &url).map(|changed| taken(changed, &mut by));
        } else {
            rewriting.url = apply(Purpose::Url, &request.url).map(|changed| taken(changed, &mut by));
            let url = rewriting.url.as_ref().unwrap_or(&request.url);
            let added = apply(Purpose::AddedHeader, url);
            let redirect = apply(Purpose::Redirect, url);
            let added = added.map(|changed| Line { at: None, text: taken(changed, &mut by) });
            rewriting.redirect =
                redirect.map(|changed| taken(changed, &mut by)).filter(|url| !url.is_empty());
            rewriting.lines = self.changed_lines(Purpose::Header, &request.lines, now, &mut by);
            rewriting.lines.extend(added);
        }
        by.dedup();
        let by: Vec<_> = by.into_iter().filter_map(|(list, line)| self.listing(list, line)).collect();
        rewriting.rules = by.iter().map(|listing| listing.rule().into()).collect();
        (rewriting, by)
    }

    fn changed_lines(
        &self,
        purpose: Purpose,
        lines: &[Vec<u8>],
        now: Moment,
        by: &mut Vec<(ListId, u32)>,
    ) -> Vec<Line> {
        let mut out = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some(changed) = self.rewrites.apply(purpose, line, &self.lists, now) else { continue };
            let mut text = taken(changed, by);
            let is_ignored =
                |mark: &&[u8]| text.get(..mark.len()).is_some_and(|t| t.eq_ignore_ascii_case(mark));
            if IGNORED.iter().any(is_ignored) {
                text.clear();
            }
            out.push(Line { at: Some(at), text });
        }
        out
    }

    fn listing(&self, list: ListId, line: u32) -> Option<Listing> {
        let rule = self.rewrites.rule(list, line)?;
        let List { file, category, .. } = self.lists.get(usize::from(list))?;
        Some(Listing {
            outcome: Outcome::NotListed,
            file: Arc::clone(file),
            line,
            category: Arc::clone(category),
            pattern: rule.expression.as_str().to_owned(),
        })
    }
}

/// The text, its rules noted.
fn taken(changed: Changed, by: &mut Vec<(ListId, u32)>) -> Vec<u8> {
    by.extend(changed.by);
    changed.text
}

impl Rewriter for Database {
    fn request(&self, asking: &Asking<'_>) -> Rewriting {
        let request = Request::new(asking.scheme, asking.host.as_bytes(), asking.uri)
            .with_header(asking.header)
            .through_tunnel(asking.is_tunnel)
            .by(asking.client);
        self.rewritten(&request, self.now()).0
    }

    fn response(&self, header: &[u8]) -> Vec<Line> {
        if !self.rewrites.has(Purpose::ResponseHeader) {
            return Vec::new();
        }
        let header = header.get(..HEADER_BYTES_MAX).unwrap_or(header);
        let lines = header.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec());
        let lines: Vec<Vec<u8>> = lines.filter(|line| !line.is_empty()).collect();
        self.changed_lines(Purpose::ResponseHeader, &lines, self.now(), &mut Vec::new())
    }

    fn content_rules(&self) -> usize {
        self.rewrites.of(Purpose::Content, &self.lists, self.now()).count()
    }

    fn replace(&self, rule: usize, content: &[u8], bytes_max: usize) -> Replaced {
        let mut rules = self.rewrites.of(Purpose::Content, &self.lists, self.now());
        let Some(rule) = rules.nth(rule) else { return Replaced::Nothing };
        if !rule.expression.is_match(content) {
            return Replaced::Nothing;
        }
        match rule.apply(content, bytes_max) {
            Some(text) => {
                let listing = self.listing(rule.list, rule.line);
                Replaced::With(text, listing.map_or_else(|| "".into(), |listing| listing.rule().into()))
            }
            None => Replaced::TooLong,
        }
    }
}
