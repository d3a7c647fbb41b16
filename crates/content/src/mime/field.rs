//! The values of the header fields that say how to read a part. Rule: tolerant as mail programs are, and every guess noted.

use super::limits::{NAME_CHARS_MAX, PARAMETERS_MAX};
use super::names::loose;
use super::oddity::{Oddities, Oddity};
use super::words::{decode_charset, decode_escapes, decode_words, split_at_byte};

/// A value with parameters: `text/plain; charset=utf-8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameterised {
    /// What stands before the first semicolon, in lower case, without comments and quotes.
    pub value: String,
    parameters: Vec<Parameter>,
    /// Names that careless readers see in it.
    pub loose_names: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    /// In lower case, without the marks of RFC 2231.
    name: Vec<u8>,
    /// The place among its continuations, 0 where it has none.
    place: u32,
    form: Form,
    value: Vec<u8>,
}

/// How a parameter's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `name=value`
    Plain,
    /// `name*0=value`
    Continued,
    /// `name*=charset'language'value` or `name*0*=…`
    Extended,
}

impl Parameterised {
    /// Reads an unfolded field value.
    pub(super) fn parse(value: &[u8], oddities: &mut Oddities) -> Self {
        let loose_names = loose(value);
        let mut reader = Reader { rest: value };
        let main = reader.item(b";", oddities);
        let value = token(&main).to_ascii_lowercase();
        let mut parameters = Vec::new();
        while reader.skip_semicolon() {
            if parameters.len() >= PARAMETERS_MAX {
                oddities.note(Oddity::ParametersTooMany);
                break;
            }
            let name = reader.item(b"=;", oddities);
            if !reader.skip_byte(b'=') {
                continue;
            }
            let value = reader.item(b";", oddities);
            parameters.push(Parameter::new(&name, value));
        }
        Self { value, parameters, loose_names }
    }

    /// Whether somebody may see a file's name in it.
    pub(super) fn may_name(&self) -> bool {
        !self.loose_names.is_empty() || self.parameters.iter().any(|p| p.name.ends_with(b"name"))
    }

    /// The parameters of several fields as if they were of one: careless readers take pieces from each.
    pub(super) fn joined<'a>(fields: impl Iterator<Item = &'a Self>) -> Self {
        let parameters = fields.flat_map(|field| field.parameters.iter().cloned()).collect();
        Self { parameters, ..Self::default() }
    }

    /// All values that a parameter may be taken to have, as the bytes that they stand for.
    pub(super) fn all(&self, name: &str, oddities: &mut Oddities) -> Vec<Vec<u8>> {
        let mut values: Vec<Vec<u8>> = self.named(name, &[Form::Plain]).map(|p| p.value.clone()).collect();
        values.extend(self.first(name, &[Form::Extended, Form::Continued], oddities).map(
            |found| match found {
                Found::Plain(value) => value.to_vec(),
                Found::Charset(value, charset) if charset.is_empty() => value,
                Found::Charset(value, charset) => decode_charset(&value, &charset).into_bytes(),
            },
        ));
        let mut distinct = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        if distinct.len() > 1 {
            oddities.note(Oddity::ParameterRepeated);
        }
        distinct
    }

    fn named<'a>(&'a self, name: &'a str, forms: &'a [Form]) -> impl Iterator<Item = &'a Parameter> {
        self.parameters.iter().filter(move |p| p.name == name.as_bytes() && forms.contains(&p.form))
    }

    /// The value of a parameter as text. What is extended (RFC 2231) goes before what is plain, which is then there
    /// for old readers.
    pub(super) fn text(&self, name: &str, oddities: &mut Oddities) -> Option<String> {
        let found = self
            .first(name, &[Form::Extended, Form::Continued], oddities)
            .or_else(|| self.first(name, &[Form::Plain], oddities))?;
        Some(match found {
            Found::Plain(value) => decode_words(value),
            // Mailers mix the two ways to encode.
            Found::Charset(value, charset) if charset.is_empty() => decode_words(&value),
            Found::Charset(value, charset) => decode_charset(&value, &charset),
        })
    }

    fn first(&self, name: &str, forms: &[Form], oddities: &mut Oddities) -> Option<Found<'_>> {
        let named =
            || self.parameters.iter().filter(|p| p.name == name.as_bytes() && forms.contains(&p.form));
        let first = named().next()?;
        if first.form == Form::Plain {
            if named().any(|other| other.value != first.value) {
                oddities.note(Oddity::ParameterRepeated);
            }
            return Some(Found::Plain(&first.value));
        }
        let pieces: Vec<&Parameter> = named().filter(|p| p.form != Form::Plain).collect();
        if pieces.iter().enumerate().any(|(at, p)| pieces[..at].iter().any(|q| q.place == p.place)) {
            oddities.note(Oddity::ParameterRepeated);
        }
        Some(assembled(in_order(pieces)))
    }

    /// All that readers may take a parameter to be, as text: each plain value, and its pieces in the order of their
    /// numbers and as they come.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let mut texts: Vec<String> =
            self.named(name, &[Form::Plain]).map(|p| decode_words(&p.value)).collect();
        let pieces: Vec<&Parameter> = self.named(name, &[Form::Extended, Form::Continued]).collect();
        if pieces.is_empty() {
            return texts;
        }
        for found in [assembled(in_order(pieces.clone())), assembled(pieces)] {
            let Found::Charset(value, charset) = found else { continue };
            if charset.is_empty() {
                texts.push(decode_words(&value));
                continue;
            }
            texts.push(decode_charset(&value, &charset));
            let has_mark = value.starts_with(b"\xff\xfe") || value.starts_with(b"\xfe\xff");
            if charset.eq_ignore_ascii_case(b"utf-16") && !has_mark {
                texts.push(decode_charset(&value, b"utf-16le"));
            }
        }
        texts
    }
}

