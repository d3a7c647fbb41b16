//! One value of the configuration, read as what its key wants. Rule: an error says what would be right.

use lockgate_model::Verdict;
use lockgate_relay::settings::Switch;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

/// A value as it stands in the file, and the directory that relative paths in it start from.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The value and where it stands.
    pub toml: &'a Spanned<DeValue<'a>>,
    /// Where relative paths start.
    pub base: &'a Path,
}

/// Why a value is refused, and what to write instead.
pub type Wrong = String;

const BYTE_UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

const TIME_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl<'a> Value<'a> {
    /// A string.
    pub fn text(&self) -> Result<&'a str, Wrong> {
        let value = self.toml.get_ref();
        value.as_str().ok_or_else(|| format!("a string in quotes is wanted, not {}", with_article(value)))
    }

    /// A string that is not empty.
    pub fn name(&self) -> Result<String, Wrong> {
        match self.text()?.trim() {
            "" => Err("it must not be empty".to_owned()),
            name => Ok(name.to_owned()),
        }
    }

    /// A path; a relative one starts at the configuration file's directory.
    pub fn path(&self) -> Result<PathBuf, Wrong> {
        Ok(self.base.join(self.name()?))
    }

    /// `IP:PORT`.
    pub fn address(&self) -> Result<SocketAddr, Wrong> {
        let text = self.text()?;
        text.parse().map_err(|_| {
            format!("{text:?} is no address with a port: write it as \"127.0.0.1:25\" or \"[::1]:25\"")
        })
    }

    /// `true` or `false`.
    pub fn switch(&self) -> Result<Switch, Wrong> {
        match self.toml.get_ref().as_bool() {
            Some(true) => Ok(Switch::On),
            Some(false) => Ok(Switch::Off),
            None => Err(format!(
                "true or false is wanted, without quotes, not {}",
                with_article(self.toml.get_ref())
            )),
        }
    }

    /// A whole number.
    pub fn number<T: TryFrom<u64>>(&self, least: u64) -> Result<T, Wrong> {
        let value = self.toml.get_ref();
        let integer = value
            .as_integer()
            .ok_or_else(|| format!("a whole number without quotes is wanted, not {}", with_article(value)))?;
        let wrong =
            || format!("{} is out of range: write a whole number of {least} or more", integer.as_str());
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| wrong())?;
        if number < least {
            return Err(wrong());
        }
        T::try_from(number).map_err(|_| format!("{number} is too large"))
    }

    /// A size: a number of bytes, or a string such as `"256 KiB"`.
    pub fn bytes(&self) -> Result<u64, Wrong> {
        if self.toml.get_ref().is_integer() {
            return self.number(0);
        }
        let text = self.toml.get_ref().as_str();
        text.and_then(|t| quantity(t, &BYTE_UNITS)).ok_or_else(|| {
            let shown = text.map_or_else(|| with_article(self.toml.get_ref()), |t| format!("{t:?}"));
            format!("{shown} is no size: write it as 65536 or \"64 KiB\" (B, KiB, MiB, GiB, kB, MB, GB)")
        })
    }

    /// A time such as `"5 min"`.
    pub fn duration(&self) -> Result<Duration, Wrong> {
        let text = self.toml.get_ref().as_str();
        let millis = text.and_then(|t| quantity(t, &TIME_UNITS)).filter(|millis| *millis > 0);
        millis.map(Duration::from_millis).ok_or_else(|| {
            let shown = text.map_or_else(|| with_article(self.toml.get_ref()), |t| format!("{t:?}"));
            format!("{shown} is no time: write it with a unit, as \"30 s\" or \"5 min\" (ms, s, min, h, d)")
        })
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Wrong> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            format!("{text:?} is not known here: write one of {}", known.join(", "))
        })
    }

    /// An action of policy.
    pub fn verdict(&self) -> Result<Verdict, Wrong> {
        self.choice(&Verdict::ALL.map(|verdict| (verdict.name(), verdict)))
    }

    /// A list; a single value counts as a list of one.
    pub fn list<T>(&self, read: impl Fn(Value<'a>) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
        match self.toml.get_ref().as_array() {
            None => Ok(vec![read(*self)?]),
            Some(items) => items.iter().map(|toml| read(Value { toml, base: self.base })).collect(),
        }
    }

    /// A list of strings that are not empty.
    pub fn names(&self) -> Result<Vec<String>, Wrong> {
        self.list(|item| item.name())
    }

    /// A string that a type of its own reads.
    pub fn parsed<T: FromStr<Err = String>>(&self) -> Result<T, Wrong> {
        self.text()?.parse()
    }
}

/// `12 KiB` by a table of units, without overflow.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(|c| c.is_ascii_digit() || *c == b'_').count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().ok()?;
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim_start()))?;
    number.checked_mul(*factor)
}

/// What sort of value it is, with its article, for the end of a sentence.
pub fn with_article(value: &DeValue<'_>) -> String {
    match value.type_str() {
        "integer" => "a number".to_owned(),
        "array" => "a list".to_owned(),
        other => format!("a {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(text: &str, read: impl Fn(Value<'_>) -> T) -> T {
        let toml = DeValue::parse(text).unwrap();
        read(Value { toml: &toml, base: Path::new("/base") })
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("\"256 KiB\"", Some(256 << 10)),
            ("\"1MiB\"", Some(1 << 20)),
            ("\"2 gib\"", Some(2 << 30)),
            ("\"5 MB\"", Some(5_000_000)),
            ("65_536", Some(65_536)),
            ("0", Some(0)),
            ("\"7 B\"", Some(7)),
            ("\"7\"", None),
            ("-1", None),
            ("\"5 apples\"", None),
            ("\"99999999999999999 GiB\"", None),
            ("true", None),
        ] {
            assert_eq!(with(text, |v| v.bytes()).ok(), expected, "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("\"5 min\"", Some(300_000)),
            ("\"30s\"", Some(30_000)),
            ("\"250 ms\"", Some(250)),
            ("\"1 d\"", Some(86_400_000)),
            ("\"0 s\"", None),
            ("5", None),
            ("\"soon\"", None),
        ] {
            assert_eq!(with(text, |v| v.duration()).ok(), expected.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn paths_start_at_the_file() {
        assert_eq!(with("\"a/b\"", |v| v.path()), Ok(PathBuf::from("/base/a/b")));
        assert_eq!(with("\"/a/b\"", |v| v.path()), Ok(PathBuf::from("/a/b")));
        assert!(with("\"\"", |v| v.path()).is_err());
    }

    #[test]
    fn lists_take_one_or_many() {
        assert_eq!(with("[\"a\", \"b\"]", |v| v.names()), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(with("\"a\"", |v| v.names()), Ok(vec!["a".to_owned()]));
        assert_eq!(with("[]", |v| v.names()), Ok(Vec::new()));
        assert!(with("[1]", |v| v.names()).is_err());
    }
}
