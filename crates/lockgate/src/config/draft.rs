//! Where the rows of the table put their values before the whole is checked: [`Draft`], [`ListenDraft`], [`GroupDraft`].
//! Rule: a draft begins with every default.

use crate::config::value::{Value, Wrong};
use lockgate_inspect::{Ban, Bans, Group, NamePattern};
use lockgate_model::{Class, FileType, Limits, Verdict};
use lockgate_relay::settings::{Certificate, DEFAULT_SMTP_ADDRESS, Listener, NextHop, Settings, Speaks};
use lockgate_webfilter::Files;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

/// Everything but listeners and policy.
#[derive(Clone, Debug)]
pub struct Draft {
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
    pub action_order: Vec<String>,
    /// The certificate of an authority that is given.
    pub authority_certificate: Option<PathBuf>,
    /// Its key.
    pub authority_key: Option<PathBuf>,
    /// How their phrases judge pages.
    pub phrases: lockgate_webfilter::phrases::Settings,
    /// Which types of files may be fetched.
    pub files: Files,
}

/// What of the web filter is a group's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLists {
    /// The group.
    pub group: String,
    /// Its lists, where they are not those of `[webfilter]`.
    pub lists: Option<Vec<Source>>,
    /// How many points a page may have for it, where it is not as many as in `[webfilter]`.
    pub points_max: Option<i32>,
}

/// Where signatures, lists or rules come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The demonstration signatures, lists or rules within the program.
    Demonstration,
    /// A file or directory.
    Path(PathBuf),
}

/// Where compiled signatures are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Beside their sources, or where a program like this one keeps such things.
    Auto,
    /// Nowhere.
    Off,
    /// In this directory.
    In(PathBuf),
}

impl Cache {
    /// Reads a word or a path.
    pub fn read(word: &str, path: impl FnOnce() -> Result<PathBuf, Wrong>) -> Result<Self, Wrong> {
        match word {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => path().map(Self::In),
        }
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            limits: Limits::default(),
            databases: vec![Source::Demonstration],
            cache: Cache::Auto,
            lists: vec![Source::Demonstration],
            rules: vec![Source::Demonstration],
            rule_variables: Vec::new(),
            action_order: ["pass", "drop", "reject", "alert"].map(str::to_owned).into(),
            authority_certificate: None,
            authority_key: None,
            phrases: lockgate_webfilter::phrases::Settings::default(),
            files: Files::default(),
        }
    }
}

impl Source {
    /// How they are called in the configuration.
    pub const DEMONSTRATION: &'static str = "builtin:demonstration";

    /// Reads one of `databases`, `lists` or `rules`.
    pub fn read(value: Value<'_>) -> Result<Self, Wrong> {
        match value.text()? {
            Self::DEMONSTRATION => Ok(Self::Demonstration),
            text if text.starts_with("builtin:") => {
                Err(format!("{text:?} is not known: only {:?} is built in", Self::DEMONSTRATION))
            }
            _ => value.path().map(Self::Path),
        }
    }
}

/// One `[[listen]]` on its way.
#[derive(Clone, Debug)]
pub struct ListenDraft {
    /// What is known so far.
    pub listener: Listener,
    /// Its name, where one is given.
    pub name: Option<String>,
    /// Whether it says where mail goes on to: that has no default.
    pub next_hop_given: bool,
    /// Whether it says where it listens: the default is the protocol's.
    pub address_given: bool,
    /// The chain.
    pub certificate: Option<PathBuf>,
    /// The key.
    pub key: Option<PathBuf>,
}

impl Default for ListenDraft {
    fn default() -> Self {
        let nowhere = NextHop::Address(String::new());
        Self {
            listener: Listener::new("", Speaks::Smtp, DEFAULT_SMTP_ADDRESS, nowhere),
            name: None,
            next_hop_given: false,
            address_given: false,
            certificate: None,
            key: None,
        }
    }
}

impl ListenDraft {
    /// The certificate, where both of its files are given.
    pub fn pair(&self) -> Option<Certificate> {
        let (chain, key) = (self.certificate.clone()?, self.key.clone()?);
        Some(Certificate { chain, key })
    }
}

