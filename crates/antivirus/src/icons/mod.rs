//! Icons of Windows programs that signatures know, in groups. Rule: a program's first icon is looked at, in all its sizes, and
//! only where a signature has matched but for it.

mod look;
mod picture;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod writer;

pub(crate) use look::{LISTED_BYTES, Look};

use crate::layout::{Program, resources};
use picture::Picture;

/// The types of resources: a picture, and which pictures are one icon.
const PICTURE: u64 = 3;
const ICON: u64 = 14;
/// How many pictures of a program are looked at.
const PICTURES_MAX: usize = 100;

/// A listed icon.
pub(crate) struct Icon {
    pub look: [u8; LISTED_BYTES],
    /// The numbers of its two groups.
    pub groups: Groups,
}

/// Two groups of icons; none stands for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub first: Option<u32>,
    pub second: Option<u32>,
}

impl Groups {
    /// Whether an icon of these groups is meant.
    fn has(&self, of: &Self) -> bool {
        (self.first.is_none() || self.first == of.first)
            && (self.second.is_none() || self.second == of.second)
    }
}

/// What the pictures of a program's first icon look like. Nobody chooses a DLL by its icon.
pub(crate) fn looks(program: &Program, whole: &[u8]) -> Vec<Look> {
    if program.windows.is_none_or(|windows| windows.is_library) {
        return Vec::new();
    }
    let icons = resources(program, whole, ICON, None);
    let first = icons.first().map(|icon| icon.name);
    let mut looks = Vec::new();
    let mut read = 0;
    for icon in icons.iter().filter(|icon| Some(icon.name) == first) {
        let list = usize::try_from(icon.at).ok().and_then(|at| whole.get(at..)?.get(..icon.bytes as usize));
        let Some((head, entries)) = list.and_then(|list| list.split_at_checked(6)) else { continue };
        let count = usize::from(u16::from_le_bytes([head[4], head[5]]));
        for entry in entries.chunks_exact(14).take(count) {
            read += 1;
            if read > PICTURES_MAX {
                return looks;
            }
            let number = u64::from(u16::from_le_bytes([entry[12], entry[13]]));
            let pictures = resources(program, whole, PICTURE, Some(number));
            let bytes = pictures.iter().filter_map(|picture| whole.get(usize::try_from(picture.at).ok()?..));
            looks.extend(bytes.filter_map(Picture::read).map(|picture| Look::of(&picture)));
        }
    }
    looks
}

/// Whether one of these looks is that of a listed icon of these groups.
pub(crate) fn is_listed(looks: &[Look], icons: &[Icon], groups: &Groups) -> bool {
    let meant = icons.iter().filter(|icon| groups.has(&icon.groups));
    meant
        .filter_map(|icon| Look::listed(&icon.look))
        .any(|listed| looks.iter().any(|look| look.is_like(&listed)))
}

lockgate_stored::stored!(struct Icon { look, groups });
lockgate_stored::stored!(struct Groups { first, second });
