//! Data sets: `dataset:isset,NAME,type string,load FILE`. Rule: rules that name a set share it, and what they add to it is bounded.

use super::Fault;
use super::digests::bytes_of;
use super::draft::Draft;
use super::rule::Test;
use super::words::{Word, unquoted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// How many entries rules may add to a set.
pub(crate) const ADDED_MAX: usize = 65_536;
/// How long an entry is that a rule adds, at most.
pub(crate) const ADDED_BYTES_MAX: usize = 1 << 10;

/// What a rule asks of a set, or does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetAction {
    IsSet,
    IsNotSet,
    /// Holds where it was not there yet.
    Set,
    /// Holds where it was there.
    Unset,
}

/// What the entries of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A buffer as it is.
    Text,
    /// A digest of so many bytes.
    Digest(usize),
}

/// A question to a set about a whole buffer.
#[derive(Clone, Debug)]
pub(crate) struct InSet {
    pub action: SetAction,
    name: Box<str>,
    kind: Option<EntryKind>,
    /// The file that it begins with, as the rule names it.
    load: Option<Box<str>>,
    /// The set, once the names of all rules are known.
    pub set: Arc<DataSet>,
}

/// A set.
#[derive(Debug)]
pub(crate) struct DataSet {
    kind: EntryKind,
    loaded: HashSet<Box<[u8]>>,
    /// What rules have added.
    added: RwLock<HashSet<Box<[u8]>>>,
}

/// The sets of all rules, by their names.
pub(crate) type DataSets = HashMap<Box<str>, Arc<DataSet>>;

/// `dataset`.
pub(crate) fn apply(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let mut fields = word.fields()?;
    let action = match fields.next() {
        Some("isset") => SetAction::IsSet,
        Some("isnotset") => SetAction::IsNotSet,
        Some("set") => SetAction::Set,
        Some("unset") => SetAction::Unset,
        other => {
            return Err(word.fault(format!("{other:?} is none of isset, isnotset, set, unset")));
        }
    };
    let name =
        fields.next().filter(|name| !name.is_empty()).ok_or_else(|| word.fault("the set has no name"))?;
    let mut asked = InSet { action, name: name.into(), kind: None, load: None, set: Arc::default() };
    for field in fields {
        let (option, value) = field.split_once(char::is_whitespace).unwrap_or((field, ""));
        let value = unquoted(value.trim());
        match option {
            "type" => asked.kind = Some(kind(value).map_err(|reason| word.fault(reason))?),
            "load" => asked.load = Some(value.into()),
            // How much memory it takes is bounded here.
            "hashsize" | "memcap" => {}
            "save" | "state" => {
                return Err(word.fault(format!("{option}: sets are not written to files; load reads one")));
            }
            other => return Err(word.fault(format!("{other:?} is none of type, load, hashsize, memcap"))),
        }
    }
    draft.ask(Test::InSet(asked), word)
}

fn kind(word: &str) -> Result<EntryKind, String> {
    match word {
        "string" => Ok(EntryKind::Text),
        "md5" => Ok(EntryKind::Digest(16)),
        "sha256" => Ok(EntryKind::Digest(32)),
        other => Err(format!("sets of type {other:?} are not kept: string, md5 and sha256 are")),
    }
}

impl InSet {
    /// Finds its set among those that are known, or begins it.
    ///
    /// # Errors
    ///
    /// Where what the rule says of it does not agree with what others say, or its file cannot be read.
    pub fn resolve(
        &mut self,
        sets: &mut DataSets,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        if let Some(known) = sets.get(&self.name) {
            if self.kind.is_some_and(|kind| kind != known.kind) {
                return Err(format!("dataset {}: an earlier rule gives it another type", self.name));
            }
            self.set = Arc::clone(known);
            return Ok(());
        }
        let kind = self
            .kind
            .ok_or_else(|| format!("dataset {}: the first rule that names it gives its type", self.name))?;
        let loaded = match &self.load {
            None => HashSet::new(),
            Some(file) => {
                let wrong = |reason| format!("{file}: {reason}");
                entries(kind, &read(file).map_err(wrong)?).map_err(wrong)?
            }
        };
        self.set = Arc::new(DataSet { kind, loaded, added: RwLock::default() });
        sets.insert(self.name.clone(), Arc::clone(&self.set));
        Ok(())
    }
}

/// The entries of a file, one on each line: text in base64, digests in hexadecimal.
fn entries(kind: EntryKind, text: &[u8]) -> Result<HashSet<Box<[u8]>>, String> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with(b"#"));
    let entry = |(line, number): (&[u8], u32)| {
        let entry = match kind {
            EntryKind::Text => STANDARD.decode(line).ok(),
            EntryKind::Digest(length) => bytes_of(line).filter(|digest| digest.len() == length),
        };
        let entry = entry.map(Into::into);
        entry.ok_or_else(|| match kind {
            EntryKind::Text => format!("line {number} is no base64"),
            EntryKind::Digest(length) => {
                format!("line {number} is no digest: {} digits in hexadecimal are wanted", length * 2)
            }
        })
    };
    lines.map(entry).collect()
}

impl Default for DataSet {
    fn default() -> Self {
        Self { kind: EntryKind::Text, loaded: HashSet::new(), added: RwLock::default() }
    }
}

impl DataSet {
    /// Whether what is asked holds of these bytes, which may go into the set or out of it.
    pub fn holds(&self, action: SetAction, bytes: &[u8]) -> bool {
        if let EntryKind::Digest(length) = self.kind
            && bytes.len() != length
        {
            return false;
        }
        match action {
            SetAction::IsSet => self.contains(bytes),
            SetAction::IsNotSet => !self.contains(bytes),
            SetAction::Set => {
                let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
                let has_room = added.len() < ADDED_MAX && bytes.len() <= ADDED_BYTES_MAX;
                has_room && !self.loaded.contains(bytes) && added.insert(bytes.into())
            }
            // What a file says stays.
            SetAction::Unset => self.added.write().unwrap_or_else(PoisonError::into_inner).remove(bytes),
        }
    }

    fn contains(&self, bytes: &[u8]) -> bool {
        self.loaded.contains(bytes) || {
            self.added.read().unwrap_or_else(PoisonError::into_inner).contains(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rules_add_is_bounded_and_what_is_loaded_stays() {
        let loaded = entries(EntryKind::Text, b"# notes\nYWJj\r\n\nZGVm\n").unwrap();
        let set = DataSet { kind: EntryKind::Text, loaded, added: RwLock::default() };
        assert!(set.holds(SetAction::IsSet, b"abc") && set.holds(SetAction::IsNotSet, b"ab"));
        assert!(!set.holds(SetAction::Set, b"abc") && !set.holds(SetAction::Unset, b"abc"));
        assert!(!set.holds(SetAction::Set, &[0; ADDED_BYTES_MAX + 1]));
        for number in 0..ADDED_MAX as u32 {
            assert!(set.holds(SetAction::Set, &number.to_be_bytes()));
        }
        assert!(!set.holds(SetAction::Set, &[1]));
        assert!(set.holds(SetAction::Unset, &[0; 4]) && set.holds(SetAction::Set, &[1]));
        assert!(!set.holds(SetAction::Set, &[1]) && set.holds(SetAction::IsSet, &[1]));
    }

    #[test]
    fn files_say_where_they_are_wrong() {
        assert_eq!(entries(EntryKind::Text, b"YWJj\n!").unwrap_err(), "line 2 is no base64");
        let wrong = entries(EntryKind::Digest(16), b"00").unwrap_err();
        assert_eq!(wrong, "line 1 is no digest: 32 digits in hexadecimal are wanted");
    }
}
