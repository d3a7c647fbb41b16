//! Why the two differ. Rule: a cause is shown, not supposed: without it both name the same.

use super::{Directory, clamscan, lockgate};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Page,
    Limit,
    Text,
}

impl Cause {
    /// The cause of a difference between what `clamscan` names in a file and what is named here, if it is one of them.
    pub fn of(file: &Path, lists: &Path, theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Option<Self> {
        // What clamscan misses it finds without its cause; and so does what is missed here.
        let (causes, names) = match ours.is_subset(theirs) {
            false => (&[Self::Page, Self::Limit][..], ours),
            true => (&[Self::Text][..], theirs),
        };
        causes.iter().copied().find(|cause| cause.is_shown(file, lists, names) == Some(true))
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
        };
        Some(found.remove("file").unwrap_or_default() == *names)
    }
}
