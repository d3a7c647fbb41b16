//! What the lists say of a whole request, and of what comes back: [`Database::judge`]. Rule: one order of lists, for the wire
//! and for people who ask.

use crate::address::Address;
use crate::database::{Closeness, Database, Files, List, Match, Sort};
use crate::decision::{Decision, Listing, Outcome};
use crate::moment::Moment;
use crate::patterns::Patterns;
use crate::request::Request;
use crate::ruleset::kind::{Purpose, Rank};
use crate::ruleset::words;

/// What stands for a rule that is in the configuration and in no list.
const ONLY_EXCEPTED: &str = "webfilter.downloads";

impl Database {
    /// What the lists say of a URL at a time, when nothing else is known of the request.
    pub fn decide(&self, address: &Address, now: Moment) -> Decision {
        self.decision(self.listed(address, now), now)
    }

    /// What the lists say of a request at a time.
    pub fn judge(&self, request: &Request, now: Moment) -> Decision {
        let mut matches = self.listed(&request.address, now);
        if let Some(referrer) = &request.referrer {
            let mut from = Vec::new();
            self.find_sites(referrer, &mut from);
            from.retain(|found| self.is_of(found, Rank::RefererException));
            matches.append(&mut from);
        }
        let words = self.words(request, now);
        self.find(Sort::Words, words.as_bytes(), Closeness::Pattern, &mut matches);
        for line in &request.lines {
            find_patterns(&self.headers, line, &mut matches);
        }
        find_patterns(&self.user_agents, &request.user_agent, &mut matches);
        if let Some(client) = request.client {
            let known = self.clients.find(client).map(|range| Match {
                list: range.list,
                line: range.line,
                closeness: Closeness::Network,
                pattern: client.to_string().into_bytes().into(),
            });
            matches.extend(known);
        }
        self.decision(matches, now)
    }

    /// Every line that has an address.
    fn listed<'a>(&'a self, address: &'a Address, now: Moment) -> Vec<Match<'a>> {
        let mut matches = Vec::new();
        self.find_sites(address, &mut matches);
        self.find_others(address, &mut matches);
        // Those lists are about where it comes from.
        matches.retain(|found| !self.is_of(found, Rank::RefererException));
        if !self.is_fetched_freely(&matches, now) {
            self.find_extension(address, &mut matches);
        }
        matches
    }

    /// The words that a request looks for, in their normal form; none where it looks for nothing.
    pub(crate) fn words(&self, request: &Request, now: Moment) -> String {
        if !self.sorts.has(Sort::Words) || !self.no_searches.find(&request.url).is_empty() {
            return String::new();
        }
        let changed = self.rewrites.apply(Purpose::Search, &request.url, &self.lists, now);
        changed.map_or_else(String::new, |changed| words::normal(&changed.text))
    }

    /// What the lists say of a media type that the URL turns out to be of.
    pub fn decide_type(&self, address: &Address, media_type: &str, now: Moment) -> Decision {
        let mut found = Vec::new();
        self.find(Sort::MediaType, media_type.as_bytes(), Closeness::Name, &mut found);
        if found.is_empty() && self.files == Files::AllButBanned {
            return Decision::default();
        }
        let mut matches = Vec::new();
        self.find_sites(address, &mut matches);
        if self.is_fetched_freely(&matches, now) {
            return Decision::default();
        }
        if self.files == Files::OnlyExcepted {
            self.find_extension(address, &mut found);
            let is_excepted = found.iter().any(|found| self.is_of(found, Rank::FileAllowed));
            return if is_excepted { Decision::default() } else { not_excepted(media_type) };
        }
        self.decision(found, now)
    }

    /// Whether anything of a header beyond method, host and path matters.
    pub(crate) fn looks_at_headers(&self) -> bool {
        let is_about_referrers = |list: &List| list.rank == Rank::RefererException && list.has_entries;
        let has_referrers = self.lists.iter().any(is_about_referrers);
        has_referrers || self.headers.len() > 0 || self.user_agents.len() > 0
    }

    fn is_of(&self, found: &Match<'_>, rank: Rank) -> bool {
        self.lists.get(usize::from(found.list)).is_some_and(|list| list.rank == rank)
    }
}

fn find_patterns<'a>(patterns: &'a Patterns, text: &[u8], out: &mut Vec<Match<'a>>) {
    if patterns.len() == 0 || text.is_empty() {
        return;
    }
    for pattern in patterns.find(text) {
        let (list, line, closeness) = (pattern.list, pattern.line, Closeness::Pattern);
        out.push(Match { list, line, closeness, pattern: pattern.text.as_bytes().into() });
    }
}

/// All types of files are banned but some, of which this is none.
fn not_excepted(media_type: &str) -> Decision {
    let by = Listing {
        outcome: Outcome::Banned,
        file: ONLY_EXCEPTED.into(),
        line: 0,
        category: "a type of file that is not excepted".into(),
        pattern: media_type.to_owned(),
    };
    Decision { outcome: Outcome::Banned, by: Some(by), also: Vec::new() }
}
