//! Text that some read as a page: by its name, by what a server says, or, as `clamscan`, by the first tag in it. Rule: the same at
//! every cut; signatures for pages are asked once a tag stands there, about all of it.

use crate::database::{Database, Reading, targets_of};
use crate::findings::{About, FIRST_TAGGED_LANE, Findings, LaneId};
use crate::held::{Held, Whole};
use crate::lane::{Lane, hand_out};
use crate::texts::Texts;
use lockgate_model::{FileType, Pool};
use std::sync::Arc;

/// What such tags begin with, letters in either case.
const TAGS: [&[u8]; 8] =
    [b"<html", b"<head", b"<script", b"<iframe", b"<a href", b"<img", b"<object", b"<table"];
/// The longest.
const TAG_BYTES_MAX: usize = 7;

/// A text in which a tag may stand.
pub(crate) struct Tagged {
    tags: Tags,
    pool: Arc<Pool>,
    pub page: Option<Texts>,
    pub lanes: Vec<Lane>,
}

/// The search in one text.
#[derive(Default)]
struct Tags {
    /// The last bytes, where they begin a tag.
    begun: Vec<u8>,
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Tag,
    /// As far as the bytes go.
    Beginning,
    Nothing,
}

impl Tagged {
    /// `None` for what is no text, and where no signature is for pages.
    pub fn of(database: &Database, detected: FileType, pool: &Arc<Pool>) -> Option<Box<Self>> {
        let is_text = matches!(detected, FileType::Text | FileType::Script);
        (is_text && database.has_pages()).then(|| {
            let (tags, pool) = (Tags::default(), Arc::clone(pool));
            Box::new(Self { tags, pool, page: None, lanes: Vec::new() })
        })
    }

    /// The next bytes, and what is held of the text. With the first tag it is read as a page from its beginning.
    pub fn push(
        &mut self,
        database: &Database,
        about: &About,
        findings: &mut Findings,
        (chunk, held): (&[u8], Option<&Held>),
    ) {
        let mut bytes = chunk;
        if self.page.is_none() {
            if !self.tags.push(chunk) {
                return;
            }
            match held.map(Held::whole) {
                Some(Whole::Bytes(all)) => bytes = all,
                Some(Whole::NotHeld(reason)) => drop(findings.undecided.get_or_insert(reason)),
                None => {}
            }
            self.begin(database);
        }
        if let Some(page) = &mut self.page {
            page.push(bytes, &mut hand_out(&mut self.lanes, database, about, findings));
        }
    }

    /// A tag has come.
    fn begin(&mut self, database: &Database) {
        let targets = targets_of(FileType::Html);
        self.lanes
            .extend(targets.iter().filter_map(|(group, reading)| Lane::new(database, *group, *reading)));
        let readings: Vec<Reading> = self.lanes.iter().map(|lane| lane.reading).collect();
        let mut page = Texts::of(&readings);
        for lane in &mut self.lanes {
            // What the text's own lanes have seen is theirs.
            lane.id = LaneId(lane.id.0 + FIRST_TAGGED_LANE);
            if let (Some(page), true) = (&mut page, lane.of(database).is_some_and(|group| group.needs_whole))
            {
                page.hold(lane.reading, &self.pool);
            }
        }
        self.page = page;
    }
}

impl Tags {
    /// Whether a tag has come with the next bytes.
    fn push(&mut self, chunk: &[u8]) -> bool {
        if !self.begun.is_empty() {
            let mut joined = std::mem::take(&mut self.begun);
            joined.extend_from_slice(chunk.get(..TAG_BYTES_MAX).unwrap_or(chunk));
            match stands(&joined) {
                Stands::Tag => return true,
                Stands::Beginning => {
                    self.begun = joined;
                    return false;
                }
                // No tag has another within it.
                Stands::Nothing => {}
            }
        }
        for at in memchr::memchr_iter(b'<', chunk) {
            match stands(&chunk[at..]) {
                Stands::Tag => return true,
                Stands::Beginning => self.begun = chunk[at..].to_vec(),
                Stands::Nothing => {}
            }
        }
        false
    }
}

fn stands(bytes: &[u8]) -> Stands {
    let of = |tag: &&[u8]| {
        let length = tag.len().min(bytes.len());
        match bytes[..length].eq_ignore_ascii_case(&tag[..length]) {
            false => Stands::Nothing,
            true if length < tag.len() => Stands::Beginning,
            true => Stands::Tag,
        }
    };
    let (mut tags, mut begins) = (TAGS.iter().map(of), false);
    match tags.any(|stands| {
        begins |= stands == Stands::Beginning;
        stands == Stands::Tag
    }) {
        true => Stands::Tag,
        false if begins => Stands::Beginning,
        false => Stands::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_seen_at_every_cut() {
        for (text, expected) in [
            (&b"one <html>"[..], true),
            (b"<IMG src", true),
            (b"<a  href <a <<a href", true),
            (b"<ta<tab<scrip<SCRIPT", true),
            (b"<p>< html><imag <scrip", false),
            (b"<", false),
            (b"", false),
        ] {
            let pieces = |cut: usize| {
                let mut tags = Tags::default();
                let (one, other) = text.split_at(cut);
                tags.push(one) || tags.push(other)
            };
            for cut in 0..=text.len() {
                assert_eq!(pieces(cut), expected, "{} at {cut}", text.escape_ascii());
            }
            let mut tags = Tags::default();
            assert_eq!(text.chunks(1).any(|byte| tags.push(byte)), expected, "{}", text.escape_ascii());
        }
    }
}
