//! Scripts of a page as ClamAV's signatures expect them. Rule: a script is bounded, and so is the work on it.
//!
//! Its tokens with as little space between them as they need, in lower case, without comments; strings in double quotes, with
//! their escapes undone, joined where a `+` joins them; `unescape("…")` is undone and `eval("…")` is what it evaluates;
//! variables, parameters and functions that are declared become `n000`, `n001` and so on. As in the page's other texts, the
//! ends of lines are spaces, so that a comment of one line ends with its first word.

mod scopes;
mod tokens;

use super::Text;
use scopes::Scopes;
use tokens::{Kind, Token, Tokens};

/// How much of a script is gathered; a longer one is read in pieces.
const SCRIPT_BYTES_MAX: usize = 256 << 10;
/// How many bytes are evaluated for each byte of a script.
const EVALUATED_MAX: usize = 4;

/// The scripts of a page.
#[derive(Default)]
pub(super) struct Scripts {
    bytes: Vec<u8>,
    is_open: bool,
    is_later: bool,
}

impl Scripts {
    /// A script begins, unless one has.
    pub fn begin(&mut self) {
        self.is_open = true;
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= SCRIPT_BYTES_MAX
    }

    /// The next byte of the script at hand.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// The script has ended.
    pub fn end(&mut self, out: &mut dyn FnMut(Text, &[u8])) {
        self.cut(out);
        self.is_open = false;
    }

    /// What has come of the script is read by itself.
    pub fn cut(&mut self, out: &mut dyn FnMut(Text, &[u8])) {
        if std::mem::replace(&mut self.is_later, true) {
            out(Text::Script, b"\n");
        }
        out(Text::Script, &normalised(&std::mem::take(&mut self.bytes)));
    }
}

fn normalised(script: &[u8]) -> Vec<u8> {
    let mut scopes = Scopes::default();
    let mut tokens = Tokens::default();
    tokens.read(script, &mut scopes);
    tokens.close_parentheses();
    let tokens = evaluated(unescaped(tokens), &mut scopes, script.len() * EVALUATED_MAX);
    written(&tokens, &mut scopes)
}

/// Each `unescape("…")` as what it comes to.
fn unescaped(tokens: Tokens) -> Tokens {
    let Tokens { list, mut text } = tokens;
    let mut kept = Vec::with_capacity(list.len());
    let mut rest = list.as_slice();
    while let [first, after @ ..] = rest {
        let is_call = first.kind == Kind::Name && first.text(&text) == b"unescape";
        match after {
            [open, string, behind @ ..]
                if is_call && open.text(&text) == b"(" && string.kind == Kind::String =>
            {
                let plain = unescape(string.text(&text));
                kept.push(Token::add(Kind::String, &plain, &mut text));
                rest = behind.get(1..).unwrap_or_default();
            }
            _ => {
                kept.push(*first);
                rest = after;
            }
        }
    }
    Tokens { list: kept, text }
}

/// JavaScript's function of that name.
fn unescape(text: &[u8]) -> Vec<u8> {
    let hex = |digits: &[u8]| {
        let text = str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))?;
        u16::from_str_radix(text, 16).ok()
    };
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        let long = after.get(1..5).filter(|_| after.first() == Some(&b'u')).and_then(hex);
        match (long, after.get(..2).and_then(hex)) {
            (Some(character), _) if *first == b'%' => {
                tokens::push_utf8(character, &mut plain);
                rest = after.get(5..).unwrap_or_default();
            }
            (_, Some(byte)) if *first == b'%' => {
                plain.push((byte as u8).max(1));
                rest = after.get(2..).unwrap_or_default();
            }
            _ => plain.push(*first),
        }
    }
    plain
}

/// Each `eval("…")` as the tokens that it evaluates, of so many bytes at most.
fn evaluated(tokens: Tokens, scopes: &mut Scopes, mut bytes_left: usize) -> Tokens {
    let Tokens { mut list, mut text } = tokens;
    list.reverse();
    let mut kept = Vec::with_capacity(list.len());
    while let Some(token) = list.pop() {
        let is_call = token.kind == Kind::Name && token.text(&text) == b"eval";
        let called = match list.as_slice() {
            [.., close, string, open]
                if is_call
                    && open.text(&text) == b"("
                    && string.kind == Kind::String
                    && close.text(&text) == b")" =>
            {
                Some(*string)
            }
            _ => None,
        };
        let Some(string) = called.filter(|string| string.length as usize <= bytes_left) else {
            scopes.follow(&token);
            kept.push(token);
            continue;
        };
        bytes_left -= string.length as usize;
        list.truncate(list.len() - 3);
        if list.last().is_some_and(|next| next.kind == Kind::Plain && next.text(&text) == b";") {
            list.pop();
        }
        let script = string.text(&text).to_vec();
        let mut inner = Tokens { list: Vec::new(), text: std::mem::take(&mut text) };
        inner.read(&script, scopes);
        text = inner.text;
        list.extend(inner.list.into_iter().rev());
        // As ClamAV has it: the first of them is not looked at again.
        if let Some(first) = list.pop() {
            scopes.follow(&first);
            kept.push(first);
        }
    }
    Tokens { list: kept, text }
}

fn written(tokens: &Tokens, scopes: &mut Scopes) -> Vec<u8> {
    const END: &[u8] = b"</script>";
    let mut out = b"<script>".to_vec();
    let mut last = 0;
    scopes.start_again();
    for token in &tokens.list {
        scopes.follow(token);
        let text = token.text(&tokens.text);
        let declared = (token.kind == Kind::Name).then(|| scopes.number_of(text)).flatten();
        let (first, end, written) = match token.kind {
            Kind::FunctionEnd => continue,
            Kind::String => (b'"', b'"', [b"\"", text, b"\""].concat()),
            Kind::Number => (b'0', b'0', text.to_vec()),
            Kind::Name => (b'a', b'a', declared.map_or(text.to_vec(), |n| format!("n{n:03}").into_bytes())),
            Kind::Function(_) => (b'a', b'a', b"function".to_vec()),
            Kind::Plain => match (text.first(), text.last()) {
                (Some(first), Some(end)) => (*first, *end, text.to_vec()),
                _ => continue,
            },
        };
        if u8::is_ascii_alphanumeric(&last) && first.is_ascii_alphanumeric() {
            out.push(b' ');
        }
        out.extend(written.iter().map(|byte| match byte {
            byte if super::is_space(*byte) => b' ',
            byte => byte.to_ascii_lowercase(),
        }));
        last = end;
    }
    if !out.ends_with(END) {
        out.extend_from_slice(END);
    }
    out
}
