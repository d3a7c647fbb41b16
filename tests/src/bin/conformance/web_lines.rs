//! Lines of lists and what each is about: [`probe`]. Rule: read here by the formats' descriptions, with no code of the gateway's.

use std::fmt;
use std::fs;

/// A line of a list that is in use.
pub struct Line {
    pub file: String,
    /// From 1.
    pub number: u32,
    /// As it is written, without white space around it.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {:?}", self.file, self.number, self.text())
    }
}

impl Line {
    /// UTF-8, or else ISO 8859-1; of a line that may have a comment, what stands before it.
    fn text(&self) -> String {
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => self.bytes.iter().copied().map(char::from).collect(),
        };
        match kind_of(self) {
            Kind::Phrase => text,
            Kind::Expression => text.split(" #").next().unwrap_or_default().trim().to_owned(),
            _ => text.split('#').next().unwrap_or_default().trim().to_owned(),
        }
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Site,
    Url,
    Expression,
    Extension,
    MediaType,
    Phrase,
    /// It decides nothing by itself, for this reason.
    Other(&'static str),
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Site => "sites",
            Self::Url => "URLs",
            Self::Expression => "expressions",
            Self::Extension => "extensions",
            Self::MediaType => "media types",
            Self::Phrase => "phrases",
            Self::Other(why) => why,
        }
    }
}

/// By the file's name.
pub fn kind_of(line: &Line) -> Kind {
    let name = line.file.rsplit('/').next().unwrap_or_default();
    match name {
        _ if line.file.contains("phraselists/") => Kind::Phrase,
        "domains" | "exceptionsitelist" => Kind::Site,
        "urls" => Kind::Url,
        "expressions" | "very_restrictive_expression" => Kind::Expression,
        "bannedregexpurllist" | "exceptionregexpurllist" => Kind::Expression,
        "bannedextensionlist" => Kind::Extension,
        "bannedmimetypelist" => Kind::MediaType,
        "exceptionextensionlist" | "exceptionmimetypelist" => {
            Kind::Other("what may be fetched where all else is banned")
        }
        "exceptionfilesitelist" => Kind::Other("from where any type of file may be fetched"),
        "searchregexplist" => Kind::Other("where in an address words are"),
        _ => Kind::Other("lists that no probe is known for"),
    }
}

/// The lines of a file that say something of requests or pages.
pub fn lines_of(file: &str) -> Vec<Line> {
    let name = file.rsplit('/').next().unwrap_or_default();
    if name == "usage" {
        return Vec::new();
    }
    let bytes = fs::read(file).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).zip(1..);
    let is_entry =
        |line: &[u8]| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b".Include");
    let lines = lines.filter(|(line, _)| is_entry(line));
    lines.map(|(line, number)| Line { file: file.to_owned(), number, bytes: line.to_owned() }).collect()
}

/// What a line is about.
#[derive(Debug)]
pub enum Probe {
    Url(String),
    /// A page that is answered.
    Page(Vec<u8>),
    /// The type of an answer.
    MediaType(String),
}

/// Makes what a line is about, or says why not.
pub fn probe(kind: Kind, line: &Line) -> Result<Probe, &'static str> {
    let text = line.text();
    match kind {
        Kind::Site if text.contains('/') => url(&text),
        Kind::Site => {
            let host = text.trim_start_matches('.');
            let is_address = host.parse::<std::net::IpAddr>().is_ok();
            let below = if is_address || !text.contains('.') { "" } else { "probe." };
            Ok(Probe::Url(format!("http://{below}{host}/")))
        }
        Kind::Url => url(&text),
        Kind::Expression => {
            let example = example(&text).ok_or("expressions that are not simple")?;
            let host = if text.starts_with('^') { "" } else { "probe.example/" };
            let path = if text.starts_with('^') { &*example } else { example.trim_start_matches('/') };
            // A slash at the end of an address is none that an expression sees.
            let below = if path.ends_with('/') { "x" } else { "" };
            Ok(Probe::Url(format!("http://{host}{path}{below}")))
        }
        Kind::Extension => {
            Ok(Probe::Url(format!("http://probe.example/file.{}", text.trim_start_matches('.'))))
        }
        Kind::MediaType => Ok(Probe::MediaType(text)),
        Kind::Phrase => page(line),
        Kind::Other(why) => Err(why),
    }
}

