//! What is to be done about what was found: [`Policy`], one [`Group`] for each sort of people. Rule: the only place with opinions.

use lockgate_model::{Class, FileType, Network, Part, Reason, Verdict};
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The groups, in order: the first that covers a transaction judges it, the last covers everything.
#[derive(Clone, Debug)]
pub struct Policy {
    groups: Vec<Arc<Group>>,
}

/// Whom a group is for. An empty list covers everybody; all lists must agree.
#[derive(Clone, Debug, Default)]
pub struct Covers {
    /// Addresses (`a@example.org`) or domains (`example.org`, with its subdomains where written `.example.org`).
    pub recipients: Vec<String>,
    /// Names of listeners.
    pub listeners: Vec<String>,
    /// Users, as they name themselves to the proxy; `*` stands for everybody who does.
    pub users: Vec<String>,
    /// Networks of clients.
    pub networks: Vec<Network>,
}

/// Whose transaction it is, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// A mail's recipient.
    pub recipient: Option<&'a str>,
    /// Who has proved to be that user.
    pub user: Option<&'a str>,
    /// The listener's name.
    pub listener: &'a str,
    /// The client's address.
    pub client: IpAddr,
}

/// A name with `*` and `?`, compared without regard to ASCII case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

/// A ban, and what is to become of a mail that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban<T> {
    /// What is banned.
    pub what: T,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// All bans of one sort, in their order. Copies share them: thousands of groups may have the same thousands.
#[derive(Clone, Debug)]
pub struct Bans<T>(Arc<SharedBans<T>>);

#[derive(Debug)]
struct SharedBans<T> {
    bans: Vec<Ban<T>>,
    /// By verdict: whether it is that of any.
    has: [bool; Verdict::ALL.len()],
}

/// One set of actions.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name in configuration and events.
    pub name: String,
    /// Whom it is for.
    pub covers: Covers,
    findings: [Verdict; Class::ALL.len()],
    incomplete: [Verdict; Reason::ALL.len()],
    /// Banned names of parts, at every depth.
    pub banned_names: Bans<NamePattern>,
    /// Banned types of parts, detected by content, at every depth.
    pub banned_types: Bans<FileType>,
    /// How long a page that is not wanted can be had all the same, by a link on the page that comes in its place.
    pub bypass: Option<Duration>,
    /// What `tag` becomes for content that has left already: `pass`, `defer` or `reject`.
    pub tag_when_streamed: Verdict,
}

impl<T> Bans<T> {
    /// Whether any of them has this verdict.
    pub fn have(&self, verdict: Verdict) -> bool {
        self.0.has[verdict as usize]
    }

    /// Whether they are not only alike but the same in memory.
    pub fn are_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> FromIterator<Ban<T>> for Bans<T> {
    fn from_iter<I: IntoIterator<Item = Ban<T>>>(bans: I) -> Self {
        let bans: Vec<_> = bans.into_iter().collect();
        let mut has = [false; Verdict::ALL.len()];
        bans.iter().for_each(|ban| has[ban.verdict as usize] = true);
        Self(Arc::new(SharedBans { bans, has }))
    }
}

impl<T> Default for Bans<T> {
    fn default() -> Self {
        [].into_iter().collect()
    }
}

impl<T> Deref for Bans<T> {
    type Target = [Ban<T>];

    fn deref(&self) -> &[Ban<T>] {
        &self.0.bans
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Policy {
    /// These groups, then one named `default` with safe actions where none of that name is given.
    pub fn new(groups: Vec<Group>) -> Self {
        let (mut defaults, mut groups): (Vec<_>, Vec<_>) =
            groups.into_iter().map(Arc::new).partition(|g| g.name == Group::DEFAULT_NAME);
        groups.push(defaults.pop().unwrap_or_else(|| Arc::new(Group::new(Group::DEFAULT_NAME))));
        Self { groups }
    }

    /// The group for a transaction.
    pub fn group_for(&self, who: Who<'_>) -> &Arc<Group> {
        let covering = self.groups.iter().find(|g| g.covers.matches(who));
        // The last group is the default one, which covers everything.
        covering.unwrap_or_else(|| &self.groups[self.groups.len() - 1])
    }

    /// All groups, in the order in which they are asked.
    pub fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }
}

impl Group {
    /// The name of the group that covers whoever no other group covers.
    pub const DEFAULT_NAME: &'static str = "default";

