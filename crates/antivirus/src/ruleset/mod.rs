//! Text of ClamAV databases → AST, one line at a time. Rule: a bad line is a [`Fault`] and never spoils the next one.

pub(crate) mod body;
pub(crate) mod expression;
pub(crate) mod hash;
pub(crate) mod icon;
pub(crate) mod ignore;
pub(crate) mod lines;
pub(crate) mod logical;
pub(crate) mod metadata;
pub(crate) mod offset;
pub(crate) mod subsignature;
pub(crate) mod target;

/// The functionality level that is claimed towards signatures: that of ClamAV 1.4. Signatures made for other levels
/// exist beside a twin for this one, so they are left out and not reported as failures.
pub(crate) const FUNCTIONALITY_LEVEL: u32 = 213;

/// Why a line is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where in the line, in bytes from 1, if it can be said.
    pub column: Option<usize>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl Fault {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { column: None, reason: reason.into() }
    }

    pub fn at(column: usize, reason: impl Into<String>) -> Self {
        Self { column: Some(column), reason: reason.into() }
    }

    /// The same fault seen from a line in which the text that it was found in starts after so many bytes.
    pub fn moved(mut self, bytes: usize) -> Self {
        self.column = self.column.map(|column| column.saturating_add(bytes));
        self
    }
}

/// What a line that is in order comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line<T> {
    /// A signature to load.
    Signature(T),
    /// One for another functionality level.
    OtherEngine,
}

/// Whether a signature for levels `first..=last` is for us.
pub(crate) fn is_our_level(first: Option<u32>, last: Option<u32>) -> bool {
    first.is_none_or(|first| first <= FUNCTIONALITY_LEVEL)
        && last.is_none_or(|last| last >= FUNCTIONALITY_LEVEL)
}

/// A decimal number; an empty field is none.
pub(crate) fn optional_number(field: Option<&str>, what: &str) -> Result<Option<u32>, Fault> {
    match field.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|_| Fault::new(format!("{what} is {text:?}, expected a decimal number"))),
    }
}

/// Where a field that was split off a line starts in it.
pub(crate) fn offset_in(line: &str, field: &str) -> usize {
    (field.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len())
}