/// An address below the one that is listed.
fn url(text: &str) -> Result<Probe, &'static str> {
    let listed = text.split_once("://").map_or(text, |(_, rest)| rest);
    let below = if listed.contains('?') { "" } else { "/x" };
    Ok(Probe::Url(format!("http://{}{below}", listed.trim_end_matches('/'))))
}

/// A page that has the phrases of a line, which is `<a>`, `<a><10>` or `<a>,<b><10>`, in the list's own charset.
fn page(line: &Line) -> Result<Probe, &'static str> {
    let phrases = phrases(&line.bytes);
    if phrases.concat().into_iter().any(is_punctuation) {
        return Err("phrases with punctuation, which e2guardian never finds");
    }
    let meta = charset(line).map_or_else(String::new, |charset| format!("<meta charset=\"{charset}\">"));
    let mut page =
        format!("<html><head>{meta}<title>A page</title></head>\n<body>\n<p>ordinary").into_bytes();
    for phrase in phrases {
        page.extend_from_slice(b" garden ");
        page.extend_from_slice(phrase);
    }
    page.extend_from_slice(b" weather</p>\n</body></html>\n");
    Ok(Probe::Page(page))
}

/// What a list that is not UTF-8 is written in, where it is not what every page is without a word.
fn charset(line: &Line) -> Option<&'static str> {
    let known = [("russian", "windows-1251"), ("japanese", "shift_jis"), ("chinese", "gb2312")];
    std::str::from_utf8(&line.bytes).is_err().then_some(())?;
    known.iter().find(|(name, _)| line.file.contains(name)).map(|(_, charset)| *charset)
}

pub fn phrases(line: &[u8]) -> Vec<&[u8]> {
    let end = line.windows(2).position(|two| two == b"><").map_or(line.len(), |at| at + 1);
    let mut parts = Vec::new();
    let mut rest = &line[..end];
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        let inside = &rest[at + 1..];
        let length = inside.iter().position(|byte| *byte == b'>').unwrap_or(inside.len());
        parts.push(&inside[..length]);
        rest = &inside[length..];
    }
    parts
}

/// What is a space in every reading of a page.
fn is_punctuation(byte: u8) -> bool {
    matches!(byte, b'!'..=b'-' | b':'..=b'<' | b'>' | b'?' | b'['..=b'`')
}

/// Some text that an expression matches, where that is easily told.
pub fn example(expression: &str) -> Option<String> {
    let chars: Vec<char> = expression.chars().collect();
    let mut at = 0;
    let text = alternatives(&chars, &mut at)?;
    (at == chars.len() && !text.is_empty()).then_some(text)
}

/// Of several, the first that is not empty.
fn alternatives(chars: &[char], at: &mut usize) -> Option<String> {
    let mut chosen = String::new();
    loop {
        let one = sequence(chars, at)?;
        if chosen.is_empty() {
            chosen = one;
        }
        if chars.get(*at) != Some(&'|') {
            return Some(chosen);
        }
        *at += 1;
    }
}

fn sequence(chars: &[char], at: &mut usize) -> Option<String> {
    let mut text = String::new();
    while let Some(it) = chars.get(*at).filter(|it| !"|)".contains(**it)) {
        *at += 1;
        match it {
            // Once is what each of these may stand for.
            '*' | '+' | '?' | '^' | '$' => {}
            '{' => return None,
            '.' => text.push('x'),
            '\\' => {
                text.push(*chars.get(*at).filter(|it| !it.is_ascii_alphanumeric())?);
                *at += 1;
            }
            '[' => {
                let class: String = chars.get(*at..)?.iter().take_while(|it| **it != ']').collect();
                *at += class.chars().count() + 1;
                text.push(match class.strip_prefix('^') {
                    Some(but) => ['x', 'y', '1'].into_iter().find(|it| !but.contains(*it))?,
                    None => class.chars().find(|it| *it != '\\')?,
                });
            }
            '(' => {
                text += &alternatives(chars, at)?;
                (chars.get(*at) == Some(&')')).then_some(())?;
                *at += 1;
            }
            it => text.push(*it),
        }
    }
    Some(text)
}
