//! HTTP/1.1 messages, read as strictly as can be. Rule: nothing is shared with the gateway's own reader, so the two can
//! disagree.

use std::io::{BufRead, Read};

/// A body longer than this is not one that a test sends.
const BODY_BYTES_MAX: usize = 64 << 20;

/// A message's first line and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The first line, in words.
    pub words: Vec<String>,
    /// Names in lower case, and values without the whitespace around them.
    pub fields: Vec<(String, String)>,
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none that says so.
    Unsaid,
    /// By Content-Length.
    Length(usize),
    /// In chunks.
    Chunked,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Its fields.
    pub fields: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// Whether the end that its framing promises has come.
    pub is_whole: bool,
}

impl Head {
    /// The next head; none at the end of the connection. Errors are what is wrong with it.
    pub fn read(from: &mut impl BufRead) -> Result<Option<Self>, String> {
        let Some(first) = line(from)? else { return Ok(None) };
        let words = first.splitn(3, ' ').map(str::to_owned).collect();
        let mut fields = Vec::new();
        loop {
            let field = line(from)?.ok_or("it ends within the head")?;
            if field.is_empty() {
                return Ok(Some(Self { words, fields }));
            }
            let (name, value) = field.split_once(':').ok_or(format!("no field: {field:?}"))?;
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(format!("no field name: {name:?}"));
            }
            fields.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()));
        }
    }

    /// The value of the first such field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }

    /// How its body is framed. Errors where two readers could differ.
    pub fn framing(&self) -> Result<Framing, String> {
        let all = |name: &str| self.fields.iter().filter(|field| field.0 == name).count();
        match (self.field("content-length"), self.field("transfer-encoding")) {
            (None, None) => Ok(Framing::Unsaid),
            (Some(_), Some(_)) => Err(String::from("a length and chunks")),
            (Some(_), None) if all("content-length") > 1 => Err(String::from("two lengths")),
            (Some(length), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                length.parse().map(Framing::Length).map_err(|_| format!("no length: {length:?}"))
            }
            (None, Some("chunked")) if all("transfer-encoding") == 1 => Ok(Framing::Chunked),
            (length, coding) => Err(format!("Content-Length {length:?}, Transfer-Encoding {coding:?}")),
        }
    }
}

/// All responses of a connection that was read to its end, to requests of these methods. Errors say which response has
/// no reading, or two.
pub fn responses(mut from: &[u8], methods: &[&str]) -> Result<Vec<Response>, String> {
    let mut all = Vec::new();
    let mut answered = 0;
    while let Some(head) = Head::read(&mut from)? {
        let [version, status, ..] = head.words.as_slice() else {
            return Err(format!("no status line: {head:?}"));
        };
        let status: u16 = status.parse().map_err(|_| format!("no status: {status:?}"))?;
        if !matches!(version.as_str(), "HTTP/1.0" | "HTTP/1.1") || !(100..=999).contains(&status) {
            return Err(format!("no status line: {:?}", head.words));
        }
        let method = methods.get(answered).copied().unwrap_or("GET");
        let framing = head.framing()?;
        let (body, is_whole) = match framing {
            _ if status < 200 || matches!(status, 204 | 304) || method == "HEAD" => (Vec::new(), true),
            Framing::Length(length) => {
                let length = length.min(from.len() + 1);
                let body = from.get(..length).unwrap_or(from).to_vec();
                (body.clone(), body.len() == length)
            }
            Framing::Chunked => chunks(&mut from)?,
            Framing::Unsaid => (std::mem::take(&mut from).to_vec(), true),
        };
        if let (Framing::Length(_), false) = (framing, body.is_empty()) {
            from = from.get(body.len()..).unwrap_or_default();
        }
        answered += usize::from(status >= 200);
        all.push(Response { status, fields: head.fields, body, is_whole });
    }
    Ok(all)
}

/// The content of a chunked body, and whether its end has come. Errors where a chunk has no reading, or two.
pub fn chunks(from: &mut impl BufRead) -> Result<(Vec<u8>, bool), String> {
    let mut body = Vec::new();
    loop {
        let Some(size) = line_if_whole(from)? else { return Ok((body, false)) };
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("no chunk size: {size:?}"));
        }
        let length = usize::from_str_radix(&size, 16).map_err(|_| format!("no chunk size: {size:?}"))?;
        if length == 0 {
            break;
        }
        let chunk = bytes(from, length)?;
        let is_whole = chunk.len() == length;
        body.extend(chunk);
        match line_if_whole(from)? {
            Some(end) if end.is_empty() => {}
            None => return Ok((body, false)),
            Some(_) if !is_whole => return Ok((body, false)),
            Some(end) => return Err(format!("a chunk without its end: {end:?}")),
        }
    }
    // Trailers say nothing of what was read.
    loop {
        match line_if_whole(from)? {
            None => return Ok((body, false)),
            Some(end) if end.is_empty() => return Ok((body, true)),
            Some(_) => {}
        }
    }
}

/// As many bytes, or fewer where the connection ends before. Errors where a test cannot mean so many.
pub fn bytes(from: &mut impl Read, length: usize) -> Result<Vec<u8>, String> {
    if length > BODY_BYTES_MAX {
        return Err(format!("a body of {length} bytes"));
    }
    let mut body = Vec::new();
    // A connection that breaks is one that ends.
    let _ = from.take(length as u64).read_to_end(&mut body);
    Ok(body)
}

/// A line without its CR LF; none at the end of the connection.
fn line(from: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    if line.is_empty() { Ok(None) } else { without_end(&line).map(Some) }
}

/// The same; none also where the connection ends within the line.
fn line_if_whole(from: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let _ = from.read_until(b'\n', &mut line);
    if line.ends_with(b"\n") { without_end(&line).map(Some) } else { Ok(None) }
}

fn without_end(line: &[u8]) -> Result<String, String> {
    let text =
        line.strip_suffix(b"\r\n").ok_or_else(|| format!("a line without CR LF: {}", line.escape_ascii()))?;
    if text.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(format!("a line with a control character: {}", text.escape_ascii()));
    }
    // Bytes that are no UTF-8 stay apart from each other.
    Ok(text.iter().map(|byte| char::from(*byte)).collect())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
