//! The boundaries of the multiparts that are open, and which of them a line is. Rule: no body bytes are kept here.

use super::limits::{BOUNDARIES_BYTES_MAX, BOUNDARIES_MAX, BOUNDARY_BYTES_MAX, MULTIPART_DEPTH_MAX};

/// The multiparts that are open, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Stack {
    open: Vec<Multipart>,
}

/// One open multipart.
#[derive(Debug)]
pub(super) struct Multipart {
    /// Most have one. Others that some reader may go by are matched as well, so that no part hides behind the choice.
    boundaries: Vec<Box<[u8]>>,
    /// How many of its parts have begun.
    pub parts: u32,
    /// Its end was seen: what follows is its epilogue.
    pub is_ended: bool,
    /// Its parts are messages unless they say otherwise (RFC 2046 section 5.1.5).
    pub is_digest: bool,
}

/// What a delimiter line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delimiter {
    /// Which multipart it belongs to.
    pub level: usize,
    pub kind: Kind,
    pub rest: Rest,
}

/// Whether a part begins or the multipart ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Part,
    End,
}

/// What else is in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    /// Anything. RFC 2046 section 5.1.1: "it is sufficient that the boundary appear in its entirety".
    Junk,
    /// White space at most.
    Blank,
}

impl Multipart {
    /// Whether its end is missing. What has no boundary has no end either.
    fn is_unended(&self) -> bool {
        !self.is_ended && !self.boundaries.is_empty()
    }
}

impl Stack {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether another multipart with these boundaries is within the limits.
    pub(super) fn has_room(&self, boundaries: &[Vec<u8>]) -> bool {
        let added: usize = boundaries.iter().map(|boundary| boundary.len().min(BOUNDARY_BYTES_MAX)).sum();
        self.open.len() < MULTIPART_DEPTH_MAX && self.boundaries_bytes() + added <= BOUNDARIES_BYTES_MAX
    }

    fn boundaries_bytes(&self) -> usize {
        self.boundaries().map(|(_, boundary)| boundary.len()).sum()
    }

    /// Opens a multipart; `false` where another with one of its boundaries is open.
    pub(super) fn push(&mut self, boundaries: &[Vec<u8>], is_digest: bool) -> bool {
        let boundaries: Vec<Box<[u8]>> = boundaries.iter().map(|boundary| bounded(boundary)).collect();
        let is_new =
            self.open.iter().flat_map(|open| &open.boundaries).all(|other| !boundaries.contains(other));
        self.open.push(Multipart { boundaries, parts: 0, is_ended: false, is_digest });
        is_new
    }

    /// The innermost multipart has another boundary; `false` where it has too many.
    pub(super) fn add(&mut self, boundary: &[u8]) -> bool {
        let has_room = self.boundaries_bytes() + boundary.len() <= BOUNDARIES_BYTES_MAX;
        match self.open.last_mut() {
            Some(multipart) if multipart.boundaries.len() < BOUNDARIES_MAX && has_room => {
                let boundary = bounded(boundary);
                if !multipart.boundaries.contains(&boundary) {
                    multipart.boundaries.push(boundary);
                }
                true
            }
            _ => false,
        }
    }

    /// All boundaries, with the level of each.
    fn boundaries(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.open
            .iter()
            .enumerate()
            .flat_map(|(level, open)| open.boundaries.iter().map(move |b| (level, &**b)))
    }

    /// Closes all multiparts inside of that level; `true` if one of them had not come to its end. To readers that look
    /// for its end first it goes on: where one of its delimiters comes, it divides all the same.
    pub(super) fn truncate(&mut self, level: usize) -> bool {
        let mut boundaries = Vec::new();
        for multipart in self.open.drain((level + 1).min(self.open.len())..).filter(Multipart::is_unended) {
            boundaries.extend(multipart.boundaries);
        }
        let is_cut = !boundaries.is_empty();
        for boundary in boundaries {
            self.add(&boundary);
        }
        is_cut
    }

    /// The innermost.
    pub(super) fn last_mut(&mut self) -> Option<&mut Multipart> {
        self.open.last_mut()
    }

    /// The innermost.
    pub(super) fn last(&self) -> Option<&Multipart> {
        self.open.last()
    }

    /// Whether one has not come to its end.
    pub(super) fn has_unended(&self) -> bool {
        self.open.iter().any(Multipart::is_unended)
    }

    /// The section number of the part that is open, as IMAP counts (RFC 3501 section 6.4.5): `1.2`. `levels` says
    /// how many multiparts count.
    pub(super) fn section(&self, levels: usize) -> String {
        let numbers: Vec<String> = self.open.iter().take(levels).map(|m| m.parts.to_string()).collect();
        numbers.join(".")
    }

