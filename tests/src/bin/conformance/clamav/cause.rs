//! Why the two differ. Rule: a cause is shown, not supposed: without it both name the same. What is counted otherwise is known by the
//! signature.

use super::{Directory, clamscan, lockgate};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Page,
    Limit,
    Text,
    Count,
}

impl Cause {
    /// The cause of a difference between what `clamscan` names in a file and what is named here, if it is one of them.
    pub fn of(file: &Path, lists: &Path, theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Option<Self> {
        if !ours.is_subset(theirs) {
            return [Self::Page, Self::Limit]
                .into_iter()
                .find(|cause| cause.is_shown(file, lists, ours) == Some(true));
        }
        let is_counted = || theirs.difference(ours).all(|name| counts_behind_gap(lists, name));
        match Self::Text.is_shown(file, lists, theirs)? {
            true => Some(Self::Text),
            false => is_counted().then_some(Self::Count),
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Page => "clamscan reads a page as its texts alone, and as it is with --scan-html=no",
            Self::Limit => {
                "clamscan gives up on an expression, and does not with a higher --pcre-match-limit"
            }
            Self::Text => {
                "clamscan takes it for text, of which bytes over 0x7f are none; without them it is found here"
            }
            Self::Count => {
                "clamscan counts each end in reach of a beginning, where here a beginning counts once"
            }
        }
    }

    /// Whether both name the same where there is no such cause: what the other has named in the file as it is.
    fn is_shown(self, file: &Path, lists: &Path, names: &BTreeSet<String>) -> Option<bool> {
        let place = Directory::new("without");
        let bytes = fs::read(file).ok()?;
        let mut found = match self {
            Self::Page | Self::Limit => {
                place.write("file", bytes);
                let option =
                    if self == Self::Page { "--scan-html=no" } else { "--pcre-match-limit=1000000000" };
                clamscan(place.path(), lists, &[option])
            }
            Self::Text => {
                let length = bytes.len();
                let mut text: Vec<u8> = bytes.into_iter().filter(u8::is_ascii).collect();
                // A signature may ask how long the file is.
                text.resize(length, b' ');
                place.write("file", text);
                lockgate(place.path(), lists)
            }
            Self::Count => return None,
        };
        Some(found.remove("file").unwrap_or_default() == *names)
    }
}

/// Whether a signature counts matches of some body with a gap of two lengths.
fn counts_behind_gap(lists: &Path, name: &str) -> bool {
    let text = fs::read_to_string(lists.join("drawn.ldb")).unwrap_or_default();
    let line = text.lines().find(|line| line.split(';').next() == Some(name));
    let fields: Vec<&str> = line.unwrap_or_default().split(';').collect();
    let counts = fields.get(2).is_some_and(|expression| expression.contains(['=', '<', '>']));
    let has_gap = |body: &&str| {
        body.split('{').skip(1).any(|gap| gap.split('}').next().is_some_and(|gap| gap.contains('-')))
    };
    counts && fields.get(3..).unwrap_or_default().iter().any(has_gap)
}