/// Reads `next_hop`.
pub fn read_next_hop(value: Value<'_>) -> Result<NextHop, Wrong> {
    let text = value.text()?;
    if text == "original" {
        return Ok(NextHop::Original);
    }
    if let Some(path) = text.strip_prefix("maildir:") {
        return match path {
            "" => Err("a path is wanted behind \"maildir:\"".to_owned()),
            _ => Ok(NextHop::Maildir(value.base.join(path))),
        };
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let is_host = !host.is_empty() && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
    match port.parse::<u16>() {
        Ok(1..) if is_host => Ok(NextHop::Address(text.to_owned())),
        _ => Err(format!(
            "{text:?} is no next hop: write \"HOST:PORT\" (an IPv6 address in brackets), \"original\" or \"maildir:PATH\""
        )),
    }
}

/// One group of policy on its way.
#[derive(Clone, Debug)]
pub struct GroupDraft {
    /// What is known so far.
    pub group: Group,
    /// The directory of `[policy]`.
    pub quarantine: Option<PathBuf>,
    /// Web lists of its own.
    pub lists: Option<Vec<Source>>,
    /// How many points a page may have for it.
    pub points_max: Option<i32>,
    names: Rc<BanDraft<NamePattern>>,
    types: Rc<BanDraft<FileType>>,
}

/// Bans on their way: those without an action of their own take that of their class, which may stand further down in the
/// file. Groups that begin with the same ones share them, and what becomes of them: thousands of groups with thousands of
/// bans are no more than both in a row.
#[derive(Debug)]
struct BanDraft<T> {
    bans: Vec<(T, Option<Verdict>)>,
    /// By the action of their class.
    finished: [OnceCell<Bans<T>>; Verdict::ALL.len()],
}

impl<T> Default for BanDraft<T> {
    fn default() -> Self {
        Self { bans: Vec::new(), finished: Default::default() }
    }
}

impl<T: Clone> BanDraft<T> {
    fn with_actions(&self, otherwise: Verdict) -> Bans<T> {
        let ban = |(what, own): &(T, Option<Verdict>)| Ban {
            what: what.clone(),
            verdict: own.unwrap_or(otherwise),
        };
        let finish = || self.bans.iter().map(ban).collect();
        self.finished[otherwise as usize].get_or_init(finish).clone()
    }
}

impl Default for GroupDraft {
    fn default() -> Self {
        Self {
            group: Group::new(Group::DEFAULT_NAME),
            quarantine: None,
            lists: None,
            points_max: None,
            names: Rc::default(),
            types: Rc::default(),
        }
    }
}

impl GroupDraft {
    /// Reads `banned_names`.
    pub fn ban_names(&mut self, value: Value<'_>) -> Result<(), Wrong> {
        self.names = Rc::new(bans(value, |name| Ok(NamePattern::new(name)))?);
        Ok(())
    }

    /// Reads `banned_types`.
    pub fn ban_types(&mut self, value: Value<'_>) -> Result<(), Wrong> {
        let types = bans(value, |name| {
            FileType::from_name(name).ok_or_else(|| {
                let known: Vec<_> = FileType::ALL.iter().map(|known| known.name()).collect();
                format!("{name:?} is no type: write one of {}", known.join(", "))
            })
        });
        self.types = Rc::new(types?);
        Ok(())
    }

    /// Another group that begins like this one.
    pub fn copy_named(&self, name: &str) -> Self {
        let mut copy = self.clone();
        copy.group.name = name.to_owned();
        copy
    }

    /// The group, its bans with their actions.
    pub fn finish(&self) -> Group {
        let mut group = self.group.clone();
        group.banned_names = self.names.with_actions(group.on_finding(Class::BannedName));
        group.banned_types = self.types.with_actions(group.on_finding(Class::BannedType));
        group
    }
}

/// A list of what is banned, or a table that gives each an action of its own.
fn bans<T>(value: Value<'_>, read: impl Fn(&str) -> Result<T, Wrong>) -> Result<BanDraft<T>, Wrong> {
    let finished = Default::default();
    let Some(table) = value.toml.get_ref().as_table() else {
        let bans = value.list(|item| Ok((read(&item.name()?)?, None)))?;
        return Ok(BanDraft { bans, finished });
    };
    let own = |(what, toml): (&toml::Spanned<std::borrow::Cow<'_, str>>, _)| {
        Ok((read(what.get_ref())?, Some(Value { toml, base: value.base }.verdict()?)))
    };
    let bans = table.iter().map(own).collect::<Result<_, Wrong>>()?;
    Ok(BanDraft { bans, finished })
}
