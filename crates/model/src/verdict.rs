//! What is to become of a transaction: [`Verdict`]. Rule: ordered, so that the worst of several is their maximum.

/// From the mildest to the hardest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It goes on as it came.
    #[default]
    Pass,
    /// It goes on, marked.
    Tag,
    /// It goes no further; a copy is kept.
    Quarantine,
    /// The client is told to come again.
    Defer,
    /// The client is refused for good.
    Reject,
}

impl Verdict {
    /// All of them, mildest first.
    pub const ALL: [Self; 5] = [Self::Pass, Self::Tag, Self::Quarantine, Self::Defer, Self::Reject];

    /// The name used in configuration, events and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Tag => "tag",
            Self::Quarantine => "quarantine",
            Self::Defer => "defer",
            Self::Reject => "reject",
        }
    }

    /// The verdict of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.name() == name)
    }
}