    /// A group with the default actions: viruses, intrusions and bans are rejected, alerts are told and pass, the rest is tagged.
    pub fn new(name: &str) -> Self {
        let mut group = Self {
            name: name.to_owned(),
            covers: Covers::default(),
            findings: [Verdict::Tag; Class::ALL.len()],
            incomplete: [Verdict::Tag; Reason::ALL.len()],
            banned_names: Bans::default(),
            banned_types: Bans::default(),
            bypass: None,
            tag_when_streamed: Verdict::Pass,
        };
        for class in [Class::Virus, Class::Intrusion, Class::Web, Class::BannedName, Class::BannedType] {
            group.set_finding(class, Verdict::Reject);
        }
        group.set_finding(Class::Alert, Verdict::Pass);
        for reason in Reason::ALL.into_iter().filter(|r| r.is_ours()) {
            group.set_incomplete(reason, Verdict::Defer);
        }
        group
    }

    /// Sets the action for a class of findings.
    pub fn set_finding(&mut self, class: Class, verdict: Verdict) {
        self.findings[class as usize] = verdict;
    }

    /// Sets the action for a reason of `Incomplete`. One of ours is never milder than `defer`: load must never open a
    /// way round.
    pub fn set_incomplete(&mut self, reason: Reason, verdict: Verdict) {
        let least = if reason.is_ours() { Verdict::Defer } else { Verdict::Pass };
        self.incomplete[reason as usize] = verdict.max(least);
    }

    /// The action for a class of findings.
    pub fn on_finding(&self, class: Class) -> Verdict {
        self.findings[class as usize]
    }

    /// The action where a content coding cannot be undone, or the content is something else without it. A client that
    /// undoes it gets an error anyway, and one that does not would read what was not inspected as what it is. No setting
    /// makes that pass.
    pub fn on_miscoding(&self) -> Verdict {
        Verdict::Reject
    }

    /// The action for a reason of `Incomplete`.
    pub fn on_incomplete(&self, reason: Reason) -> Verdict {
        self.incomplete[reason as usize]
    }

    /// The hardest ban that a part breaks: the class, what was banned, the verdict.
    pub fn ban_on(&self, part: &Part) -> Option<(Class, String, Verdict)> {
        let by_name = part.name.as_deref().and_then(|name| self.ban_on_name(name));
        let by_type = self
            .banned_types
            .iter()
            .filter(|ban| ban.what == part.detected)
            .map(|ban| (Class::BannedType, ban.what.name().to_owned(), ban.verdict));
        by_name.into_iter().chain(by_type).max_by_key(|(_, _, verdict)| *verdict)
    }

    /// As [`Group::ban_on`], of a name alone.
    pub fn ban_on_name(&self, name: &str) -> Option<(Class, String, Verdict)> {
        self.banned_names
            .iter()
            .filter(|ban| ban.what.matches(name))
            .map(|ban| (Class::BannedName, ban.what.0.clone(), ban.verdict))
            .max_by_key(|(_, _, verdict)| *verdict)
    }
}

/// Stands for every user in [`Covers::users`].
const EVERY_USER: &str = "*";

impl Covers {
    fn matches(&self, Who { recipient, user, listener, client }: Who<'_>) -> bool {
        let by_recipient = self.recipients.is_empty()
            || recipient.is_some_and(|r| self.recipients.iter().any(|pattern| recipient_matches(pattern, r)));
        let by_listener = self.listeners.is_empty() || self.listeners.iter().any(|l| l == listener);
        let by_network = self.networks.is_empty() || self.networks.iter().any(|n| n.contains(client));
        let by_user = self.users.is_empty()
            || user.is_some_and(|user| self.users.iter().any(|one| one == user || one == EVERY_USER));
        by_recipient && by_listener && by_network && by_user
    }
}

/// `a@b` matches itself; `b` the domain; `.b` the domain and those below it.
fn recipient_matches(pattern: &str, recipient: &str) -> bool {
    if pattern.contains('@') {
        return pattern.eq_ignore_ascii_case(recipient);
    }
    let domain = recipient.rsplit_once('@').map_or("", |(_, domain)| domain);
    match pattern.strip_prefix('.') {
        None => pattern.eq_ignore_ascii_case(domain),
        Some(parent) => {
            let above = domain.len().checked_sub(parent.len());
            let tail = above.and_then(|at| domain.get(at..));
            tail.is_some_and(|t| t.eq_ignore_ascii_case(parent))
                && above.is_some_and(|at| at == 0 || domain.as_bytes()[at - 1] == b'.')
        }
    }
}

impl NamePattern {
    /// A pattern such as `*.exe`.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_ascii_lowercase())
    }

