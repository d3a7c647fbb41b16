//! Parameters of MAIL and RCPT. Rule: none that is not known here is taken, so none goes on that nobody announced.
//!
//! RFC 1870 (SIZE), 6152 (BODY), 6531 (SMTPUTF8), 3461 (RET, ENVID, NOTIFY, ORCPT), 4954 (AUTH).

use super::capabilities::Extension;
use super::reply::Reply;

/// Which command they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// `MAIL FROM`.
    Mail,
    /// `RCPT TO`.
    Rcpt,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keyword {
    /// The mail's size in bytes.
    Size,
    /// `7BIT` or `8BITMIME`.
    Body,
    /// Addresses and headers may hold UTF-8.
    Smtputf8,
    /// How much of the mail a notice carries.
    Ret,
    /// The client's name for the mail.
    Envid,
    /// When to send a notice.
    Notify,
    /// The recipient as the first sender wrote it.
    Orcpt,
    /// Who submitted the mail.
    Auth,
}

impl Keyword {
    const ALL: [(Self, &'static str, Of, Extension); 8] = [
        (Self::Size, "SIZE", Of::Mail, Extension::Size),
        (Self::Body, "BODY", Of::Mail, Extension::EightBitMime),
        (Self::Smtputf8, "SMTPUTF8", Of::Mail, Extension::Smtputf8),
        (Self::Ret, "RET", Of::Mail, Extension::Dsn),
        (Self::Envid, "ENVID", Of::Mail, Extension::Dsn),
        (Self::Auth, "AUTH", Of::Mail, Extension::Auth),
        (Self::Notify, "NOTIFY", Of::Rcpt, Extension::Dsn),
        (Self::Orcpt, "ORCPT", Of::Rcpt, Extension::Dsn),
    ];

    fn from_name(name: &str, of: Of) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, n, o, _)| *o == of && n.eq_ignore_ascii_case(name))
            .map(|(keyword, ..)| *keyword)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(keyword, ..)| *keyword == self).map_or("", |(_, name, ..)| name)
    }

    /// The extension that announces it.
    pub fn extension(self) -> Extension {
        Self::ALL
            .iter()
            .find(|(keyword, ..)| *keyword == self)
            .map_or(Extension::Size, |(.., extension)| *extension)
    }
}

/// What the content of a mail is declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `BODY=7BIT`.
    SevenBit,
    /// `BODY=8BITMIME`.
    EightBitMime,
}

/// The parameters of one command, checked; each at most once, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    list: Vec<(Keyword, Option<String>)>,
}

impl Parameters {
    /// Reads what stands behind the path.
    pub(crate) fn parse(text: &str, of: Of) -> Result<Self, Reply> {
        let mut list: Vec<(Keyword, Option<String>)> = Vec::new();
        for word in text.split([' ', '\t']).filter(|word| !word.is_empty()) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            // RFC 5321 section 4.1.1.11: 555 for a parameter that is not recognised.
            let keyword = Keyword::from_name(name, of).ok_or_else(|| {
                Reply::new(555, "5.5.4", &format!("parameter {} is not supported", brief(name)))
            })?;
            if list.iter().any(|(other, _)| *other == keyword) {
                return Err(bad(&format!("{} is given twice", keyword.name())));
            }
            check(keyword, value)?;
            list.push((keyword, value.map(str::to_owned)));
        }
        Ok(Self { list })
    }

    /// Each with its value, as it came.
    pub fn iter(&self) -> impl Iterator<Item = (Keyword, Option<&str>)> {
        self.list.iter().map(|(keyword, value)| (*keyword, value.as_deref()))
    }

    /// The value of one; `Some("")` for one without value.
    pub fn value(&self, keyword: Keyword) -> Option<&str> {
        self.list.iter().find(|(k, _)| *k == keyword).map(|(_, value)| value.as_deref().unwrap_or(""))
    }

    /// The declared size; one too large for a number is the largest.
    pub fn size(&self) -> Option<u64> {
        self.value(Keyword::Size).map(|digits| digits.parse().unwrap_or(u64::MAX))
    }

    /// What the content is declared to be.
    pub fn body(&self) -> Option<Body> {
        let value = self.value(Keyword::Body)?;
        Some(if value.eq_ignore_ascii_case("7BIT") { Body::SevenBit } else { Body::EightBitMime })
    }

    /// Whether the mail is an internationalised one.
    pub fn has_smtputf8(&self) -> bool {
        self.value(Keyword::Smtputf8).is_some()
    }

    /// The same without one of them.
    #[must_use]
    pub fn without(mut self, keyword: Keyword) -> Self {
        self.list.retain(|(k, _)| *k != keyword);
        self
    }
}