/// Continuations may come in any order (RFC 2231 section 3); of two with one number the first counts.
fn in_order(mut pieces: Vec<&Parameter>) -> Vec<&Parameter> {
    pieces.sort_by_key(|p| p.place);
    pieces.dedup_by_key(|p| p.place);
    pieces
}

/// The pieces of a value put together.
fn assembled(pieces: Vec<&Parameter>) -> Found<'static> {
    let mut charset = Vec::new();
    let mut value = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut text = piece.value.as_slice();
        if piece.form == Form::Extended {
            let parts =
                split_at_byte(text, b'\'').and_then(|(c, rest)| Some((c, split_at_byte(rest, b'\'')?.1)));
            if let (0, Some((its_charset, rest))) = (at, parts) {
                charset = its_charset.to_vec();
                text = rest;
            }
            value.extend(decode_escapes(text, b'%'));
        } else {
            value.extend_from_slice(text);
        }
    }
    Found::Charset(value, charset)
}

enum Found<'a> {
    Plain(&'a [u8]),
    Charset(Vec<u8>, Vec<u8>),
}

impl Parameter {
    fn new(name: &[u8], value: Vec<u8>) -> Self {
        let name = name.to_ascii_lowercase();
        let (name, is_extended) = match name.strip_suffix(b"*") {
            Some(rest) => (rest.to_vec(), true),
            None => (name, false),
        };
        let star = name.iter().rposition(|b| *b == b'*');
        let place = star.and_then(|at| std::str::from_utf8(&name[at + 1..]).ok()?.parse::<u32>().ok());
        let (name, place, is_continued) = match (star, place) {
            (Some(at), Some(place)) => (name[..at].to_vec(), place, true),
            _ => (name, 0, false),
        };
        let form = match (is_extended, is_continued) {
            (true, _) => Form::Extended,
            (false, true) => Form::Continued,
            (false, false) => Form::Plain,
        };
        Self { name, place, form, value }
    }
}

/// Reads a structured value from the left.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn skip_byte(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, tail)) if *first == byte => {
                self.rest = tail;
                true
            }
            _ => false,
        }
    }

    fn skip_semicolon(&mut self) -> bool {
        let skipped = self.skip_byte(b';');
        while self.skip_byte(b';') {}
        skipped && !self.rest.is_empty()
    }

    /// What stands before one of the stops: unquoted, without white space and comments around it.
    fn item(&mut self, stops: &[u8], oddities: &mut Oddities) -> Vec<u8> {
        let mut item = Vec::new();
        self.skip_blanks();
        // How much of the item must not be trimmed, because it was quoted.
        let mut kept = 0;
        while let Some((first, tail)) = self.rest.split_first() {
            if stops.contains(first) {
                break;
            }
            match first {
                // A quotation mark inside of a token is one of its characters for most readers.
                b'"' if item.is_empty() => {
                    self.rest = tail;
                    self.quoted(&mut item, oddities);
                    kept = item.len();
                    continue;
                }
                // So is a parenthesis: only one that stands apart begins a comment.
                b'(' if item.last().is_none_or(u8::is_ascii_whitespace) && self.comment_ends_item(stops) => {
                    self.skip_blanks();
                    continue;
                }
                b'\\' => {
                    item.extend(tail.first());
                    self.rest = tail.get(1..).unwrap_or_default();
                    continue;
                }
                b'\r' | b'\n' => {}
                _ => item.push(*first),
            }
            self.rest = tail;
        }
        let end = item.iter().rposition(|b| !b.is_ascii_whitespace()).map_or(0, |at| at + 1);
        item.truncate(end.max(kept));
        item
    }

    /// The inside of a quoted string, its opening mark being read.
    fn quoted(&mut self, item: &mut Vec<u8>, oddities: &mut Oddities) {
        while let Some((first, tail)) = self.rest.split_first() {
            self.rest = tail;
            match first {
                b'"' => return,
                b'\\' => {
                    item.extend(self.rest.first());
                    self.rest = self.rest.get(1..).unwrap_or_default();
                }
                b'\r' | b'\n' => {}
                _ => item.push(*first),
            }
        }
        oddities.note(Oddity::QuoteWithoutEnd);
    }

    fn comment_ends_item(&self, stops: &[u8]) -> bool {
        let mut ahead = Reader { rest: self.rest };
        ahead.skip_blanks();
        ahead.rest.first().is_none_or(|b| stops.contains(b)) && ahead.rest.len() < self.rest.len()
    }

    /// Skips white space and comments, which nest (RFC 5322 section 3.2.2).
    fn skip_blanks(&mut self) {
        let mut depth = 0_usize;
        while let Some((first, tail)) = self.rest.split_first() {
            match first {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b'\\' if depth > 0 => {
                    self.rest = tail.get(1..).unwrap_or_default();
                    continue;
                }
                _ if depth == 0 && !first.is_ascii_whitespace() => return,
                _ => {}
            }
            self.rest = tail;
        }
    }
}