    /// Whether a name matches. Trailing dots and spaces are not part of a name: some systems drop them when they save.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
        glob(self.0.as_bytes(), name.as_bytes())
    }
}

/// `*` and `?` in time of at most pattern × name: the last star is the only place to go back to.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                last_star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match last_star {
                Some((star, from)) => {
                    last_star = Some((star, from + 1));
                    (p, n) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, name, expected) in [
            ("*.exe", "a.EXE", true),
            ("*.exe", "a.exe.", true),
            ("*.exe", "a.exe.txt", false),
            ("*", "", true),
            ("?", "", false),
            ("a*b*c", "a__b__b_c", true),
            ("a*b*c", "a__b__b_d", false),
            ("invoice??.js", "invoice17.js", true),
        ] {
            assert_eq!(NamePattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_group_that_covers_judges() {
        let mut staff = Group::new("staff");
        staff.covers.recipients = vec![".example.org".into(), "boss@example.com".into()];
        let policy = Policy::new(vec![staff]);
        let client = "192.0.2.1".parse().unwrap();
        fn who(recipient: Option<&str>, client: IpAddr) -> Who<'_> {
            Who { recipient, user: None, listener: "mx", client }
        }
        let group = |r: &str| policy.group_for(who(Some(r), client)).name.clone();
        assert_eq!(group("a@example.org"), "staff");
        assert_eq!(group("a@sub.Example.org"), "staff");
        assert_eq!(group("a@badexample.org"), "default");
        assert_eq!(group("Boss@example.com"), "staff");
        assert_eq!(group("a@example.com"), "default");
        assert_eq!(policy.group_for(who(None, client)).name, "default");
    }

    #[test]
    fn all_that_a_group_says_of_whom_it_covers_must_agree() {
        let mut pupils = Group::new("pupils");
        pupils.covers.users = vec!["ann".into(), "bob".into()];
        pupils.covers.networks = vec!["192.0.2.0/24".parse().unwrap()];
        let mut known = Group::new("known");
        known.covers.users = vec!["*".into()];
        let mut lobby = Group::new("lobby");
        lobby.covers.listeners = vec!["lobby".into()];
        let policy = Policy::new(vec![pupils, known, lobby]);
        for (user, listener, client, expected) in [
            (Some("ann"), "web", "192.0.2.1", "pupils"),
            (Some("Ann"), "web", "192.0.2.1", "known"),
            (Some("ann"), "web", "198.51.100.1", "known"),
            (Some("eve"), "lobby", "192.0.2.1", "known"),
            (None, "lobby", "192.0.2.1", "lobby"),
            (None, "web", "192.0.2.1", "default"),
        ] {
            let who = Who { recipient: None, user, listener, client: client.parse().unwrap() };
            assert_eq!(policy.group_for(who).name, expected, "{who:?}");
        }
    }

    #[test]
    fn a_reason_of_ours_is_never_passed() {
        let mut group = Group::new("lenient");
        group.set_incomplete(Reason::Budget, Verdict::Pass);
        group.set_incomplete(Reason::Encrypted, Verdict::Pass);
        assert_eq!(group.on_incomplete(Reason::Budget), Verdict::Defer);
        assert_eq!(group.on_incomplete(Reason::Encrypted), Verdict::Pass);
    }
}
