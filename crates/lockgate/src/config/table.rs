//! The frame of the settings table: a [`Key`] is one row, a [`Section`] one table of the file.
//! Rule: parser, help, manual page, reference and default file all come from the same rows.

use crate::config::problem::{Problems, nearest};
use crate::config::value::{Value, Wrong, with_article};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a row says to people.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The key's name within its section.
    pub name: &'static str,
    /// What sort of value it takes, in a few words.
    pub kind: &'static str,
    /// The default as it would stand in the file; empty where there is none.
    pub default: &'static str,
    /// What it does, in sentences.
    pub help: &'static str,
}

/// A row: what it says, and where its value goes.
pub struct Key<T: 'static> {
    /// What it says to people.
    pub info: Info,
    /// Puts the value where it belongs.
    pub set: fn(&mut T, Value<'_>) -> Result<(), Wrong>,
}

/// One table of the file, such as `[limits]` or `[[listen]]`.
pub struct Section<T: 'static> {
    /// The table's name, dots included.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key<T>],
    /// Tables below it that fill the same target.
    pub below: &'static [&'static Section<T>],
}

/// Shorthand for a row, so that the table reads as one.
pub const fn key<T>(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut T, Value<'_>) -> Result<(), Wrong>,
) -> Key<T> {
    Key { info: Info { name, kind, default, help }, set }
}

impl<T> Section<T> {
    /// Reads a table of the file into its target. `elsewhere` names subtables that somebody else reads.
    pub fn fill(
        &self,
        target: &mut T,
        table: &DeTable<'_>,
        base: &Path,
        elsewhere: &[&str],
        problems: &mut Problems<'_>,
    ) {
        for (name, value) in table {
            let word: &str = name.get_ref();
            if elsewhere.contains(&word) {
                continue;
            }
            if let Some(key) = self.keys.iter().find(|key| key.info.name == word) {
                if let Err(wrong) = (key.set)(target, Value { toml: value, base }) {
                    problems.add(value.span(), format!("{}.{word}: {wrong}", self.name));
                }
                continue;
            }
            match self.below.iter().find(|section| section.last_name() == word) {
                Some(section) => section.fill_value(target, value, base, problems),
                None => self.unknown(name, elsewhere, problems),
            }
        }
    }

    /// As [`Section::fill`], for a value that ought to be a table.
    pub fn fill_value(
        &self,
        target: &mut T,
        value: &Spanned<DeValue<'_>>,
        base: &Path,
        problems: &mut Problems<'_>,
    ) {
        match value.get_ref().as_table() {
            Some(table) => self.fill(target, table, base, &[], problems),
            None => {
                let wrong = with_article(value.get_ref());
                problems.add(value.span(), format!("{0} is a table, not {wrong}: write [{0}]", self.name));
            }
        }
    }

    /// The part of the name behind the last dot.
    pub fn last_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    fn unknown(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        elsewhere: &[&str],
        problems: &mut Problems<'_>,
    ) {
        let keys = self.keys.iter().map(|key| key.info.name);
        let below = self.below.iter().map(|section| section.last_name());
        let known = keys.chain(below).chain(elsewhere.iter().copied());
        problems.add(name.span(), unknown_key(name.get_ref(), &format!("[{}]", self.name), known));
    }
}

/// The words for a key that is not known.
pub fn unknown_key<'k>(name: &str, place: &str, known: impl Iterator<Item = &'k str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown key {name:?} in {place}: did you mean {near:?}?"),
        None => format!("unknown key {name:?} in {place}: docs/reference.md lists those that are known"),
    }
}
