//! Buffers of HTTP's head, named one by one: [`Named`]. Rule: together they are the head that they would be out of.

use lockgate_model::Direction;

/// What was named so far.
#[derive(Default)]
pub struct Named {
    line: Option<Vec<u8>>,
    method: Option<Vec<u8>>,
    uri: Option<Vec<u8>>,
    protocol: Option<Vec<u8>>,
    status: Option<Vec<u8>>,
    message: Option<Vec<u8>>,
    header: Vec<u8>,
    is_begun: bool,
}

/// Buffers that are a field of the header.
const FIELDS: [(&str, &str); 12] = [
    ("http.user_agent", "User-Agent"),
    ("http.host", "Host"),
    ("http.host.raw", "Host"),
    ("http.referer", "Referer"),
    ("http.accept", "Accept"),
    ("http.accept_enc", "Accept-Encoding"),
    ("http.accept_lang", "Accept-Language"),
    ("http.connection", "Connection"),
    ("http.content_len", "Content-Length"),
    ("http.content_type", "Content-Type"),
    ("http.server", "Server"),
    ("http.location", "Location"),
];

impl Named {
    /// Takes a buffer, if it is one of a head.
    pub fn take(&mut self, name: &str, bytes: &[u8]) -> bool {
        let place = match name {
            "http.request_line" | "http.response_line" => &mut self.line,
            "http.method" => &mut self.method,
            "http.uri" | "http.uri.raw" => &mut self.uri,
            "http.protocol" => &mut self.protocol,
            "http.stat_code" => &mut self.status,
            "http.stat_msg" => &mut self.message,
            "http.header" | "http.header.raw" | "http.request_header" | "http.response_header" => {
                self.is_begun = true;
                self.header.extend_from_slice(bytes);
                if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                    self.header.extend_from_slice(b"\r\n");
                }
                return true;
            }
            "http.cookie" => return self.field("Cookie", bytes),
            name => match FIELDS.iter().find(|(own, _)| *own == name) {
                Some((_, field)) => return self.field(field, bytes),
                None => return false,
            },
        };
        *place = Some(bytes.to_vec());
        self.is_begun = true;
        true
    }

    fn field(&mut self, field: &str, bytes: &[u8]) -> bool {
        self.is_begun = true;
        self.header.extend_from_slice(field.as_bytes());
        self.header.extend_from_slice(b": ");
        self.header.extend_from_slice(bytes);
        self.header.extend_from_slice(b"\r\n");
        true
    }

    /// The first line and the header, where there is any of it.
    pub fn head(self, direction: Direction) -> Option<(Vec<u8>, Vec<u8>)> {
        if !self.is_begun {
            return None;
        }
        let or = |bytes: Option<Vec<u8>>, other: &[u8]| bytes.unwrap_or_else(|| other.to_vec());
        let protocol = or(self.protocol, b"HTTP/1.1");
        let words = match direction {
            Direction::ToServer => [or(self.method, b"GET"), or(self.uri, b"/"), protocol],
            Direction::ToClient => [protocol, or(self.status, b"200"), or(self.message, b"OK")],
        };
        Some((self.line.unwrap_or_else(|| words.join(&b' ')), self.header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_make_a_head() {
        let mut named = Named::default();
        assert!(!named.take("dns.query", b"x"));
        assert!(named.take("http.uri", b"/a b"));
        assert!(named.take("http.user_agent", b"curl"));
        assert!(named.take("http.header", b"X: y"));
        let (line, header) = named.head(Direction::ToServer).unwrap();
        assert_eq!(
            (line.as_slice(), header.as_slice()),
            (&b"GET /a b HTTP/1.1"[..], &b"User-Agent: curl\r\nX: y\r\n"[..])
        );
        let mut named = Named::default();
        assert!(named.take("http.stat_code", b"404"));
        assert_eq!(named.head(Direction::ToClient).unwrap().0, b"HTTP/1.1 404 OK");
        assert_eq!(Named::default().head(Direction::ToServer), None);
    }
}
