//! The lines of a database file. Rule: any bytes are taken; what no parser could read is a fault of its line only.

use super::Fault;
use std::borrow::Cow;

/// The longest line that is read: twice what ClamAV's own loader takes.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 10;

/// Lines with their numbers from 1, without line ends, comments and empty lines.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, Result<Cow<'_, str>, Fault>)> {
    bytes.split(|byte| *byte == b'\n').zip(1_u32..).filter_map(|(line, number)| {
        let line = line.trim_ascii_end();
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        if line.len() > LINE_BYTES_MAX {
            let reason = format!("{} bytes long; a line may have {LINE_BYTES_MAX}", line.len());
            return Some((number, Err(Fault::new(reason))));
        }
        // Names are the only place where other than ASCII stands; a lossy name is better than a lost signature.
        Some((number, Ok(String::from_utf8_lossy(line))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_line_ends_and_bytes() {
        let long = vec![b'a'; LINE_BYTES_MAX + 1];
        let mut bytes = b"one\r\n# two\n\n \t\nfi\xffve\n".to_vec();
        bytes.extend_from_slice(&long);
        bytes.extend_from_slice(b"\nlast");
        let got: Vec<(u32, Option<String>)> =
            lines(&bytes).map(|(number, line)| (number, line.ok().map(Cow::into_owned))).collect();
        let want = [(1, Some("one")), (5, Some("fi\u{fffd}ve")), (6, None), (7, Some("last"))];
        let want: Vec<(u32, Option<String>)> =
            want.into_iter().map(|(number, line)| (number, line.map(str::to_owned))).collect();
        assert_eq!(got, want);
    }
}
