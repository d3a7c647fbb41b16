//! JSON written straight into a line: [`Object`]. Rule: what comes out is valid, whatever the texts hold, and no tree of
//! values is made for it: a line is due for every exchange.

use std::fmt::{Display, Write};

/// An object that is being written; its members stand in the order in which they are given.
pub struct Object<'a> {
    out: &'a mut String,
}

impl Object<'_> {
    /// A whole object in a line of its own, with room for so many bytes.
    pub fn line(bytes: usize, members: impl FnOnce(&mut Object<'_>)) -> String {
        let mut out = String::with_capacity(bytes);
        write_object(&mut out, members);
        out
    }

    /// The same behind what is in `out`, so that one line after another needs no memory of its own.
    pub fn append(out: &mut String, members: impl FnOnce(&mut Object<'_>)) {
        write_object(out, members);
    }

    /// A text.
    pub fn text(&mut self, name: &str, text: &str) {
        write_text(self.named(name), text);
    }

    /// A text, where there is one.
    pub fn text_if(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// What is written without anything to escape: times, addresses, ids.
    pub fn shown(&mut self, name: &str, shown: impl Display) {
        let out = self.named(name);
        let from = out.len();
        out.push('"');
        let _ = write!(out, "{shown}");
        out.push('"');
        debug_assert!(!out[from + 1..out.len() - 1].contains(is_escaped), "{}", &out[from..]);
    }

    /// A number.
    pub fn number(&mut self, name: &str, number: u64) {
        write_number(self.named(name), number);
    }

    /// A number that may be below zero.
    pub fn signed(&mut self, name: &str, number: i64) {
        let out = self.named(name);
        if number < 0 {
            out.push('-');
        }
        write_number(out, number.unsigned_abs());
    }

    /// What is not there.
    pub fn null(&mut self, name: &str) {
        self.named(name).push_str("null");
    }

    /// Yes or no.
    pub fn flag(&mut self, name: &str, is: bool) {
        self.named(name).push_str(if is { "true" } else { "false" });
    }

    /// A list of numbers.
    pub fn numbers(&mut self, name: &str, numbers: impl IntoIterator<Item = u64>) {
        write_list(self.named(name), numbers, write_number);
    }

    /// A value that was made before.
    pub fn value(&mut self, name: &str, value: &serde_json::Value) {
        let _ = write!(self.named(name), "{value}");
    }

    /// An object in this one.
    pub fn object(&mut self, name: &str, members: impl FnOnce(&mut Object<'_>)) {
        write_object(self.named(name), members);
    }

    /// A list of texts.
    pub fn texts<T: AsRef<str>>(&mut self, name: &str, texts: impl IntoIterator<Item = T>) {
        write_list(self.named(name), texts, |out, text| write_text(out, text.as_ref()));
    }

    /// A list of objects, each with the members that are written for its item.
    pub fn objects<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut members: impl FnMut(&mut Object<'_>, T),
    ) {
        write_list(self.named(name), items, |out, item| write_object(out, |object| members(object, item)));
    }

    fn named(&mut self, name: &str) -> &mut String {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        debug_assert!(!name.contains(is_escaped), "names are ours: {name:?}");
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }
}

fn write_object(out: &mut String, members: impl FnOnce(&mut Object<'_>)) {
    out.push('{');
    members(&mut Object { out });
    out.push('}');
}

fn write_list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push('[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// A string as RFC 8259 section 7 has it: only what must be escaped is.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    // To the end whatever is met, so that the compiler makes vector instructions of it: mostly there is nothing.
    match text.bytes().fold(false, |any, byte| any | is_escaped(char::from(byte))) {
        false => out.push_str(text),
        true => escape(out, text),
    }
    out.push('"');
}

fn escape(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| is_escaped(char::from(byte))) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let (byte, behind) = (from.as_bytes()[0], &from[1..]);
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => _ = write!(out, "\\u{byte:04x}"),
        }
        rest = behind;
    }
    out.push_str(rest);
}

/// Bytes of longer characters are never among them.
fn is_escaped(c: char) -> bool {
    (c < ' ') | (c == '"') | (c == '\\')
}

fn write_number(out: &mut String, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut at, mut rest) = (digits.len(), number);
    while at == digits.len() || rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.push_str(str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn any_text_reads_back() {
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"", "\\", "\\\"\u{1}", "é\n𐍈\t", "\u{7f}\u{2028}", &all] {
            let line = Object::line(0, |object| object.text("text", text));
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), json!({ "text": text }), "{line}");
            assert!(!line.contains('\n'), "a line is one line: {line:?}");
        }
    }

    #[test]
    fn members_stand_as_they_are_given() {
        let line = Object::line(64, |object| {
            object.number("zero", 0);
            object.number("most", u64::MAX);
            object.object("empty", |_| {});
            object.object("inner", |inner| {
                inner.text_if("no", None);
                inner.texts("texts", ["a{", "b"]);
                inner.texts("none", [""; 0]);
            });
            object.objects("objects", [1, 20], |item, number| item.number("n", number));
            object.value("value", &json!([null, {"x": 1}]));
            object.shown("shown", 1.5);
            object.flag("yes", true);
            object.numbers("numbers", [3, 4]);
        });
        let expected = "{\"zero\":0,\"most\":18446744073709551615,\"empty\":{},\"inner\":{\"texts\":[\"a{\",\"b\"],\
                        \"none\":[]},\"objects\":[{\"n\":1},{\"n\":20}],\"value\":[null,{\"x\":1}],\"shown\":\"1.5\",\"yes\":true,\"numbers\":[3,4]}";
        assert_eq!(line, expected);
    }
}
