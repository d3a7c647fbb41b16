//! The lines of a list. Rule: any bytes are taken; what no parser could read is a fault of its line only.

use super::Fault;
use std::borrow::Cow;

/// The longest line that is read.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 10;

/// Lines with their numbers from 1, without white space around them and without those that are empty. Comments are left
/// in: some say something.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, Result<Cow<'_, str>, Fault>)> {
    raw_lines(bytes).map(|(number, line)| (number, line.map(decoded)))
}

/// The same as they are written, for lists in any charset.
pub(crate) fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = (u32, Result<&[u8], Fault>)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').zip(1_u32..).filter_map(|(line, number)| {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        if line.len() > LINE_BYTES_MAX {
            let reason = format!("{} bytes long; a line may have {LINE_BYTES_MAX}", line.len());
            return Some((number, Err(Fault(reason))));
        }
        Some((number, Ok(line)))
    })
}

/// UTF-8, or else ISO 8859-1, in which older lists are written.
pub(crate) fn decoded(line: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(line.iter().copied().map(char::from).collect()),
    }
}

/// A line without the comment at its end. `\#` begins none.
pub(crate) fn without_comment(line: &str) -> &str {
    let begins = |at: &usize| !line[..*at].ends_with('\\');
    let at = line.match_indices('#').map(|(at, _)| at).find(begins);
    at.map_or(line, |at| line[..at].trim_end())
}

/// The same for a regular expression, in which a comment has white space before it.
pub(crate) fn without_spaced_comment(line: &str) -> &str {
    let begins = |at: &usize| *at == 0 || line[..*at].ends_with(char::is_whitespace);
    let at = line.match_indices('#').map(|(at, _)| at).find(begins);
    at.map_or(line, |at| line[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_bytes() {
        let long = vec![b'a'; LINE_BYTES_MAX + 1];
        let mut bytes = b"\xef\xbb\xbfone\r\n# two\n\n \t\nf\xfcnf\n s\xc3\xa4chs \n".to_vec();
        bytes.extend_from_slice(&long);
        bytes.extend_from_slice(b"\nlast");
        let got: Vec<(u32, Option<String>)> =
            lines(&bytes).map(|(number, line)| (number, line.ok().map(Cow::into_owned))).collect();
        let want = [
            (1, Some("one")),
            (2, Some("# two")),
            (5, Some("fünf")),
            (6, Some("sächs")),
            (7, None),
            (8, Some("last")),
        ];
        let want: Vec<_> = want.into_iter().map(|(number, line)| (number, line.map(str::to_owned))).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn comments() {
        for (line, plain, spaced) in [
            (".exe  # Program", ".exe", ".exe"),
            ("#all", "", ""),
            ("a#b", "a", "a#b"),
            (r"a\#b #c", r"a\#b", r"a\#b"),
            ("none", "none", "none"),
        ] {
            assert_eq!((without_comment(line), without_spaced_comment(line)), (plain, spaced), "{line}");
        }
    }
}
