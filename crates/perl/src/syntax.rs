//! A Perl expression as a tree. Rule: flags are spent while it is read: a node means the same wherever it stands.

/// Bytes, any number of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; 4]);

impl Set {
    pub fn of(belongs: impl Fn(u8) -> bool) -> Self {
        let mut set = Self::default();
        (0..=255).filter(|byte| belongs(*byte)).for_each(|byte| set.add(byte));
        set
    }

    pub fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & 1 << (byte & 63) != 0
    }

    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    #[must_use]
    pub fn inverse(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// With both cases of each letter.
    #[must_use]
    pub fn any_case(self) -> Self {
        Self::of(|byte| {
            self.has(byte.to_ascii_lowercase()) || self.has(byte.to_ascii_uppercase()) || self.has(byte)
        })
    }
}

/// How a repetition takes its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taste {
    /// As much as it can, less if it must.
    Greedy,
    /// As little as it can, more if it must.
    Lazy,
    /// As much as it can, never less.
    Possessive,
}

/// What holds between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Start,
    /// Where the search began: `\G`.
    SearchStart,
    End,
    /// The end, or before a line's end that is the last byte.
    EndOrLastLine,
    LineStart,
    LineEnd,
    WordEdge,
    NotWordEdge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Ahead,
    Behind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    Positive,
    Negative,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    AsWritten,
    AnyCase,
}

/// What a search does when it comes back to a verb (pcre2pattern, "Backtracking control").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// `(*FAIL)`: there is no way on.
    Fail,
    /// `(*PRUNE)`: no match begins where this one did.
    Prune,
    /// `(*SKIP)`: none begins before the verb's place.
    Skip,
    /// `(*SKIP:name)`: none begins before the place of that mark.
    SkipTo(Box<[u8]>),
    /// `(*COMMIT)`: there is none at all.
    Commit,
    /// `(*THEN)`: on with the next branch.
    Then,
    /// `(*NO_START_OPT)`: a match is tried everywhere, also where its first byte does not stand.
    Everywhere,
    /// `(*MARK:name)`.
    Mark(Box<[u8]>),
}

/// What decides between two branches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// One of the groups has matched.
    Matched(Box<[u32]>),
    /// We are in a call: of any group, or of one of these.
    Called(Option<Box<[u32]>>),
    Look(Way, Sense, Box<Node>),
    /// Never: the branch is there to be called.
    Define,
}

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Byte(u8),
    Set(Box<Set>),
    Place(Place),
    All(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        taste: Taste,
    },
    Capture(u32, Box<Node>),
    Look(Way, Sense, Box<Node>),
    Atomic(Box<Node>),
    /// What the first of these groups that has matched took.
    Back(Box<[u32]>, Letters),
    If(Condition, Box<Node>, Box<Node>),
    /// What the group's expression matches here; 0 is the whole.
    Call(u32),
    /// The match is said to begin here.
    Keep,
    Verb(Verb),
    /// `(*ACCEPT)`: a match, whatever follows.
    Accept,
}

impl Default for Node {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Node {
    /// What stands directly within.
    pub fn inner(&self) -> impl Iterator<Item = &Node> {
        let (many, one, other): (&[Node], Option<&Node>, Option<&Node>) = match self {
            Self::All(nodes) | Self::Either(nodes) => (nodes, None, None),
            Self::Repeat { node, .. }
            | Self::Capture(_, node)
            | Self::Look(_, _, node)
            | Self::Atomic(node) => (&[], Some(node), None),
            Self::If(Condition::Look(_, _, look), yes, no) => {
                (std::slice::from_ref(look), Some(yes), Some(no))
            }
            Self::If(_, yes, no) => (&[], Some(yes), Some(no)),
            Self::Byte(_)
            | Self::Set(_)
            | Self::Place(_)
            | Self::Back(..)
            | Self::Call(_)
            | Self::Keep
            | Self::Verb(_)
            | Self::Accept => (&[], None, None),
        };
        many.iter().chain(one).chain(other)
    }

    /// Whether this or anything within is such.
    pub fn has(&self, is_such: &dyn Fn(&Node) -> bool) -> bool {
        is_such(self) || self.inner().any(|node| node.has(is_such))
    }

    /// The branches of what is looked for.
    pub fn branches(&self) -> &[Node] {
        match self {
            Self::Either(branches) => branches,
            one => std::slice::from_ref(one),
        }
    }
}
