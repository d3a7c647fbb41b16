//! XCLIENT and XFORWARD, Postfix's ways to pass on whose connection it is. Rule: a value that cannot be read is refused.
//!
//! <https://www.postfix.org/XCLIENT_README.html>, <https://www.postfix.org/XFORWARD_README.html>: attributes in xtext
//! (RFC 3461 section 4), `[UNAVAILABLE]` and `[TEMPUNAVAIL]` for what is not known, `IPV6:` before such addresses.

use super::reply::Reply;
use std::net::IpAddr;

/// What an attribute says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// This.
    Known(String),
    /// That it is not known.
    Unavailable,
    /// That it could not be found out for now.
    TemporarilyUnavailable,
}

impl Value {
    /// The text, where it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Unavailable | Self::TemporarilyUnavailable => None,
        }
    }
}

/// The attributes of one command, in their order; names are in capital letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    list: Vec<(String, Value)>,
}

/// The names that either command has.
const NAMES: [&str; 10] =
    ["NAME", "ADDR", "PORT", "PROTO", "HELO", "LOGIN", "DESTADDR", "DESTPORT", "IDENT", "SOURCE"];

impl Attributes {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.list.push((name.to_ascii_uppercase(), value));
        self
    }

    /// The same with `ADDR`, or `DESTADDR`, as these commands write addresses.
    #[must_use]
    pub fn with_address(self, name: &str, address: IpAddr) -> Self {
        let text = match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_string(),
            IpAddr::V6(v6) => format!("IPV6:{v6}"),
        };
        self.with(name, Value::Known(text))
    }

    /// Reads what stands behind the verb.
    pub(crate) fn parse(text: &str) -> Result<Self, Reply> {
        let mut list: Vec<(String, Value)> = Vec::new();
        for word in text.split([' ', '\t']).filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').ok_or_else(|| bad("write name=value"))?;
            let name = name.to_ascii_uppercase();
            if !NAMES.contains(&name.as_str()) {
                return Err(bad("an attribute name is not known"));
            }
            if list.iter().any(|(other, _)| *other == name) {
                return Err(bad("an attribute is given twice"));
            }
            let value = decode(value).ok_or_else(|| bad("the value of an attribute is malformed"))?;
            list.push((name, value));
        }
        if list.is_empty() { Err(bad("give at least one attribute")) } else { Ok(Self { list }) }
    }

    /// What is said of one.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.list.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The address of an attribute, if it is known and is one.
    pub fn address(&self, name: &str) -> Option<IpAddr> {
        let text = self.value(name)?.known()?;
        match text.split_at_checked(5) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("IPV6:") => rest.parse().ok().map(IpAddr::V6),
            _ => text.parse().ok(),
        }
    }

    /// The port of an attribute, if it is known and is one.
    pub fn port(&self, name: &str) -> Option<u16> {
        self.value(name)?.known()?.parse().ok()
    }

    /// Each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.list.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the other side takes these names, which it announced with EHLO.
    pub fn are_taken_by(&self, announced: &[String], names: &[&str]) -> bool {
        names
            .iter()
            .all(|name| announced.iter().any(|a| a.eq_ignore_ascii_case(name)) && self.value(name).is_some())
    }

    /// The command lines, with those attributes that the other side announced; an attribute that would make a line
    /// longer than `line_bytes_max` begins the next. Empty if nothing is announced.
    pub fn command_lines(&self, verb: &str, announced: &[String], line_bytes_max: usize) -> Vec<Vec<u8>> {
        let mut lines: Vec<String> = Vec::new();
        for (name, value) in &self.list {
            if !announced.iter().any(|a| a.eq_ignore_ascii_case(name)) {
                continue;
            }
            let word = format!(" {name}={}", encode(value));
            match lines.last_mut() {
                Some(line) if line.len() + word.len() + 2 <= line_bytes_max => line.push_str(&word),
                _ => lines.push(format!("{verb}{word}")),
            }
        }
        lines.into_iter().map(|line| format!("{line}\r\n").into_bytes()).collect()
    }
}

fn encode(value: &Value) -> String {
    match value {
        Value::Unavailable => "[UNAVAILABLE]".to_owned(),
        Value::TemporarilyUnavailable => "[TEMPUNAVAIL]".to_owned(),
        Value::Known(text) => xtext(text),
    }
}

/// RFC 3461 section 4.
pub fn xtext(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'+' && byte != b'=' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("+{byte:02X}"));
        }
    }
    out
}

fn decode(text: &str) -> Option<Value> {
    if text.eq_ignore_ascii_case("[UNAVAILABLE]") {
        return Some(Value::Unavailable);
    }
    if text.eq_ignore_ascii_case("[TEMPUNAVAIL]") {
        return Some(Value::TemporarilyUnavailable);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'+' {
            out.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    let text = String::from_utf8(out).ok()?;
    // A line end in a name would be a command further on, or a header line.
    (!text.chars().any(char::is_control)).then_some(Value::Known(text))
}

fn bad(text: &str) -> Reply {
    Reply::new(501, "5.5.4", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_written() {
        let text =
            "NAME=spike.example addr=192.0.2.1 PORT=2525 PROTO=ESMTP HELO=[UNAVAILABLE] LOGIN=a+2Bb+20c";
        let attributes = Attributes::parse(text).expect("well formed");
        assert_eq!(attributes.value("name").and_then(Value::known), Some("spike.example"));
        assert_eq!(attributes.address("ADDR"), Some([192, 0, 2, 1].into()));
        assert_eq!(attributes.port("PORT"), Some(2525));
        assert_eq!(attributes.value("HELO"), Some(&Value::Unavailable));
        assert_eq!(attributes.value("LOGIN"), Some(&Value::Known("a+b c".to_owned())));
        let announced: Vec<String> = ["ADDR", "LOGIN"].map(str::to_owned).to_vec();
        assert_eq!(
            attributes.command_lines("XCLIENT", &announced, 512),
            [b"XCLIENT ADDR=192.0.2.1 LOGIN=a+2Bb+20c\r\n".to_vec()]
        );
        assert_eq!(attributes.command_lines("XCLIENT", &announced, 20).len(), 2);
        assert!(attributes.command_lines("XCLIENT", &[], 512).is_empty());
        assert!(attributes.are_taken_by(&announced, &["ADDR"]));
        assert!(!attributes.are_taken_by(&announced, &["ADDR", "PORT"]));
    }

    #[test]
    fn addresses_have_their_prefix() {
        let v6: IpAddr = "2001:db8::1".parse().expect("an address");
        let attributes = Attributes::new().with_address("ADDR", v6);
        assert_eq!(attributes.value("ADDR").and_then(Value::known), Some("IPV6:2001:db8::1"));
        assert_eq!(attributes.address("ADDR"), Some(v6));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().expect("an address");
        let attributes = Attributes::new().with_address("ADDR", mapped);
        assert_eq!(attributes.value("ADDR").and_then(Value::known), Some("192.0.2.1"));
    }

    #[test]
    fn bad_ones_are_refused() {
        for text in
            ["", "ADDR", "FOO=1", "ADDR=1 ADDR=2", "NAME=a+2", "NAME=a+0D+0Ab", "NAME=a+FF", "NAME=+zz"]
        {
            assert!(Attributes::parse(text).is_err(), "{text}");
        }
    }
}
