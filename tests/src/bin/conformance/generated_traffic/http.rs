//! An exchange of HTTP that has a rule's buffers: [`spoken`]. Rule: a field that a rule asks for stands where others have their own.

use super::spoken::{Made, Speaker, Spoken};

/// Buffers that are a field of the message, and the field's name.
const FIELDS: [(&str, &str); 11] = [
    ("http.user_agent", "User-Agent"),
    ("http.referer", "Referer"),
    ("http.content_type", "Content-Type"),
    ("http.accept", "Accept"),
    ("http.accept_enc", "Accept-Encoding"),
    ("http.accept_lang", "Accept-Language"),
    ("http.connection", "Connection"),
    ("http.host", "Host"),
    ("http.host.raw", "Host"),
    ("http.server", "Server"),
    ("http.location", "Location"),
];

/// What is said for an HTTP rule.
pub fn spoken(made: &mut Made, is_to_client: bool) -> Option<Spoken> {
    let (request, response) = if is_to_client {
        (message(&mut Made(Vec::new()), false)?, message(made, true)?)
    } else {
        (message(made, false)?, message(&mut Made(Vec::new()), true)?)
    };
    let turns = vec![(Speaker::Client, request), (Speaker::Server, response)];
    Some(Spoken { turns, is_datagrams: false, port: 80 })
}

fn message(made: &mut Made, is_response: bool) -> Option<Vec<u8>> {
    let body = body(made, is_response);
    let line = if is_response { status_line(made)? } else { request_line(made, body.is_some())? };
    let mut head = vec![line, b"\r\n".to_vec()];
    for (name, value) in fields(made, is_response, body.as_deref())? {
        head.extend([name, b": ".to_vec(), value, b"\r\n".to_vec()]);
    }
    head.push(b"\r\n".to_vec());
    head.extend(body);
    Some(head.concat())
}

fn body(made: &mut Made, is_response: bool) -> Option<Vec<u8>> {
    let own = if is_response { "http.response_body" } else { "http.request_body" };
    let pieces: Vec<Vec<u8>> =
        [own, "file.data", ""].into_iter().filter_map(|name| made.take(name)).collect();
    (!pieces.is_empty()).then(|| pieces.concat()).or_else(|| is_response.then(|| b"ok".to_vec()))
}

fn request_line(made: &mut Made, has_body: bool) -> Option<Vec<u8>> {
    if let Some(mut line) = made.take("http.request_line") {
        if line.ends_with(b" ") {
            line.extend(b"HTTP/1.1");
        }
        return (line.split(|byte| *byte == b' ').count() == 3).then_some(line);
    }
    let method =
        made.take("http.method").unwrap_or_else(|| if has_body { b"POST" } else { &b"GET"[..] }.to_vec());
    let uri = match made.take("http.uri.raw") {
        Some(raw) => raw,
        None => escaped(&made.take("http.uri").unwrap_or_else(|| b"/".to_vec())),
    };
    let uri = if uri.starts_with(b"/") { uri } else { [&b"/"[..], &uri].concat() };
    let protocol = made.take("http.protocol").unwrap_or_else(|| b"HTTP/1.1".to_vec());
    (!uri.contains(&b' ')).then(|| [&method[..], b" ", &uri, b" ", &protocol].concat())
}

/// As a URI has it: what may not stand there, by its number.
fn escaped(uri: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for &byte in uri {
        if byte.is_ascii_graphic() && !b"%#".contains(&byte) {
            all.push(byte);
        } else {
            all.extend(format!("%{byte:02x}").bytes());
        }
    }
    all
}

fn status_line(made: &mut Made) -> Option<Vec<u8>> {
    if let Some(line) = made.take("http.response_line") {
        return line.starts_with(b"HTTP/1.").then_some(line);
    }
    let code = made.take("http.stat_code").unwrap_or_else(|| b"200".to_vec());
    let message = made.take("http.stat_msg").unwrap_or_else(|| b"OK".to_vec());
    Some([b"HTTP/1.1 ", &code[..], b" ", &message].concat())
}

type Field = (Vec<u8>, Vec<u8>);

fn fields(made: &mut Made, is_response: bool, body: Option<&[u8]>) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    if !is_response {
        put(&mut fields, b"Host", b"www.example.com");
        put(&mut fields, b"User-Agent", b"agent");
        put(&mut fields, b"Accept", b"*/*");
    }
    if let Some(body) = body {
        put(&mut fields, b"Content-Length", body.len().to_string().as_bytes());
    }
    if is_response {
        put(&mut fields, b"Content-Type", b"text/plain");
    }
    for (buffer, name) in FIELDS {
        if let Some(mut value) = made.take(buffer) {
            if name == "Host" && value.starts_with(b".") {
                value.splice(..0, *b"www");
            }
            put(&mut fields, name.as_bytes(), &value);
        }
    }
    if let Some(value) = made.take("http.cookie") {
        put(&mut fields, if is_response { b"Set-Cookie" } else { b"Cookie" }, &value);
    }
    for name in ["http.header", "http.header.raw"] {
        for line in lines(&made.take(name).unwrap_or_default()) {
            let (name, value) = split(&line);
            put(&mut fields, name, value);
        }
    }
    if let Some(names) = made.take("http.header_names") {
        fields = in_order(fields, &names);
    }
    let is_plain = |(name, value): &Field| {
        !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic()) && !value.contains(&b'\n')
    };
    fields.iter().all(is_plain).then_some(fields)
}

/// A field, in place of the one of its name.
fn put(fields: &mut Vec<Field>, name: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|(its, _)| its.eq_ignore_ascii_case(name)) {
        Some(field) => *field = (name.to_vec(), value.to_vec()),
        None => fields.push((name.to_vec(), value.to_vec())),
    }
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b':') {
        Some(at) if at > 0 => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
        _ => (b"X-Field", line),
    }
}

/// The fields in the order that a list of their names has; no others where it begins and ends.
fn in_order(fields: Vec<Field>, names: &[u8]) -> Vec<Field> {
    let is_whole = names.starts_with(b"\r\n") && names.ends_with(b"\r\n\r\n");
    let mut ordered: Vec<Field> = lines(names)
        .into_iter()
        .map(|name| {
            let known = fields.iter().find(|(its, _)| its.eq_ignore_ascii_case(&name));
            let value = known.map_or_else(|| b"1".to_vec(), |(_, value)| value.clone());
            (name, value)
        })
        .collect();
    let is_named = |its: &[u8], all: &[Field]| all.iter().any(|(name, _)| name.eq_ignore_ascii_case(its));
    let framing: Vec<Field> = fields
        .into_iter()
        .filter(|(name, _)| !is_named(name, &ordered) && (!is_whole || name == b"Content-Length"))
        .collect();
    if names.starts_with(b"\r\n") {
        ordered.extend(framing);
    } else {
        ordered.splice(..0, framing);
    }
    ordered
}
