//! The configuration file: [`Config::load`]. Rule: a file is taken whole or refused with every problem in it.
//!
//! `table` is the frame of the settings table, `keys` and the files `keys_*` are its rows, `draft` is where their
//! values go; `reference` shows the rows to people, `describe` what a file says.

mod describe;
mod draft;
mod keys;
mod keys_ids;
mod keys_interception;
mod keys_listen;
mod keys_page;
mod keys_policy;
mod keys_webfilter;
mod problem;
pub(crate) mod reference;
mod table;
mod value;

#[cfg(test)]
mod tests;

pub use crate::config::describe::describe;
pub use crate::config::draft::{Cache, GroupLists, Source};
pub use crate::config::problem::Problem;

use crate::config::draft::{Draft, GroupDraft, ListenDraft};
use crate::config::problem::Problems;
use crate::config::table::{Section, unknown_key};
use lockgate_inspect::{Group, Policy};
use lockgate_model::Limits;
use lockgate_relay::quarantine::is_used_by;
use lockgate_relay::settings::{
    Certificate, DEFAULT_HTTP_ADDRESS, Intercept, Listener, NextHop, Settings, Speaks, Switch, Tls,
};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The configuration that serves where none is given.
const EMBEDDED: &str = include_str!("../../../../config/lockgate.toml");

/// How the embedded configuration is called in messages.
pub(crate) const EMBEDDED_NAME: &str = "(embedded default configuration)";

/// Among how many listeners one is looked for that a wrong name may mean.
const NAMES_COMPARED_MAX: usize = 100;

/// All that a configuration file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file's name as it was given.
    pub file: String,
    /// For the relay.
    pub settings: Settings,
    /// For content.
    pub limits: Limits,
    /// Where signatures come from.
    pub databases: Vec<Source>,
    /// Where what is compiled of them is kept.
    pub cache: Cache,
    /// Where web lists come from.
    pub lists: Vec<Source>,
    /// Where intrusion rules come from.
    pub rules: Vec<Source>,
    /// What their variables stand for: name and list.
    pub rule_variables: Vec<(String, String)>,
    /// Which rules go first of those that match at one moment.
    pub action_order: Vec<String>,
    /// How their phrases judge pages.
    pub phrases: lockgate_webfilter::phrases::Settings,
    /// Which types of files may be fetched.
    pub files: lockgate_webfilter::Files,
    /// What of them the groups have of their own.
    pub group_lists: Vec<GroupLists>,
    /// Who is judged how.
    pub policy: Policy,
}

impl Config {
    /// Reads a file, or the embedded default where none is named.
    pub fn load(path: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let mut config = match path {
            None => Self::parse(EMBEDDED_NAME, EMBEDDED.as_bytes(), Path::new(""))?,
            Some(path) => {
                let name = path.display().to_string();
                let bytes = std::fs::read(path)
                    .map_err(|error| one_problem(&name, "", format!("cannot be read: {error}")))?;
                Self::parse(&name, &bytes, path.parent().unwrap_or(Path::new("")))?
            }
        };
        if config.settings.hostname == Settings::default().hostname {
            config.settings.hostname = system_hostname().unwrap_or(config.settings.hostname);
        }
        Ok(config)
    }

    /// Reads the content of a file, and nothing besides; relative paths in it start at `base`.
    pub fn parse(file: &str, content: &[u8], base: &Path) -> Result<Self, Vec<Problem>> {
        let Ok(text) = std::str::from_utf8(content) else {
            let valid = content.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            return Err(one_problem(file, valid, "what follows is not UTF-8: save the file as UTF-8"));
        };
        let mut reading = Reading::new(file, text, base);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            reading.problems.add(error.span().unwrap_or(0..0), no_toml(error.message()));
        }
        reading.document(document.get_ref());
        reading.finish(file)
    }
}

/// A file as it is being read.
struct Reading<'a> {
    base: &'a Path,
    problems: Problems<'a>,
    draft: Draft,
    listeners: Vec<Listener>,
    names: HashSet<String>,
    /// Who listens there.
    addresses: HashMap<SocketAddr, String>,
    /// The last numbers given to listeners without a name.
    smtp_number: usize,
    pop3_number: usize,
    http_number: usize,
    policy: GroupDraft,
    groups: Vec<(Group, Range<usize>)>,
    group_names: HashSet<String>,
    group_lists: Vec<GroupLists>,
}

