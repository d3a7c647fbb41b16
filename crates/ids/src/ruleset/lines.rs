//! The rules of a file. Rule: any bytes are taken; a rule that goes over several lines is one, with the number of its first.

use std::borrow::Cow;

/// The longest rule that is read, its continued lines together.
pub(crate) const RULE_BYTES_MAX: usize = 64 << 10;

/// What stands in a file, without comments and empty lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    /// Its first line, from 1.
    pub line: u32,
    /// The rule; `None` where it is longer than a rule may be.
    pub rule: Option<Cow<'a, str>>,
}

/// The rules of a file in their order. A backslash at the end of a line continues it.
pub(crate) fn rules(bytes: &[u8]) -> impl Iterator<Item = Text<'_>> {
    let mut lines = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).split(|b| *b == b'\n').zip(1_u32..);
    std::iter::from_fn(move || {
        loop {
            let (first, line) = lines.next()?;
            let first = first.trim_ascii();
            if first.is_empty() || first.starts_with(b"#") {
                continue;
            }
            let Some(begun) = first.strip_suffix(b"\\") else {
                return Some(Text { line, rule: within_bound(first).map(decoded) });
            };
            let whole = continued(begun, lines.by_ref().map(|(next, _)| next));
            let rule = within_bound(&whole).map(|whole| Cow::Owned(decoded(whole).into_owned()));
            return Some(Text { line, rule });
        }
    })
}

/// A rule that goes on in the next lines. No more of it is kept than is read.
fn continued<'a>(begun: &[u8], following: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut whole = begun.to_vec();
    for next in following {
        let next = next.trim_ascii();
        let (piece, goes_on) = next.strip_suffix(b"\\").map_or((next, false), |piece| (piece, true));
        if whole.len() <= RULE_BYTES_MAX {
            whole.push(b' ');
            whole.extend_from_slice(piece);
        }
        if !goes_on {
            break;
        }
    }
    whole
}

fn within_bound(rule: &[u8]) -> Option<&[u8]> {
    (rule.len() <= RULE_BYTES_MAX).then_some(rule)
}

/// UTF-8 as it is. Other bytes stand for themselves: a content that has them asks for them.
fn decoded(rule: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(rule) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(rule.iter().copied().map(char::from).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_continuations_and_bounds() {
        let mut bytes = b"\xef\xbb\xbfone\r\n# two\n\n three \\\n  four\\\r\nfive\nsix \\".to_vec();
        let read = |bytes: &[u8]| -> Vec<(u32, Option<String>)> {
            rules(bytes).map(|text| (text.line, text.rule.map(Cow::into_owned))).collect()
        };
        let mut want = vec![
            (1, Some("one".to_owned())),
            (4, Some("three  four five".to_owned())),
            (7, Some("six ".to_owned())),
        ];
        assert_eq!(read(&bytes), want);
        bytes.extend_from_slice(&vec![b'a'; RULE_BYTES_MAX + 1]);
        bytes.extend_from_slice(b"\nlast");
        want.pop();
        want.extend([(7, Some("six ".to_owned() + &"a".repeat(0))), (8, None)]);
        let long = [b"\n".as_slice(), &vec![b'a'; RULE_BYTES_MAX + 1], b"\nlast"].concat();
        assert_eq!(read(&long), [(2, None), (3, Some("last".to_owned()))]);
    }
}
