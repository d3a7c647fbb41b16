//! The resources of a Windows program: lists by type, name and language. Rule: each list is read once, within a bound.
//!
//! The format is that of "PE Format", section ".rsrc".

use super::{Program, little};

/// How many entries of a list are read, and how many lists.
const ENTRIES_MAX: u64 = 256;
const LISTS_MAX: usize = 256;

/// Where a resource's data stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Its number among those of its type; with the high bit set, where its name stands.
    pub name: u64,
    /// Where its data begins in the file, and how long it says it is.
    pub at: u64,
    pub bytes: u64,
}

/// The resources of a type, in their order; of all names, or of the one with this number.
pub(crate) fn resources(program: &Program, whole: &[u8], kind: u64, number: Option<u64>) -> Vec<Resource> {
    let mut found = Vec::new();
    let Some(windows) = program.windows.filter(|windows| windows.resources != 0) else { return found };
    let Some(root) = program.offset_of(windows.resources) else { return found };
    let below = |entry: &(u64, u64)| (entry.1 >> 31 == 1).then_some(root + (entry.1 & 0x7fff_ffff));
    let types = list(whole, root);
    let Some(names) = types.iter().find(|(id, to)| *id == kind && to >> 31 == 1).and_then(below) else {
        return found;
    };
    let is_wanted = |entry: &&(u64, u64)| number.is_none_or(|number| entry.0 == number);
    for name in list(whole, names).iter().filter(is_wanted).take(LISTS_MAX) {
        let Some(languages) = below(name) else { continue };
        for (_, to) in list(whole, languages).iter().filter(|(_, to)| to >> 31 == 0) {
            let entry = root + to;
            let at = little::<4>(whole, entry).and_then(|address| program.offset_of(address));
            if let (Some(at), Some(bytes)) = (at, little::<4>(whole, entry + 4)) {
                found.push(Resource { name: name.0, at, bytes });
            }
        }
    }
    found
}

/// The entries of a list: what each is called, and where it leads.
fn list(whole: &[u8], at: u64) -> Vec<(u64, u64)> {
    let named = little::<2>(whole, at + 12).unwrap_or(0);
    let count = named + little::<2>(whole, at + 14).unwrap_or(0);
    let entries = (0..count.min(ENTRIES_MAX)).map(|entry| at + 16 + entry * 8);
    entries.map_while(|entry| Some((little::<4>(whole, entry)?, little::<4>(whole, entry + 4)?))).collect()
}
