//! Digests of parts while they pass: [`Hashing`]. Rule: only the kinds are computed that some rule asks for.

use crate::ruleset::sticky::Sticky;
use crate::views::Views;
use lockgate_model::PartId;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Which digests rules ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HashKinds {
    md5: bool,
    sha1: bool,
    sha256: bool,
}

impl HashKinds {
    /// By what rules look at.
    pub fn of(views: &Views) -> Self {
        let is_asked = |sticky| views.of(sticky).next().is_some();
        Self {
            md5: is_asked(Sticky::FileMd5),
            sha1: is_asked(Sticky::FileSha1),
            sha256: is_asked(Sticky::FileSha256),
        }
    }

    /// Whether there are any.
    pub fn are_asked(self) -> bool {
        self.md5 || self.sha1 || self.sha256
    }
}

/// A part's digests, as far as it has passed.
#[derive(Debug)]
pub(crate) struct Hashing {
    pub part: PartId,
    md5: Option<Md5>,
    sha1: Option<Sha1>,
    sha256: Option<Sha256>,
}

impl Hashing {
    pub fn new(part: PartId, kinds: HashKinds) -> Self {
        Self {
            part,
            md5: kinds.md5.then(Md5::new),
            sha1: kinds.sha1.then(Sha1::new),
            sha256: kinds.sha256.then(Sha256::new),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.md5.iter_mut().for_each(|state| state.update(bytes));
        self.sha1.iter_mut().for_each(|state| state.update(bytes));
        self.sha256.iter_mut().for_each(|state| state.update(bytes));
    }

    /// The part has ended: each digest, with the buffer that it is.
    pub fn finish(self, fill: &mut dyn FnMut(Sticky, &[u8])) {
        self.md5.into_iter().for_each(|state| fill(Sticky::FileMd5, &state.finalize()));
        self.sha1.into_iter().for_each(|state| fill(Sticky::FileSha1, &state.finalize()));
        self.sha256.into_iter().for_each(|state| fill(Sticky::FileSha256, &state.finalize()));
    }
}