impl<'a> Reading<'a> {
    fn new(file: &'a str, text: &'a str, base: &'a Path) -> Self {
        Self {
            base,
            problems: Problems::new(file, text),
            draft: Draft::default(),
            listeners: Vec::new(),
            names: HashSet::new(),
            addresses: HashMap::new(),
            smtp_number: 0,
            pop3_number: 0,
            http_number: 0,
            policy: GroupDraft::default(),
            groups: Vec::new(),
            group_names: HashSet::new(),
            group_lists: Vec::new(),
        }
    }

    fn document(&mut self, document: &DeTable<'_>) {
        for (name, value) in document {
            match name.get_ref().as_ref() {
                "gateway" => self.section(&keys::GATEWAY, value),
                "antivirus" => self.section(&keys::ANTIVIRUS, value),
                "limits" => self.section(&keys::LIMITS, value),
                "events" => self.section(&keys::EVENTS, value),
                "page" => self.section(&keys_page::PAGE, value),
                "listen" => self.each(value, "listen", Self::listener),
                "policy" => self.policy(value),
                "tls_interception" => self.section(&keys_interception::INTERCEPTION, value),
                "webfilter" => self.section(&keys_webfilter::WEBFILTER, value),
                "ids" => self.section(&keys_ids::IDS, value),
                engine @ "antispam" => {
                    let message = format!("[{engine}] is not there yet in this version: take it out");
                    self.problems.add(name.span(), message);
                }
                unknown => {
                    let known = [
                        "gateway",
                        "listen",
                        "antivirus",
                        "webfilter",
                        "ids",
                        "tls_interception",
                        "policy",
                        "page",
                        "limits",
                        "events",
                    ];
                    let message = unknown_key(unknown, "the file", known.into_iter());
                    self.problems.add(name.span(), message);
                }
            }
        }
    }

    fn section(&mut self, section: &Section<Draft>, value: &Spanned<DeValue<'_>>) {
        section.fill_value(&mut self.draft, value, self.base, &mut self.problems);
    }

