//! The texts that are made of a part as it streams, and kept where something looks at the whole of one. Rule: no text is
//! made that nobody reads.

use crate::database::Reading;
use crate::held::{Held, Whole};
use crate::page::{Page, Text};
use crate::text::Normaliser;
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// The texts of one part.
pub(crate) struct Texts {
    maker: Maker,
    held: Vec<(Reading, Held)>,
}

enum Maker {
    Folded(Normaliser),
    Page(Box<Page>),
}

impl Texts {
    /// The texts that these readings are of; `None` where they are of none.
    pub fn of(readings: &[Reading]) -> Option<Self> {
        let maker = match readings.iter().find(|reading| **reading != Reading::Plain)? {
            Reading::Folded => Maker::Folded(Normaliser::default()),
            _ => Maker::Page(Box::new(Page::new())),
        };
        Some(Self { maker, held: Vec::new() })
    }

    /// One of them is kept.
    pub fn hold(&mut self, reading: Reading, pool: &Arc<Pool>) {
        if self.held.iter().all(|(held, _)| *held != reading) {
            self.held.push((reading, Held::new(pool)));
        }
    }

    /// Hands out what the next bytes come to.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn FnMut(Reading, &[u8])) {
        let Self { maker, held } = self;
        let mut out = |reading, text: &[u8]| give(held, reading, text, out);
        match maker {
            Maker::Folded(normaliser) => normaliser.push(chunk, &mut |text| out(Reading::Folded, text)),
            Maker::Page(page) => page.push(chunk, &mut |which, text| out(reading_of(which), text)),
        }
    }

    /// The part has ended.
    pub fn finish(&mut self, out: &mut dyn FnMut(Reading, &[u8])) {
        let Self { maker, held } = self;
        if let Maker::Page(page) = maker {
            page.finish(&mut |which, text| give(held, reading_of(which), text, out));
        }
    }

    /// The whole of one of them.
    pub fn whole(&self, reading: Reading) -> Whole<'_> {
        let held = self.held.iter().find(|(held, _)| *held == reading);
        held.map_or(Whole::NotHeld(Reason::Held), |(_, held)| held.whole())
    }
}

fn give(held: &mut [(Reading, Held)], reading: Reading, text: &[u8], out: &mut dyn FnMut(Reading, &[u8])) {
    if let Some((_, held)) = held.iter_mut().find(|(held, _)| *held == reading) {
        held.push(text, &mut |_| {});
    }
    out(reading, text);
}

fn reading_of(text: Text) -> Reading {
    match text {
        Text::NoComment => Reading::NoComment,
        Text::NoTags => Reading::NoTags,
        Text::Script => Reading::Script,
    }
}
