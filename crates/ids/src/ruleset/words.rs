//! A rule's text → its head and the words of its body. Rule: nothing is interpreted here but quotes, escapes and ends.

use super::Fault;

/// `name;` or `name:value;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub name: &'a str,
    /// Where the name stands in the rule, in bytes from 0.
    pub at: usize,
    /// What is behind the colon, without white space around it.
    pub value: Option<&'a str>,
    /// Where the value stands.
    pub value_at: usize,
}

impl<'a> Word<'a> {
    /// The value, where the keyword makes no sense without.
    pub fn needed(&self) -> Result<&'a str, Fault> {
        let value = self.value.filter(|value| !value.is_empty());
        value.ok_or_else(|| Fault::at(self.at, format!("{} needs a value: {}:…;", self.name, self.name)))
    }

    /// A fault of the value.
    pub fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::at(self.value_at, format!("{}: {}", self.name, reason.into()))
    }

    /// The value without quotes around it.
    pub fn unquoted(&self) -> Result<&'a str, Fault> {
        self.needed().map(unquoted)
    }

    /// The parts of the value between commas, without white space.
    pub fn fields(&self) -> Result<impl Iterator<Item = &'a str> + Clone, Fault> {
        Ok(unquoted(self.needed()?).split(',').map(str::trim))
    }
}

/// Text without the quotes around it.
pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').map_or(text, |text| text.strip_suffix('"').unwrap_or(text))
}

/// The head before the parenthesis, what is within, and where that begins.
pub(crate) fn split(text: &str) -> Result<(&str, &str, usize), Fault> {
    let open = text.find('(').ok_or_else(|| Fault::at(text.len(), "a rule has options in parentheses"))?;
    let body = text[open + 1..].trim_end();
    let body =
        body.strip_suffix(')').ok_or_else(|| Fault::at(text.len(), "the closing parenthesis is missing"))?;
    Ok((&text[..open], body, open + 1))
}

/// Whether a body is written as Snort 3 does it: a content's modifiers stand behind a comma.
pub(crate) fn is_snort3(body: &str) -> bool {
    words(body, 0).flatten().any(|word| {
        let rest = word.value.filter(|_| word.name == "content").and_then(|value| {
            let value = value.trim_start_matches('!').trim_start();
            value.strip_prefix('"').and_then(|text| text.get(end_of_quote(text)? + 1..))
        });
        rest.is_some_and(|rest| rest.trim_start().starts_with(','))
    })
}

/// Where text that a quote opens is closed: at a quote that is not escaped and that an end or a comma follows.
pub(crate) fn end_of_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => {
                let next = text[at + 1..].trim_start().bytes().next();
                if matches!(next, None | Some(b';' | b',')) {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The words of a body that begins there in its rule.
pub(crate) fn words(body: &str, body_at: usize) -> impl Iterator<Item = Result<Word<'_>, Fault>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = body.get(at..)?;
            let begins = at + (rest.len() - rest.trim_start().len());
            let rest = body.get(begins..)?;
            if rest.is_empty() {
                return None;
            }
            let Some(length) = end_of_word(rest) else {
                at = body.len();
                return Some(Err(Fault::at(body_at + begins, "an option ends with a semicolon")));
            };
            at = begins + length + 1;
            if length > 0 {
                return Some(Ok(word(&rest[..length], body_at + begins)));
            }
        }
    })
}

/// Where a word's semicolon stands. One within quotes ends nothing, nor one that is escaped.
fn end_of_word(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut at = 0;
    let bytes = text.as_bytes();
    let mut opens = bytes.iter().position(|b| *b == b':').map_or(usize::MAX, |colon| colon + 1);
    while let Some(byte) = bytes.get(at) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b';' => return Some(at),
            b'"' if text.get(opens..at).is_some_and(|before| before.trim_matches([' ', '!']).is_empty()) => {
                if let Some(length) = end_of_quote(&text[at + 1..]) {
                    at += length + 1;
                }
                opens = usize::MAX;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn word(text: &str, at: usize) -> Word<'_> {
    let Some((name, value)) = text.split_once(':') else {
        return Word { name: text.trim_end(), at, value: None, value_at: at };
    };
    let value_at = at + name.len() + 1 + (value.len() - value.trim_start().len());
    Word { name: name.trim_end(), at, value: Some(value.trim()), value_at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_quotes_and_escapes() {
        let body = r#"msg:"a\;b; c"; nocase ;content: !"x|3b|" ; pcre:"/a"b\;/R";sid: 7;;"#;
        let words: Vec<_> = words(body, 10).collect::<Result<_, _>>().unwrap();
        let got: Vec<_> = words.iter().map(|word| (word.name, word.value)).collect();
        assert_eq!(
            got,
            [
                ("msg", Some(r#""a\;b; c""#)),
                ("nocase", None),
                ("content", Some(r#"!"x|3b|""#)),
                ("pcre", Some(r#""/a"b\;/R""#)),
                ("sid", Some("7")),
            ]
        );
        assert_eq!((words[1].at, words[4].value_at), (10 + 14 + 1, 10 + body.len() - 3));
    }

    #[test]
    fn what_is_not_ended_is_a_fault() {
        assert!(words("sid:1; rev:2", 0).last().unwrap().is_err());
        assert!(split("alert tcp any any -> any any").is_err());
        assert!(split("alert tcp any any -> any any (sid:1;").is_err());
        assert_eq!(split("a (b) ) ").unwrap(), ("a ", "b) ", 3));
    }

    #[test]
    fn snort_3_is_told_by_its_commas() {
        assert!(is_snort3(r#"content:"a,b",nocase;"#));
        assert!(!is_snort3(r#"content:"a\",b"; nocase;"#));
    }
}
