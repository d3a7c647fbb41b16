//! Every file name that some reader gives a part. Rule: the first is the one that is shown, bans are asked for all.

use super::field::{Parameterised, bounded};
use super::header::Fields;
use super::limits::NAMES_MAX;
use super::oddity::{Oddities, Oddity};

/// The names of one part.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What RFC 2183 and RFC 2231 make of it.
    pub main: Option<String>,
    /// What other readers make of it, at most [`NAMES_MAX`].
    pub others: Vec<String>,
}

impl Names {
    /// Of a header block.
    pub(super) fn of(fields: &Fields, oddities: &mut Oddities) -> Self {
        if !fields.dispositions.iter().chain(&fields.media_types).any(Parameterised::may_name) {
            return Self::default();
        }
        let file_name = fields.dispositions.iter().find_map(|field| field.text("filename", oddities));
        let name = fields.media_types.iter().find_map(|field| field.text("name", oddities));
        let mut clear: Vec<String> = file_name.into_iter().chain(name).collect();
        // Of a form's field the parameter `name` is another thing.
        let is_file = |field: &&Parameterised| field.value != "form-data";
        let all = || fields.dispositions.iter().filter(is_file).chain(&fields.media_types);
        for field in fields.dispositions.iter().chain(&fields.media_types) {
            clear.extend(field.texts("filename"));
        }
        all().for_each(|field| clear.extend(field.texts("name")));
        let differ = |name: &String| !extension(name).eq_ignore_ascii_case(extension(&clear[0]));
        if clear.iter().any(differ) {
            oddities.note(Oddity::NamesDiffer);
        }
        // Pieces of one name in two fields, and names that only careless readers see, say nothing of most mails.
        let pieces = Parameterised::joined(fields.dispositions.iter().chain(&fields.media_types));
        clear.extend(pieces.texts("filename"));
        clear.extend(Parameterised::joined(all()).texts("name"));
        for field in all() {
            clear.extend(field.loose_names.iter().map(|name| super::words::decode_words(name)));
        }
        let mut distinct: Vec<String> = Vec::new();
        let cut: Vec<String> = clear.iter().filter_map(|name| as_stored(name)).collect();
        for name in clear.into_iter().chain(cut) {
            if distinct.len() <= NAMES_MAX && !name.is_empty() && !distinct.contains(&name) {
                distinct.push(bounded(name, oddities));
            }
        }
        let mut names = distinct.into_iter();
        Self { main: names.next(), others: names.collect() }
    }
}

/// What becomes of a name where it is stored, if that is another: C ends it at a NUL, and Windows drops dots and blanks
/// at its end.
fn as_stored(name: &str) -> Option<String> {
    let stored = name.split('\0').next().unwrap_or_default().trim_end_matches(['.', ' ', '\t']);
    (stored.len() < name.len()).then(|| stored.to_owned())
}

fn extension(name: &str) -> &str {
    name.trim_end().rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// What readers take for names that know neither quotes nor comments: what stands behind each `name=` of a field, up to
/// a semicolon, or beyond it where no parameter follows.
pub(super) fn loose(value: &[u8]) -> Vec<Vec<u8>> {
    const NAME: &[u8] = b"name";
    let may_name = |window: &[u8]| window[0] == b'(' || window.eq_ignore_ascii_case(NAME);
    if !value.windows(NAME.len()).any(may_name) {
        return Vec::new();
    }
    let plain = without_comments(value);
    let lower = plain.to_ascii_lowercase();
    let mut names: Vec<Vec<u8>> = Vec::new();
    for at in memchr::memmem::find_iter(&lower, NAME).take(NAMES_MAX) {
        let rest = plain[at + NAME.len()..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b"=") else { continue };
        let mut end = 0;
        let mut segments = rest.split(|byte| *byte == b';');
        end += segments.next().map_or(0, <[u8]>::len);
        push(&mut names, &rest[..end]);
        let more =
            segments.take_while(|segment| !segment.contains(&b'=') && !segment.trim_ascii().is_empty());
        let length: usize = more.map(|segment| segment.len() + 1).sum();
        if length > 0 {
            push(&mut names, &rest[..end + length]);
        }
    }
    names
}

fn push(names: &mut Vec<Vec<u8>>, raw: &[u8]) {
    let raw = raw.trim_ascii();
    let raw = raw.strip_prefix(b"'").unwrap_or(raw);
    let raw = raw.strip_suffix(b"'").unwrap_or(raw);
    let name: Vec<u8> = raw.iter().copied().filter(|byte| !b"\"\\\r\n".contains(byte)).collect();
    if !name.is_empty() && !names.contains(&name) {
        names.push(name);
    }
}

/// The value without what stands in parentheses, quoted or not.
fn without_comments(value: &[u8]) -> Vec<u8> {
    let mut depth = 0_usize;
    let mut plain = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(*byte),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn careless_readers() {
        for (value, expected) in [
            ("attachment", &[][..]),
            ("attachment; filename=x.exe", &["x.exe"]),
            ("a/b; name = \"x.exe\"; y=z", &["x.exe"]),
            ("a/b; name=\"x\".exe\"", &["x.exe"]),
            ("a/b; name='x.exe'", &["x.exe"]),
            ("a/b; name=x;.exe", &["x", "x;.exe"]),
            ("a/b; na(c)me=x.e(.gif)xe", &["x.exe"]),
            ("a/b; name=x.exe; name=y.exe", &["x.exe", "y.exe"]),
            ("a/b; name=x(.exe", &["x"]),
        ] {
            let found = loose(value.as_bytes());
            let found: Vec<&str> = found.iter().map(|name| std::str::from_utf8(name).unwrap()).collect();
            assert_eq!(found, expected, "{value}");
        }
    }
}
