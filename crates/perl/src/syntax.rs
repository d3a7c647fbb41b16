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
    Back(u32, Letters),
    /// One or the other, whether the group has matched.
    If(u32, Box<Node>, Box<Node>),
}

impl Default for Node {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Node {
    /// The least and, if there is one, the greatest number of bytes that it takes.
    pub fn width(&self) -> (u32, Option<u32>) {
        match self {
            Self::Byte(_) | Self::Set(_) => (1, Some(1)),
            Self::Place(_) | Self::Look(..) => (0, Some(0)),
            Self::All(nodes) => {
                nodes.iter().map(Self::width).fold((0, Some(0)), |(min, max), (low, high)| {
                    (min.saturating_add(low), max.zip(high).and_then(|(a, b)| a.checked_add(b)))
                })
            }
            Self::Either(nodes) => nodes
                .iter()
                .map(Self::width)
                .reduce(|(min, max), (low, high)| (min.min(low), max.zip(high).map(|(a, b)| a.max(b))))
                .unwrap_or((0, Some(0))),
            Self::Repeat { node, min, max, .. } => {
                let (low, high) = node.width();
                (low.saturating_mul(*min), high.zip(*max).and_then(|(a, b)| a.checked_mul(b)))
            }
            Self::Capture(_, node) | Self::Atomic(node) => node.width(),
            Self::Back(..) => (0, None),
            Self::If(_, yes, no) => {
                let ((low, high), (other_low, other_high)) = (yes.width(), no.width());
                (low.min(other_low), high.zip(other_high).map(|(a, b)| a.max(b)))
            }
        }
    }
}
