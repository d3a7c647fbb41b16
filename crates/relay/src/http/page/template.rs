//! The page that others are made from: [`Template`]. Rule: what is put in is never looked at again, and a name that nothing
//! stands for is an error when the file is read.

use std::fmt;
use std::path::{Path, PathBuf};

/// The gateway's own page.
const OWN: &str = include_str!("../page.html");
/// A larger file is no page for people.
const BYTES_MAX: usize = 256 << 10;

/// What can stand in double braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The language's tag.
    Lang,
    /// The heading.
    Title,
    /// What happened.
    What,
    /// Why: elements of a list.
    Reasons,
    /// What to do.
    Advice,
    /// What was asked for.
    Address,
    /// The number to name.
    Id,
    /// The organisation's name.
    Organisation,
    /// Whom to ask: a paragraph, or nothing.
    Contact,
    /// The link past the page: a paragraph, or nothing.
    Bypass,
    /// The gateway's name.
    Hostname,
    /// `blocked` or `failed`, for a style.
    Sort,
    /// A label.
    AddressLabel,
    /// A label.
    WhyLabel,
    /// A label.
    NumberLabel,
}

/// How each is written.
const NAMES: [(&str, Name); 15] = [
    ("lang", Name::Lang),
    ("title", Name::Title),
    ("what", Name::What),
    ("reasons", Name::Reasons),
    ("advice", Name::Advice),
    ("address", Name::Address),
    ("id", Name::Id),
    ("organisation", Name::Organisation),
    ("contact", Name::Contact),
    ("bypass", Name::Bypass),
    ("hostname", Name::Hostname),
    ("sort", Name::Sort),
    ("address_label", Name::AddressLabel),
    ("why_label", Name::WhyLabel),
    ("number_label", Name::NumberLabel),
];

/// A page with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What stands before each gap, and the gap.
    pieces: Vec<(String, Name)>,
    end: String,
}

/// Why a file is no template.
#[derive(Debug, PartialEq, Eq)]
pub struct TemplateError {
    path: PathBuf,
    /// From 1; 0 for the file as a whole.
    line: usize,
    reason: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.reason),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.reason),
        }
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Reads a file; without one, the gateway's own page.
    pub fn read(path: Option<&Path>) -> Result<Self, TemplateError> {
        let Some(path) = path else { return Self::parse(Path::new("page.html"), OWN) };
        let whole = |reason| TemplateError { path: path.to_owned(), line: 0, reason };
        let bytes = std::fs::read(path).map_err(|error| whole(format!("cannot be read: {error}")))?;
        if bytes.len() > BYTES_MAX {
            return Err(whole(format!("a page has at most {} KiB", BYTES_MAX >> 10)));
        }
        let text = String::from_utf8(bytes).map_err(|_| whole("this is not UTF-8".to_owned()))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, TemplateError> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once("{{") {
            let wrong = |reason: String| {
                let read = text.len() - rest.len() + before.len();
                let line = text[..read].matches('\n').count() + 1;
                TemplateError { path: path.to_owned(), line, reason }
            };
            let (name, behind) = behind.split_once("}}").ok_or_else(|| wrong("{{ without }}".to_owned()))?;
            let known = NAMES.iter().find(|(known, _)| *known == name.trim());
            let (_, name) = known.ok_or_else(|| {
                let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
                wrong(format!("{name:?} stands for nothing: write one of {}", known.join(", ")))
            })?;
            pieces.push((before.to_owned(), *name));
            rest = behind;
        }
        Ok(Self { pieces, end: rest.to_owned() })
    }

    /// The page, with what stands for each name.
    pub fn filled(&self, value: impl Fn(Name) -> String) -> String {
        let mut out = String::with_capacity(4096);
        for (before, name) in &self.pieces {
            out.push_str(before);
            out.push_str(&value(*name));
        }
        out.push_str(&self.end);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_page_has_all_names() {
        let own = Template::read(None).unwrap();
        for (text, name) in NAMES {
            assert!(own.pieces.iter().any(|(_, known)| *known == name), "{text}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        let template = Template::parse(Path::new("p"), "a{{id}}b{{ title }}c").unwrap();
        assert_eq!(template.filled(|name| format!("{{{{{name:?}}}}}")), "a{{Id}}b{{Title}}c");
    }

    #[test]
    fn a_wrong_name_is_named_with_its_line() {
        for (text, expected) in [
            ("<h1>\n\n{{titel}}</h1>", "p:3: \"titel\" stands for nothing: write one of lang, "),
            ("{{title}}\n{{id", "p:2: {{ without }}"),
            ("{{}}", "p:1: \"\" stands for nothing"),
        ] {
            let error = Template::parse(Path::new("p"), text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(
            Template::read(Some(Path::new("/nowhere"))).unwrap_err().to_string().contains("cannot be read")
        );
    }
}