    /// Reads each table of `[[name]]`.
    fn each(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        name: &str,
        read: fn(&mut Self, &DeTable<'_>, Range<usize>),
    ) {
        let items: &[Spanned<DeValue<'_>>] = match value.get_ref().as_array() {
            Some(items) => items,
            None => std::slice::from_ref(value),
        };
        for item in items {
            match item.get_ref().as_table() {
                Some(table) if value.get_ref().is_array() => read(self, table, item.span()),
                _ => {
                    let message = format!("there may be several of {name}: write [[{name}]]");
                    self.problems.add(item.span(), message);
                }
            }
        }
    }

    fn listener(&mut self, table: &DeTable<'_>, span: Range<usize>) {
        let mut draft = ListenDraft::default();
        keys_listen::LISTEN.fill(&mut draft, table, self.base, &[], &mut self.problems);
        for message in wrong_with(&draft) {
            self.problems.add(span.clone(), message);
        }
        let mut listener = draft.listener.clone();
        listener.certificate = draft.pair();
        if listener.protocol == Speaks::Http && !draft.address_given {
            listener.address = DEFAULT_HTTP_ADDRESS;
        }
        if listener.protocol == Speaks::Http && !draft.next_hop_given {
            listener.next_hop = NextHop::Original;
        }
        listener.name = match &draft.name {
            Some(name) => name.clone(),
            None => self.free_name(listener.protocol),
        };
        if !self.names.insert(listener.name.clone()) {
            let message =
                format!("another listener is called {:?}: give this one a name of its own", listener.name);
            self.problems.add(span.clone(), message);
        }
        match self.addresses.entry(listener.address) {
            Entry::Occupied(taken) => {
                let (address, by) = (taken.key(), taken.get());
                let message =
                    format!("listener {by:?} has the address {address} already: give this one another");
                self.problems.add(span, message);
            }
            Entry::Vacant(free) => _ = free.insert(listener.name.clone()),
        }
        self.listeners.push(listener);
    }

    /// The protocol's name, numbered where it is taken.
    fn free_name(&mut self, protocol: Speaks) -> String {
        let word = protocol.name();
        let number = match protocol {
            Speaks::Smtp => &mut self.smtp_number,
            Speaks::Pop3 => &mut self.pop3_number,
            Speaks::Http => &mut self.http_number,
        };
        loop {
            // What was taken stays taken, so the next search goes on from here.
            *number += 1;
            let name = if *number == 1 { word.to_owned() } else { format!("{word}-{number}") };
            if !self.names.contains(&name) {
                return name;
            }
        }
    }

    fn policy(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(table) = value.get_ref().as_table() else {
            return keys_policy::POLICY.fill_value(&mut self.policy, value, self.base, &mut self.problems);
        };
        keys_policy::POLICY.fill(&mut self.policy, table, self.base, &["group"], &mut self.problems);
        // Groups begin as a copy of [policy], so they are read after all of it.
        if let Some((_, groups)) = table.iter().find(|(name, _)| name.get_ref() == "group") {
            self.each(groups, "policy.group", Self::group);
        }
    }

    fn group(&mut self, table: &DeTable<'_>, span: Range<usize>) {
        let mut draft = self.policy.copy_named("");
        keys_policy::GROUP.fill(&mut draft, table, self.base, &[], &mut self.problems);
        let name = draft.group.name.clone();
        if name.is_empty() {
            self.problems.add(span.clone(), "policy.group: a name is required: add name = \"…\"");
        } else if name == Group::DEFAULT_NAME {
            let message = "policy.group: \"default\" is the name of [policy] itself: choose another";
            self.problems.add(span.clone(), message);
        } else if !self.group_names.insert(name.clone()) {
            self.problems.add(
                span.clone(),
                format!("policy.group: another group is called {name:?}: choose another name"),
            );
        }
        let own = GroupLists { group: name, lists: draft.lists.clone(), points_max: draft.points_max };
        self.group_lists.extend(Some(own).filter(|own| own.lists.is_some() || own.points_max.is_some()));
        self.groups.push((draft.finish(), span));
    }

    fn finish(mut self, file: &str) -> Result<Config, Vec<Problem>> {
        self.check_groups();
        let pair = (self.draft.authority_certificate.take(), self.draft.authority_key.take());
        let authority = match pair {
            (Some(chain), Some(key)) => Some(Certificate { chain, key }),
            (None, None) => None,
            _ => {
                self.problems.add(0..0, "tls_interception: certificate and key go together: set both");
                None
            }
        };
        let problems = self.problems.into_sorted();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut settings = self.draft.settings;
        settings.listeners = self.listeners;
        settings.interception.authority = authority;
        settings.quarantine_directory = self.policy.quarantine.clone();
        let groups = self.groups.into_iter().map(|(group, _)| group).chain([self.policy.finish()]);
        Ok(Config {
            file: file.to_owned(),
            settings,
            limits: self.draft.limits,
            databases: self.draft.databases,
            cache: self.draft.cache,
            lists: self.draft.lists,
            rules: self.draft.rules,
            rule_variables: self.draft.rule_variables,
            action_order: self.draft.action_order,
            phrases: self.draft.phrases,
            files: self.draft.files,
            group_lists: self.group_lists,
            policy: Policy::new(groups.collect()),
        })
    }

    /// What no single key can know: whether what policy speaks of is there.
    fn check_groups(&mut self) {
        for (group, span) in &self.groups {
            for name in group.covers.listeners.iter().filter(|name| !self.names.contains(*name)) {
                // Thousands of wrong names among thousands of listeners are a made-up file: it must end, too.
                let known =
                    self.listeners.iter().take(NAMES_COMPARED_MAX).map(|listener| listener.name.as_str());
                let message = match problem::nearest(name, known) {
                    Some(near) => {
                        format!("policy.group: no listener is called {name:?}: did you mean {near:?}?")
                    }
                    None => format!(
                        "policy.group: no listener is called {name:?}: write the name of one, or take it out"
                    ),
                };
                self.problems.add(span.clone(), message);
            }
        }
        let default = (self.policy.finish(), 0..0);
        let asking = self.groups.iter().chain([&default]).find(|(group, _)| is_used_by(group));
        if let (Some((group, span)), None) = (asking, &self.policy.quarantine) {
            let message = format!(
                "policy group {:?} has the action \"quarantine\", but there is no place for it: set quarantine = \"DIRECTORY\" in [policy]",
                group.name
            );
            self.problems.add(span.clone(), message);
        }
    }
}

/// What is no TOML. Its parser says what it expected; where it does not, what to do is said here.
fn no_toml(message: &str) -> String {
    match message {
        "duplicate key" => "this key is there already: take one of them out".to_owned(),
        _ if message.contains(", expected ") => message.to_owned(),
        _ => format!("{message}: this is no TOML, docs/reference.md says how each key is written"),
    }
}

/// What ends the reading, at the end of what was read.
fn one_problem(file: &str, read: &str, message: impl Into<String>) -> Vec<Problem> {
    let mut problems = Problems::new(file, read);
    problems.add(read.len()..read.len(), message);
    problems.into_sorted()
}

/// What does not fit together in one listener.
fn wrong_with(draft: &ListenDraft) -> Vec<String> {
    let listener = &draft.listener;
    let mut wrong = Vec::new();
    if listener.protocol == Speaks::Http {
        wrong.extend(wrong_with_web(draft));
    } else if !draft.next_hop_given {
        wrong.push(
            "listen: where does mail go on to? Add next_hop = \"HOST:PORT\", \"original\" or \"maildir:PATH\"",
        );
    }
    if listener.users.is_some() && listener.protocol != Speaks::Http {
        wrong.push(
            "listen: users are for http: mail clients give their names to the next hop, take users out",
        );
    }
    match &listener.next_hop {
        NextHop::Maildir(_) if listener.protocol == Speaks::Pop3 => {
            wrong.push("listen: only smtp delivers into a maildir: give pop3 a server as next_hop");
        }
        NextHop::Original
            if listener.intercept == Intercept::Explicit && listener.protocol != Speaks::Http =>
        {
            wrong.push(
                "listen: next_hop = \"original\" needs intercept = \"redirect\" or \"tproxy\": otherwise there is none",
            );
        }
        _ => {}
    }
    if listener.tls != Tls::Off && draft.pair().is_none() {
        wrong.push("listen: tls needs a certificate: set certificate = \"CHAIN.pem\" and key = \"KEY.pem\"");
    }
    if draft.certificate.is_some() != draft.key.is_some() {
        wrong.push("listen: certificate and key go together: set both");
    }
    wrong.into_iter().map(str::to_owned).collect()
}

/// What a web proxy cannot do (yet).
fn wrong_with_web(draft: &ListenDraft) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if draft.next_hop_given && draft.listener.next_hop != NextHop::Original {
        wrong.push("listen: http goes to where each request is for: take next_hop out");
    }
    if draft.listener.tls != Tls::Off && draft.listener.intercept_tls == Switch::On {
        wrong.push("listen: a proxy under TLS cannot intercept the TLS within it: set tls = \"off\", or intercept_tls = false");
    }
    if matches!(draft.listener.tls, Tls::Offered | Tls::Required) {
        wrong.push("listen: http has no STARTTLS: set tls = \"implicit\" for a proxy under TLS, or \"off\"");
    }
    if draft.listener.users.is_some() && draft.listener.intercept == Intercept::Tproxy {
        wrong.push(
            "listen: whom tproxy intercepts knows of no proxy and is never asked who he is: take users out, or give clients a listener of their own",
        );
    }
    wrong
}

/// What the kernel calls this machine.
fn system_hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._".contains(&c));
    is_name.then(|| name.to_owned())
}

/// The paths of databases for messages.
pub(crate) fn source_name(source: &Source) -> PathBuf {
    match source {
        Source::Demonstration => PathBuf::from(Source::DEMONSTRATION),
        Source::Path(path) => path.clone(),
    }
}
