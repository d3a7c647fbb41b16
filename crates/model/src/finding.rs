//! Evidence: [`Finding`] for what an engine found, [`Incomplete`] for what could not be inspected. Rule: no opinion here.

use crate::part::{Buffer, PartId};
use std::fmt;
use std::sync::Arc;

/// Who found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Virus signatures.
    Antivirus,
    /// Spam rules.
    Antispam,
    /// Intrusion rules.
    Ids,
    /// Web lists and phrases.
    Webfilter,
    /// The decoders themselves: anomalies of format.
    Content,
    /// Policy's own bans on names and types.
    Policy,
}

impl Engine {
    /// The name used in events and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Antivirus => "antivirus",
            Self::Antispam => "antispam",
            Self::Ids => "ids",
            Self::Webfilter => "webfilter",
            Self::Content => "content",
            Self::Policy => "policy",
        }
    }
}

/// What kind of finding it is: policy has one action for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A virus signature matched.
    Virus,
    /// A potentially unwanted application (signatures named `PUA.`).
    Pua,
    /// A spam score over its threshold.
    Spam,
    /// An intrusion rule matched that wants it stopped (`drop`, `reject`).
    Intrusion,
    /// An intrusion rule matched that wants to be told of it (`alert`).
    Alert,
    /// An unwanted page.
    Web,
    /// Two readings of one format disagree, or a format is bent in a way that hides content.
    Anomaly,
    /// A name that policy bans.
    BannedName,
    /// A type that policy bans.
    BannedType,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Virus,
        Self::Pua,
        Self::Spam,
        Self::Intrusion,
        Self::Alert,
        Self::Web,
        Self::Anomaly,
        Self::BannedName,
        Self::BannedType,
    ];

    /// The name used in configuration and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Virus => "virus",
            Self::Pua => "pua",
            Self::Spam => "spam",
            Self::Intrusion => "intrusion",
            Self::Alert => "alert",
            Self::Web => "web",
            Self::Anomaly => "anomaly",
            Self::BannedName => "banned_name",
            Self::BannedType => "banned_type",
        }
    }
}

/// What an intrusion rule says of itself: EVE's `alert` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Of the rules that match at one moment, the one with the lowest goes first.
    pub rank: u32,
    /// Who numbers it (`gid`), mostly 1.
    pub generator: u32,
    /// Its number (`sid`).
    pub id: u32,
    /// Its revision (`rev`).
    pub revision: u32,
    /// What its class is called.
    pub category: Arc<str>,
    /// From 1, which weighs most.
    pub severity: u8,
    /// What it wants done.
    pub wish: Wish,
    /// What else it says of itself, name and value of each (`metadata`).
    pub metadata: Arc<[(Box<str>, Box<str>)]>,
}

/// What an intrusion rule wants done with what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Say so (`alert`).
    Tell,
    /// Let it not go on (`drop`, `reject`).
    Stop,
    /// Ask no other rule (`pass`).
    Pass,
}

/// What an engine hands to its [`Sink`](crate::Sink): a finding that does not yet know its part's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What kind of finding it is.
    pub class: Class,
    /// Where the rule stands: `FILE:LINE`, or the rule's id.
    pub rule: Arc<str>,
    /// The name of what was found: a signature's or rule's name.
    pub name: Arc<str>,
    /// Where in the tree.
    pub part: PartId,
    /// In which view.
    pub buffer: Buffer,
    /// At which byte of the view, where the rule is about bytes.
    pub offset: Option<u64>,
    /// What an intrusion rule says of itself.
    pub signature: Option<Arc<Signature>>,
}

/// A [`Hit`] with all that an analyst needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Who found it.
    pub engine: Engine,
    /// What kind of finding it is.
    pub class: Class,
    /// Where the rule stands: `FILE:LINE`, or the rule's id.
    pub rule: Arc<str>,
    /// The name of what was found.
    pub name: Arc<str>,
    /// The part's path from the root.
    pub part: Arc<str>,
    /// In which view.
    pub buffer: Buffer,
    /// At which byte of the view.
    pub offset: Option<u64>,
    /// What an intrusion rule says of itself.
    pub signature: Option<Arc<Signature>>,
}

/// What an engine that counts has counted: not by itself a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// All points together.
    pub sum: i64,
    /// More than this is a finding.
    pub max: i64,
    /// What they are made of, where that is worth keeping.
    pub terms: Vec<PointsTerm>,
}

/// Something that counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointsTerm {
    /// What was found.
    pub name: Arc<str>,
    /// What it counts each time; `None` where it decides by itself.
    pub points: Option<i64>,
    /// How often it counts.
    pub times: u32,
    /// Where the rule stands: `FILE:LINE`.
    pub rule: Arc<str>,
}

/// Why something could not be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The content is encrypted.
    Encrypted,
    /// The content breaks its format's rules, so that what follows cannot be read.
    Damaged,
    /// The content ends before its format says.
    Truncated,
    /// A container or method that no decoder is there for.
    Unsupported,
    /// Nested deeper than `depth_max`.
    Depth,
    /// More parts than `parts_max`.
    Parts,
    /// Decoded bytes outgrow the bytes received by more than `expansion_max`.
    Expansion,
    /// More decoded bytes than `decoded_bytes_max`.
    DecodedBytes,
    /// More than `part_held_bytes_max` would have to be held to read it.
    Held,
    /// A rule or an expression would take more work than it may, or more rules were found at once than are kept.
    Work,
    /// Only a range of the content was transferred.
    Partial,
    /// The process-wide budget of held bytes is spent.
    Budget,
    /// The gateway is overloaded, or a time limit of its own has passed.
    Overload,
    /// An engine is not ready yet.
    Reloading,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Encrypted,
        Self::Damaged,
        Self::Truncated,
        Self::Unsupported,
        Self::Depth,
        Self::Parts,
        Self::Expansion,
        Self::DecodedBytes,
        Self::Held,
        Self::Work,
        Self::Partial,
        Self::Budget,
        Self::Overload,
        Self::Reloading,
    ];

    /// The name used in configuration, events and replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::Damaged => "damaged",
            Self::Truncated => "truncated",
            Self::Unsupported => "unsupported",
            Self::Depth => "depth",
            Self::Parts => "parts",
            Self::Expansion => "expansion",
            Self::DecodedBytes => "decoded_bytes",
            Self::Held => "held",
            Self::Work => "work",
            Self::Partial => "partial",
            Self::Budget => "budget",
            Self::Overload => "overload",
            Self::Reloading => "reloading",
        }
    }

    /// Whether the reason is the gateway's own: then the client is told to come again, whatever policy says,
    /// because load must never open a way round.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Budget | Self::Overload | Self::Reloading)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What could not be inspected, and why. It is never silently clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The part's path from the root.
    pub part: Arc<str>,
    /// Why.
    pub reason: Reason,
}