    /// How many bytes after the two hyphens of a line, given in two pieces, could be the beginning of a delimiter.
    pub(super) fn prefix(&self, line: [&[u8]; 2]) -> Prefix {
        let mut longest = 0;
        for (_, boundary) in self.boundaries() {
            let length = common(boundary, line);
            if length == boundary.len() {
                return Prefix::Whole;
            }
            longest = longest.max(length);
        }
        Prefix::Part(longest)
    }

    /// What a whole line says, its two hyphens and its line end taken off. Of several that it could be, a clean line
    /// goes before one with junk, then the longest boundary, then the innermost multipart.
    pub(super) fn delimiter(&self, line: &[u8]) -> Option<Delimiter> {
        self.boundaries()
            .filter_map(|(level, boundary)| {
                let rest = line.strip_prefix(boundary)?;
                let (kind, rest) =
                    rest.strip_prefix(b"--").map_or((Kind::Part, rest), |rest| (Kind::End, rest));
                let rest = if rest.iter().all(u8::is_ascii_whitespace) { Rest::Blank } else { Rest::Junk };
                // An empty boundary would match each line that begins with two hyphens.
                let is_matched = rest == Rest::Blank || !boundary.is_empty();
                is_matched.then_some((rest, boundary.len(), level, kind))
            })
            .max_by_key(|(rest, length, level, _)| (*rest, *length, *level))
            .map(|(rest, _, level, kind)| Delimiter { level, kind, rest })
    }
}

/// How a line that is not whole compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// A whole boundary is there.
    Whole,
    /// So many bytes are those of a boundary.
    Part(usize),
}

/// A boundary must not end with white space (RFC 2046 section 5.1.1), which mail programs strip from the line.
fn bounded(boundary: &[u8]) -> Box<[u8]> {
    boundary[..boundary.len().min(BOUNDARY_BYTES_MAX)].trim_ascii_end().into()
}

/// How many bytes of the boundary the line begins with.
fn common(boundary: &[u8], [first, second]: [&[u8]; 2]) -> usize {
    let length = shared(boundary, first);
    if length < first.len() { length } else { length + shared(&boundary[length..], second) }
}

fn shared(a: &[u8], b: &[u8]) -> usize {
    let length = a.len().min(b.len());
    if a[..length] == b[..length] {
        return length;
    }
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut stack = Stack::default();
        for boundary in ["ab", "abc", "ab--"] {
            assert!(stack.push(&[boundary.as_bytes().to_vec()], false));
        }
        type Expected = Option<(usize, Kind, Rest)>;
        let cases: &[(&str, Expected)] = &[
            ("ab", Some((0, Kind::Part, Rest::Blank))),
            ("ab \t", Some((0, Kind::Part, Rest::Blank))),
            ("abc", Some((1, Kind::Part, Rest::Blank))),
            ("abc--", Some((1, Kind::End, Rest::Blank))),
            ("ab--", Some((2, Kind::Part, Rest::Blank))),
            ("ab----", Some((2, Kind::End, Rest::Blank))),
            ("abd", Some((0, Kind::Part, Rest::Junk))),
            ("ab-", Some((0, Kind::Part, Rest::Junk))),
            ("a", None),
            ("", None),
            ("AB", None),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|(level, kind, rest)| Delimiter { level, kind, rest });
            assert_eq!(stack.delimiter(line.as_bytes()), expected, "{line}");
        }
        assert!(!stack.push(&[b"ab".to_vec()], false), "the same again");
        assert!(stack.push(&[b" ".to_vec()], false), "an empty one");
        assert_eq!(stack.delimiter(b"x"), None);
        assert_eq!(stack.delimiter(b" ").map(|d| d.level), Some(4));
    }

    #[test]
    fn beginnings() {
        let mut stack = Stack::default();
        assert_eq!(stack.prefix([b"x", b""]), Prefix::Part(0));
        stack.push(&[b"abcd".to_vec()], false);
        stack.push(&[b"abx".to_vec()], false);
        let cases: &[([&[u8]; 2], Prefix)] = &[
            ([b"", b""], Prefix::Part(0)),
            ([b"ab", b""], Prefix::Part(2)),
            ([b"a", b"bc"], Prefix::Part(3)),
            ([b"a", b"by"], Prefix::Part(2)),
            ([b"a", b"bx"], Prefix::Whole),
            ([b"abcd", b"e"], Prefix::Whole),
        ];
        for (line, prefix) in cases {
            assert_eq!(stack.prefix(*line), *prefix);
        }
    }
}