fn check(keyword: Keyword, value: Option<&str>) -> Result<(), Reply> {
    let value = match (keyword, value) {
        (Keyword::Smtputf8, None) => return Ok(()),
        (Keyword::Smtputf8, Some(_)) => return Err(bad("SMTPUTF8 takes no value")),
        (_, None | Some("")) => return Err(bad(&format!("{} needs a value", keyword.name()))),
        (_, Some(value)) => value,
    };
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    let good = match keyword {
        Keyword::Size => value.len() <= 20 && value.bytes().all(|b| b.is_ascii_digit()),
        Keyword::Body if is("BINARYMIME") => {
            return Err(Reply::new(555, "5.6.1", "binary content is not supported; encode it"));
        }
        Keyword::Body => is("7BIT") || is("8BITMIME"),
        Keyword::Ret => is("FULL") || is("HDRS"),
        Keyword::Envid => value.len() <= 100 && is_xtext(value),
        Keyword::Auth => value == "<>" || is_xtext(value),
        Keyword::Notify => is_notify(value),
        Keyword::Orcpt => {
            let is_type =
                |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            value.len() <= 500
                && value.split_once(';').is_some_and(|(t, a)| is_type(t) && is_orcpt_text(t, a))
        }
        Keyword::Smtputf8 => true,
    };
    if good { Ok(()) } else { Err(bad(&format!("the value of {} is malformed", keyword.name()))) }
}

/// RFC 3461 section 4.1: NEVER alone, or some of the others.
fn is_notify(value: &str) -> bool {
    let is_event = |word: &str| ["SUCCESS", "FAILURE", "DELAY"].iter().any(|e| e.eq_ignore_ascii_case(word));
    value.eq_ignore_ascii_case("NEVER") || value.split(',').all(is_event)
}

/// xtext, or for the type `utf-8` the form of RFC 6533 section 3, which may hold UTF-8 itself.
fn is_orcpt_text(kind: &str, text: &str) -> bool {
    let is_utf8 = kind.eq_ignore_ascii_case("utf-8");
    is_xtext(text)
        || is_utf8 && !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || !c.is_ascii())
}

/// RFC 3461 section 4: printable without `+` and `=`, or `+` and two hexadecimal digits. Some clients leave `=` as it is.
fn is_xtext(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let good = match byte {
            b'+' => (0..2).all(|_| bytes.next().is_some_and(|b| b.is_ascii_hexdigit())),
            _ => byte.is_ascii_graphic(),
        };
        if !good {
            return false;
        }
    }
    !text.is_empty()
}

fn brief(name: &str) -> String {
    name.chars().take(40).collect()
}

fn bad(text: &str) -> Reply {
    Reply::new(501, "5.5.4", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_ones_are_kept_in_order() {
        let parameters =
            Parameters::parse(" size=1000 BODY=8bitmime  SMTPUTF8 RET=HDRS ENVID=a+2Bb AUTH=<>", Of::Mail)
                .expect("well formed");
        assert_eq!(parameters.size(), Some(1000));
        assert_eq!(parameters.body(), Some(Body::EightBitMime));
        assert!(parameters.has_smtputf8());
        assert_eq!(parameters.value(Keyword::Envid), Some("a+2Bb"));
        assert_eq!(parameters.iter().count(), 6);
        let huge = Parameters::parse("SIZE=99999999999999999999", Of::Mail).expect("20 digits");
        assert_eq!(huge.size(), Some(u64::MAX));
        let rcpt =
            Parameters::parse(" NOTIFY=success,DELAY ORCPT=rfc822;a+40b", Of::Rcpt).expect("well formed");
        assert_eq!(rcpt.value(Keyword::Orcpt), Some("rfc822;a+40b"));
    }

    #[test]
    fn bad_ones_are_answered() {
        let cases = [
            ("SIZE", Of::Mail, 501),
            ("SIZE=", Of::Mail, 501),
            ("SIZE=1x", Of::Mail, 501),
            ("SIZE=-1", Of::Mail, 501),
            ("SIZE=1 SIZE=2", Of::Mail, 501),
            ("BODY=9BIT", Of::Mail, 501),
            ("BODY=BINARYMIME", Of::Mail, 555),
            ("SMTPUTF8=1", Of::Mail, 501),
            ("RET=SOME", Of::Mail, 501),
            ("ENVID=a+2", Of::Mail, 501),
            ("FOO=1", Of::Mail, 555),
            ("NOTIFY=NEVER", Of::Mail, 555),
            ("SIZE=1", Of::Rcpt, 555),
            ("NOTIFY=NEVER,DELAY", Of::Rcpt, 501),
            ("NOTIFY=,", Of::Rcpt, 501),
            ("ORCPT=a", Of::Rcpt, 501),
            ("ORCPT=;a", Of::Rcpt, 501),
            ("ORCPT=rfc822;", Of::Rcpt, 501),
        ];
        for (text, of, code) in cases {
            assert_eq!(Parameters::parse(text, of).expect_err(text).code(), code, "{text}");
        }
    }
}
