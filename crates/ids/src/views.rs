//! What rules look at: sticky buffers, as they are or transformed. Rule: each is made once, however many rules ask for it.

use crate::ruleset::sticky::Sticky;
use crate::ruleset::transform::{Made, Transform};

/// A buffer as rules look at it: its number in [`Views`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ViewId(pub u16);

/// All that some rule looks at.
#[derive(Debug, Default)]
pub(crate) struct Views {
    views: Vec<(Sticky, Box<[Transform]>)>,
    /// By buffer: those that are made of it.
    of: Vec<Vec<ViewId>>,
}

impl Views {
    /// The number of that one; `None` where there are too many.
    pub fn id(&mut self, sticky: Sticky, transforms: &[Transform]) -> Option<ViewId> {
        let known = self.views.iter().position(|(of, by)| *of == sticky && **by == *transforms);
        let id = u16::try_from(known.unwrap_or(self.views.len())).ok().map(ViewId)?;
        if known.is_none() {
            self.views.push((sticky, transforms.into()));
            self.of.resize(Sticky::ALL.len(), Vec::new());
            self.of[sticky as usize].push(id);
        }
        Some(id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// The buffer that it is made of.
    pub fn sticky(&self, id: ViewId) -> Sticky {
        self.views[usize::from(id.0)].0
    }

    /// Those that are made of a buffer.
    pub fn of(&self, sticky: Sticky) -> impl Iterator<Item = ViewId> + '_ {
        self.of.get(sticky as usize).into_iter().flatten().copied()
    }

    /// Whether it is made into something else before it is looked at.
    pub fn is_transformed(&self, id: ViewId) -> bool {
        !self.views[usize::from(id.0)].1.is_empty()
    }

    /// The buffer as it is looked at; `None` where that is as it came.
    pub fn transformed(&self, id: ViewId, bytes: &[u8], made: &mut Made) -> Option<Vec<u8>> {
        let (first, others) = self.views[usize::from(id.0)].1.split_first()?;
        let first = first.apply(bytes, made);
        Some(others.iter().fold(first, |bytes, transform| transform.apply(&bytes, made)))
    }
}