/// The words of a `Content-Transfer-Encoding`, in lower case. There should be one.
pub(super) fn encoding(value: &[u8], oddities: &mut Oddities) -> String {
    let main = Reader { rest: value }.item(b";", oddities);
    decode_words(main.trim_ascii()).to_ascii_lowercase()
}

/// A main value as text, encoded words decoded: they are forbidden here, and some readers decode them.
fn token(value: &[u8]) -> String {
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    decode_words(&value[..end])
}

/// A name no longer than [`NAME_CHARS_MAX`]: the middle goes, because the end says what the file is.
pub(super) fn bounded(name: String, oddities: &mut Oddities) -> String {
    let characters = name.chars().count();
    if characters <= NAME_CHARS_MAX {
        return name;
    }
    oddities.note(Oddity::NameTooLong);
    let half = NAME_CHARS_MAX / 2;
    name.chars().take(half).chain(name.chars().skip(characters - half)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let cases = [
            ("text/plain", "text/plain"),
            ("  Text/HTML ; charset=x", "text/html"),
            ("(a (nested) \\) comment) multipart/mixed(another)", "multipart/mixed(another)"),
            ("multipart/mixed (another); x", "multipart/mixed"),
            ("\"text/plain\"; x=y", "text/plain"),
            ("=?UTF-8?B?bXVsdGlwYXJ0?=/mixed", "multipart/mixed"),
            ("base64 junk", "base64"),
            ("", ""),
        ];
        for (text, value) in cases {
            let parsed = Parameterised::parse(text.as_bytes(), &mut Oddities::default());
            assert_eq!(parsed.value, value, "{text}");
        }
    }

    #[test]
    fn parameters() {
        use Oddity::*;
        let cases: &[(&str, Option<&str>, Option<Oddity>)] = &[
            ("a; name=x", Some("x"), None),
            ("a; NAME = \"x y\" ; b=c", Some("x y"), None),
            ("a; name=x y z; b=c", Some("x y z"), None),
            ("a; name=\"x;\\\"y\\\\z\"", Some("x;\"y\\z"), None),
            ("a; name=report (1).exe", Some("report (1).exe"), None),
            ("a; name=x (comment)", Some("x"), None),
            ("a; (c) name (c) = (c) x", Some("x"), None),
            ("a;; ;name=x;", Some("x"), None),
            ("a; name=\"x", Some("x"), Some(QuoteWithoutEnd)),
            ("a; name=x; name=y", Some("x"), Some(ParameterRepeated)),
            ("a; name=x; name=x", Some("x"), None),
            ("a; name*=utf-8'en'R%C3%A4t%20x", Some("R\u{e4}t x"), None),
            ("a; name=plain; name*=utf-8''ext", Some("ext"), None),
            ("a; name*1=b; name*0=\"a \"; name*2=c", Some("a bc"), None),
            ("a; name*0*=iso-8859-1''%E4; name*1=b%20; name*2*=%E4", Some("\u{e4}b%20\u{e4}"), None),
            ("a; name*0=a; name*0=b", Some("a"), Some(ParameterRepeated)),
            ("a; name*0==?utf-8?Q?=C3=A4?=", Some("\u{e4}"), None),
            ("a; name==?utf-8?Q?=C3=A4?=", Some("\u{e4}"), None),
            ("a; name*=utf-16be''%00x%00y", Some("xy"), None),
            ("a; filename=x", None, None),
            ("a; name", None, None),
            ("a; name=", Some(""), None),
        ];
        for (text, value, oddity) in cases {
            let mut oddities = Oddities::default();
            let parsed = Parameterised::parse(text.as_bytes(), &mut oddities);
            assert_eq!(parsed.text("name", &mut oddities).as_deref(), *value, "{text}");
            assert_eq!(oddities.next(), *oddity, "{text}");
        }
    }

    #[test]
    fn limits_are_said() {
        let mut oddities = Oddities::default();
        let many = format!("a{}; name=x", "; b=c".repeat(PARAMETERS_MAX));
        assert_eq!(Parameterised::parse(many.as_bytes(), &mut oddities).text("name", &mut oddities), None);
        assert_eq!(oddities.next(), Some(Oddity::ParametersTooMany));
        let long = bounded(format!("{}.exe", "a".repeat(NAME_CHARS_MAX)), &mut oddities);
        assert!(long.ends_with(".exe") && long.len() == NAME_CHARS_MAX);
        assert_eq!(oddities.next(), Some(Oddity::NameTooLong));
    }
}
