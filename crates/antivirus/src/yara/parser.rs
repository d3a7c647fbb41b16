//! Text of YARA rules → rules. Rule: a rule that cannot be read says where, and the next one is read all the same.

use super::condition::{Comparison, Condition, Number};
use crate::ruleset::Fault;
use lockgate_perl::Flags;

/// How many strings a rule may have: as many as a logical signature has parts.
const STRINGS_MAX: usize = 64;
/// How deep a condition may nest.
const DEPTH_MAX: usize = 64;

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub name: String,
    pub strings: Vec<RuleString>,
    pub condition: Condition,
}

/// One of its strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleString {
    name: String,
    pub kind: StringKind,
    /// In the letters of a logical signature: `i`, `w`, `a`, `f`.
    pub modifiers: String,
}

/// What a string is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StringKind {
    /// Hexadecimal text as ClamAV writes it.
    Hex(String),
    Regex(String, Flags),
}

/// All rules of a file, each with its line.
pub(crate) fn rules(bytes: &[u8]) -> Vec<(u32, Result<Rule, Fault>)> {
    let mut parser = Parser { text: bytes, at: 0, depth: 0, strings: Vec::new() };
    let mut rules = Vec::new();
    loop {
        parser.blank();
        if parser.at >= bytes.len() {
            return rules;
        }
        let (start, line) = (parser.at, parser.line());
        match parser.rule() {
            Ok(rule) => rules.push((line, Ok(rule))),
            Err(reason) => {
                let fault = Fault::new(format!("line {}: {reason}", parser.line()));
                rules.push((line, Err(fault)));
                parser.recover(start);
            }
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// Those of the rule at hand.
    strings: Vec<RuleString>,
}

type Read<T> = Result<T, String>;

impl Parser<'_> {
    fn line(&self) -> u32 {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let skipped = if rest.starts_with(b"//") {
                rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
            } else if rest.starts_with(b"/*") {
                rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |at| at + 2)
            } else {
                rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
            };
            if skipped == 0 {
                return;
            }
            self.at += skipped;
        }
    }

    /// Takes a mark, and the white space behind it.
    fn take(&mut self, mark: &str) -> bool {
        let there = self.rest().starts_with(mark.as_bytes());
        if there {
            self.at += mark.len();
            self.blank();
        }
        there
    }

    fn expect(&mut self, mark: &str) -> Read<()> {
        if self.take(mark) { Ok(()) } else { Err(format!("expected {mark:?}")) }
    }

    fn word_bytes(&self) -> usize {
        self.rest().iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
    }

    /// A name or number, if one stands here.
    fn word(&mut self) -> Option<String> {
        let length = self.word_bytes();
        let word = String::from_utf8_lossy(self.rest().get(..length)?).into_owned();
        self.at += length;
        self.blank();
        (!word.is_empty()).then_some(word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let there = self.word_bytes() == word.len() && self.rest().starts_with(word.as_bytes());
        there && self.take(word)
    }

    /// Goes to the next rule.
    fn recover(&mut self, start: usize) {
        self.depth = 0;
        self.at = self.at.max(start + 1);
        while self.at < self.text.len() {
            let is_start = self.text.get(self.at - 1).is_some_and(|byte| *byte == b'\n' || *byte == b'}');
            let starts = ["rule ", "private ", "global ", "import "];
            if is_start && starts.iter().any(|start| self.rest().starts_with(start.as_bytes())) {
                return;
            }
            self.at += 1;
        }
    }

    fn rule(&mut self) -> Read<Rule> {
        let reason = match self.word().as_deref() {
            Some("rule") => None,
            Some("private") => Some("rules for other rules are not understood yet"),
            Some("global") => Some("global rules are not understood yet"),
            Some("import") => Some("modules are not understood yet"),
            Some("include") => Some("other files are not included"),
            _ => Some("expected a rule"),
        };
        if let Some(reason) = reason {
            return Err(reason.to_owned());
        }
        let name = self.word().ok_or("the rule has no name")?;
        if self.take(":") {
            while self.word().is_some() {}
        }
        self.expect("{")?;
        self.strings.clear();
        if self.take_word("meta") {
            self.expect(":")?;
            self.meta()?;
        }
        if self.take_word("strings") {
            self.expect(":")?;
            while self.peek() == Some(b'$') {
                self.string()?;
            }
        }
        if !self.take_word("condition") {
            return Err("expected a condition".to_owned());
        }
        self.expect(":")?;
        let condition = self.any()?;
        self.expect("}")?;
        let strings = std::mem::take(&mut self.strings);
        if strings.is_empty() {
            return Err("a rule without strings is not understood, by ClamAV neither".to_owned());
        }
        Ok(Rule { name, strings, condition })
    }

    fn meta(&mut self) -> Read<()> {
        loop {
            let mark = self.at;
            match self.word().as_deref() {
                Some("strings" | "condition") if self.peek() == Some(b':') => {
                    self.at = mark;
                    return Ok(());
                }
                Some(_) => {}
                None => return Err("expected name = value".to_owned()),
            }
            self.expect("=")?;
            match self.peek() {
                Some(b'"') => drop(self.quoted()?),
                _ => {
                    self.take("-");
                    self.word().ok_or("expected a value")?;
                }
            }
        }
    }

    /// Text in quotation marks.
    fn quoted(&mut self) -> Read<Vec<u8>> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let byte = self.peek().ok_or("a text that is not closed")?;
            self.at += 1;
            match byte {
                b'"' => break,
                b'\n' => return Err("a text that is not closed".to_owned()),
                b'\\' => {
                    let letter = self.peek().ok_or("a text that is not closed")?;
                    self.at += 1;
                    text.push(match letter {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'x' => {
                            let digits = self.rest().get(..2).and_then(|digits| str::from_utf8(digits).ok());
                            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                            self.at += 2;
                            byte.ok_or("\\x without two digits")?
                        }
                        other => other,
                    });
                }
                byte => text.push(byte),
            }
        }
        self.blank();
        Ok(text)
    }

    fn string(&mut self) -> Read<()> {
        self.at += 1;
        let length = self.word_bytes();
        let name = String::from_utf8_lossy(self.rest().get(..length).unwrap_or_default()).into_owned();
        self.at += length;
        self.blank();
        self.expect("=")?;
        if self.strings.len() >= STRINGS_MAX {
            return Err(format!("more than {STRINGS_MAX} strings"));
        }
        let mut kind = match self.peek() {
            Some(b'"') => {
                let text = self.quoted()?;
                StringKind::Hex(text.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Some(b'{') => self.hex()?,
            Some(b'/') => self.regex()?,
            _ => return Err("expected a text, {hexadecimal} or /expression/".to_owned()),
        };
        let mut modifiers = String::new();
        loop {
            let mark = self.at;
            match self.word().as_deref() {
                Some("nocase") => match &mut kind {
                    StringKind::Regex(_, flags) => flags.any_case = true,
                    StringKind::Hex(_) => modifiers.push('i'),
                },
                Some("wide") => modifiers.push('w'),
                Some("ascii") => modifiers.push('a'),
                Some("fullword") => modifiers.push('f'),
                Some("private") => {}
                Some(other @ ("xor" | "base64" | "base64wide")) => {
                    return Err(format!("the modifier {other} is not understood yet"));
                }
                _ => {
                    self.at = mark;
                    break;
                }
            }
        }
        if matches!(kind, StringKind::Regex(..)) && modifiers.contains(['w', 'f']) {
            return Err("wide and fullword expressions are not understood yet".to_owned());
        }
        self.strings.push(RuleString { name, kind, modifiers });
        Ok(())
    }

    /// `{ 01 ?? [2-4] (02|03) }`, as ClamAV writes it.
    fn hex(&mut self) -> Read<StringKind> {
        self.at += 1;
        let mut hex = String::new();
        loop {
            self.blank();
            let byte = self.peek().ok_or("a string that is not closed")?;
            self.at += 1;
            match byte {
                b'}' => break,
                b'[' => {
                    let rest = self.rest();
                    let end =
                        rest.iter().position(|byte| *byte == b']').ok_or("a jump that is not closed")?;
                    let jump: String = rest[..end]
                        .iter()
                        .filter(|byte| !byte.is_ascii_whitespace())
                        .map(|b| char::from(*b))
                        .collect();
                    self.at += end + 1;
                    match jump.as_str() {
                        "-" | "0-" => hex.push('*'),
                        jump => hex.push_str(&format!("{{{jump}}}")),
                    }
                }
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'?' | b'(' | b'|' | b')' => {
                    hex.push(char::from(byte))
                }
                _ => return Err("a hexadecimal string with something else in it".to_owned()),
            }
        }
        self.blank();
        Ok(StringKind::Hex(hex))
    }

    fn regex(&mut self) -> Read<StringKind> {
        self.at += 1;
        let rest = self.rest();
        let (mut end, mut is_escaped) = (0, false);
        loop {
            let byte = *rest.get(end).ok_or("an expression that is not closed")?;
            if byte == b'/' && !is_escaped {
                break;
            }
            is_escaped = byte == b'\\' && !is_escaped;
            end += 1;
        }
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.at += end + 1;
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some(b'i') => flags.any_case = true,
                Some(b's') => flags.dot_all = true,
                _ => break,
            }
            self.at += 1;
        }
        self.blank();
        Ok(StringKind::Regex(text, flags))
    }

    fn any(&mut self) -> Read<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("a condition that is nested too deeply".to_owned());
        }
        let mut inner = vec![self.all()?];
        while self.take_word("or") {
            inner.push(self.all()?);
        }
        self.depth -= 1;
        Ok(if inner.len() == 1 { inner.remove(0) } else { Condition::Any(inner) })
    }

    fn all(&mut self) -> Read<Condition> {
        let mut inner = vec![self.not()?];
        while self.take_word("and") {
            inner.push(self.not()?);
        }
        Ok(if inner.len() == 1 { inner.remove(0) } else { Condition::All(inner) })
    }

    fn not(&mut self) -> Read<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("a condition that is nested too deeply".to_owned());
        }
        let condition =
            if self.take_word("not") { Condition::Not(Box::new(self.not()?)) } else { self.term()? };
        self.depth -= 1;
        Ok(condition)
    }

    fn term(&mut self) -> Read<Condition> {
        if self.take_word("true") {
            return Ok(Condition::Always(true));
        }
        if self.take_word("false") {
            return Ok(Condition::Always(false));
        }
        if self.take_word("for") {
            return Err("loops are not understood yet".to_owned());
        }
        if self.peek() == Some(b'$') {
            return self.matched();
        }
        if self.take_word("all") {
            return self.of(None);
        }
        if self.take_word("any") {
            return self.of(Some(Number::Just(1)));
        }
        if self.take_word("none") {
            return Ok(Condition::Not(Box::new(self.of(Some(Number::Just(1)))?)));
        }
        let mark = self.at;
        if self.take("(") {
            // Parentheses around a condition, or around a number.
            if let Ok(condition) = self.any()
                && self.take(")")
                && !self.continues()
            {
                return Ok(condition);
            }
            self.at = mark;
        }
        let left = self.number()?;
        if self.word_bytes() == 2 && self.rest().starts_with(b"of") {
            return self.of(Some(left));
        }
        let marks = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::MoreOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (mark, comparison) in marks {
            if self.take(mark) {
                return Ok(Condition::Compare(left, comparison, self.number()?));
            }
        }
        Ok(Condition::Compare(left, Comparison::NotEqual, Number::Just(0)))
    }

    /// Whether what was read was a number's beginning.
    fn continues(&self) -> bool {
        self.peek().is_some_and(|byte| b"=!<>+-*\\%&|^".contains(&byte))
    }

    fn matched(&mut self) -> Read<Condition> {
        let id = self.string_id()?;
        if self.take_word("at") {
            return Ok(Condition::At(id, self.number()?));
        }
        if self.take_word("in") {
            self.expect("(")?;
            let first = self.number()?;
            self.expect("..")?;
            let last = self.number()?;
            self.expect(")")?;
            return Ok(Condition::In(id, first, last));
        }
        Ok(Condition::Matched(id))
    }

    /// A string's name behind its mark (`$`, `#`, `@`).
    fn string_id(&mut self) -> Read<u8> {
        self.at += 1;
        let name = self.word().unwrap_or_default();
        let known = self.strings.iter().position(|string| string.name == name && !name.is_empty());
        known.map(|at| at as u8).ok_or_else(|| format!("no string {name:?}"))
    }

    /// Behind the number: `of them`, `of ($a, $b*)`.
    fn of(&mut self, least: Option<Number>) -> Read<Condition> {
        if !self.take_word("of") {
            return Err("expected of".to_owned());
        }
        let mut chosen = Vec::new();
        if self.take_word("them") {
            chosen.extend(0..self.strings.len());
        } else {
            self.expect("(")?;
            loop {
                if self.peek() != Some(b'$') {
                    return Err("expected a string's name".to_owned());
                }
                self.at += 1;
                let length = self.word_bytes();
                let name =
                    String::from_utf8_lossy(self.rest().get(..length).unwrap_or_default()).into_owned();
                self.at += length;
                let is_open = self.peek() == Some(b'*');
                self.at += usize::from(is_open);
                self.blank();
                let named = |string: &RuleString| match is_open {
                    true => string.name.starts_with(&name),
                    false => string.name == name,
                };
                chosen.extend((0..self.strings.len()).filter(|at| named(&self.strings[*at])));
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if self.take_word("in") || self.take_word("at") {
            return Err("places of several strings are not understood yet".to_owned());
        }
        Ok(Condition::Of(least, chosen.into_iter().map(|at| Condition::Matched(at as u8)).collect()))
    }

    /// Sums of products.
    fn number(&mut self) -> Read<Number> {
        let mut left = self.product()?;
        while let Some(operator) = self.peek().filter(|byte| b"+-&|^".contains(byte)) {
            self.take(&char::from(operator).to_string());
            left = Number::Sum(Box::new(left), char::from(operator), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Read<Number> {
        let mut left = self.factor()?;
        while let Some(operator) = self.peek().filter(|byte| b"*\\%".contains(byte)) {
            self.take(&char::from(operator).to_string());
            left = Number::Sum(Box::new(left), char::from(operator), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Read<Number> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("a number that is nested too deeply".to_owned());
        }
        let number = match self.peek() {
            Some(b'(') => {
                self.take("(");
                let number = self.number()?;
                self.expect(")")?;
                number
            }
            Some(b'-') => {
                self.take("-");
                Number::Minus(Box::new(self.factor()?))
            }
            Some(b'#') => Number::Count(self.string_id()?),
            Some(b'@') => {
                let id = self.string_id()?;
                let which = if self.take("[") {
                    let which = self.number()?;
                    self.expect("]")?;
                    which
                } else {
                    Number::Just(1)
                };
                Number::Place(id, Box::new(which))
            }
            _ => self.named_number()?,
        };
        self.depth -= 1;
        Ok(number)
    }

    fn named_number(&mut self) -> Read<Number> {
        let word = self.word().ok_or("expected a number")?;
        let (bytes, is_signed, is_high_first) = match word.as_str() {
            "filesize" => return Ok(Number::FileSize),
            "entrypoint" => return Ok(Number::EntryPoint),
            "uint8" | "uint8be" => (1, false, false),
            "uint16" => (2, false, false),
            "uint32" => (4, false, false),
            "uint16be" => (2, false, true),
            "uint32be" => (4, false, true),
            "int8" | "int8be" => (1, true, false),
            "int16" => (2, true, false),
            "int32" => (4, true, false),
            "int16be" => (2, true, true),
            "int32be" => (4, true, true),
            other => return integer(other).map(Number::Just),
        };
        self.expect("(")?;
        let at = Box::new(self.number()?);
        self.expect(")")?;
        Ok(Number::Bytes { bytes, is_signed, is_high_first, at })
    }
}

fn integer(word: &str) -> Read<i64> {
    let (digits, unit) = match word {
        word if word.ends_with("KB") => (&word[..word.len() - 2], 1 << 10),
        word if word.ends_with("MB") => (&word[..word.len() - 2], 1 << 20),
        word => (word, 1),
    };
    let number = match (digits.strip_prefix("0x"), digits.strip_prefix("0o")) {
        (Some(digits), _) => i64::from_str_radix(digits, 16),
        (_, Some(digits)) => i64::from_str_radix(digits, 8),
        _ => digits.parse(),
    };
    let number = number
        .map_err(|_| format!("{word:?} is not understood: no number, and no rule or module is asked"))?;
    number.checked_mul(unit).ok_or_else(|| "a number that is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::condition::Facts;
    use super::*;

    fn rule(condition: &str) -> Read<Rule> {
        let text = format!(
            "rule A : tag {{ meta: a = \"x\" b = 1 strings: $a = \"ab\\x01\\\"\" nocase wide // no\n \
             $b1 = {{ 01 ?? [2-4] (02|0?) [-] 03 }} $b2 = /a\\/[b]/i condition: {condition} }}"
        );
        let mut rules = rules(text.as_bytes());
        assert_eq!(rules.len(), 1, "{condition}");
        rules.remove(0).1.map_err(|fault| fault.reason)
    }

    #[test]
    fn strings() {
        let rule = rule("any of them").unwrap();
        assert_eq!(rule.name, "A");
        assert_eq!(rule.strings[0].kind, StringKind::Hex("61620122".to_owned()));
        assert_eq!(rule.strings[0].modifiers, "iw");
        assert_eq!(rule.strings[1].kind, StringKind::Hex("01??{2-4}(02|0?)*03".to_owned()));
        let flags = Flags { any_case: true, ..Flags::default() };
        assert_eq!(rule.strings[2].kind, StringKind::Regex("a\\/[b]".to_owned(), flags));
    }

    #[test]
    fn conditions() {
        let cases = [
            ("$a", true),
            ("not $a or $b1", false),
            ("$a and ($b1 or #b2 == 3)", true),
            ("#a > 1 and filesize < 2KB", true),
            ("(filesize + 24) * 2 == 2048", true),
            ("$a at 5", true),
            ("$a at 6", false),
            ("$a in (6..100)", true),
            ("@a[2] == 0x10 and @a == 5", true),
            ("2 of them", true),
            ("all of them", false),
            ("1 of ($b*)", true),
            ("all of ($a, $b2)", true),
            ("uint16(0) == 0x5a4d and uint8(1) == 90", true),
            ("uint32be(0) == 0x4d5a0000", true),
            ("uint32(998) == 1", false),
            ("int8(4) == -1", true),
        ];
        let mut bytes = vec![0; 1000];
        bytes[..5].copy_from_slice(b"MZ\0\0\xff");
        let facts = Facts {
            count: &|id| [2, 0, 3][usize::from(id)],
            places: &|id| if id == 0 { &[5, 16] } else { &[] },
            length: 1000,
            entry: None,
            bytes: Some(&bytes),
        };
        for (text, want) in cases {
            let rule = rule(text).unwrap_or_else(|reason| panic!("{text}: {reason}"));
            assert_eq!(rule.condition.holds(&facts), want, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said_and_the_next_rule_is_read() {
        let text = "import \"pe\"\nrule A { strings: $a = \"ab\" xor condition: $a }\n\
            rule B { condition: true }\nglobal rule C { strings: $a = \"x\" condition: $a }\n\
            rule D { strings: $a = \"ab\" condition: pe.x }\nrule E { strings: $a = \"ab\" condition: $a }\n";
        let rules = rules(text.as_bytes());
        let lines: Vec<(u32, bool)> = rules.iter().map(|(line, rule)| (*line, rule.is_ok())).collect();
        assert_eq!(lines, [(1, false), (2, false), (3, false), (4, false), (5, false), (6, true)]);
    }
}
