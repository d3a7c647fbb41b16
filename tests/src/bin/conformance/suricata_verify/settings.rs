//! A test's configuration as `path = value` lines: [`Settings`]. Rule: of YAML what such files are written in, block by block, with
//! lists of words in brackets; no anchors, no texts over several lines.

/// Values by their paths (`outputs.eve-log.types.alert.payload`); of a list, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// Reads a file.
    pub fn parse(text: &str) -> Self {
        let mut values = Vec::new();
        // The keys that a line stands below, each with its column.
        let mut above: Vec<(usize, &str)> = Vec::new();
        for line in text.lines().map(without_comment).filter(|line| !line.is_empty()) {
            let mut content = line.trim_start();
            let mut column = line.len() - content.len();
            while let Some(item) = content.strip_prefix("- ") {
                above.retain(|(its, _)| *its <= column);
                column += content.len() - item.trim_start().len();
                content = item.trim_start();
            }
            let Some((key, value)) = key_and_value(content) else {
                values.push((path(&above, None), unquoted(content)));
                continue;
            };
            above.retain(|(its, _)| *its < column);
            match value.strip_prefix('[').and_then(|value| value.strip_suffix(']')) {
                Some(list) => {
                    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
                    values.extend(words.map(|word| (path(&above, Some(key)), unquoted(word))));
                }
                None if value.is_empty() => above.push((column, key)),
                None => values.push((path(&above, Some(key)), unquoted(value))),
            }
        }
        Self(values)
    }

    /// Says something else than the file, or what the file does not: `path=value`.
    pub fn set(&mut self, line: &str) {
        if let Some((path, value)) = line.split_once('=') {
            self.0.retain(|(its, _)| its != path);
            self.0.push((path.to_owned(), value.to_owned()));
        }
    }

    /// The value of a path, the first where there are several.
    pub fn value<'s>(&'s self, path: &'s str) -> Option<&'s str> {
        self.values(path).next()
    }

    /// All values of a path.
    pub fn values<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(its, _)| its == path).map(|(_, value)| value.as_str())
    }

    /// All values below a path, with what their paths have behind it.
    pub fn below<'s>(&'s self, path: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let own = move |(its, value): &'s (String, String)| {
            Some((its.strip_prefix(path)?.strip_prefix('.')?, value.as_str()))
        };
        self.0.iter().filter_map(own)
    }

    /// Whether a path says yes.
    pub fn is_yes(&self, path: &str) -> bool {
        matches!(self.value(path), Some("yes" | "true" | "on" | "1"))
    }

    /// Whether a path says no.
    pub fn is_no(&self, path: &str) -> bool {
        matches!(self.value(path), Some("no" | "false" | "off" | "0"))
    }
}

fn without_comment(line: &str) -> &str {
    let is_note = line.starts_with('#') || line.starts_with('%') || line.starts_with("---");
    let line = if is_note { "" } else { line };
    line.split_once(" #").map_or(line, |(before, _)| before).trim_end()
}

/// `key: value` or `key:`.
fn key_and_value(content: &str) -> Option<(&str, &str)> {
    match content.split_once(": ") {
        Some((key, value)) if !key.starts_with(['"', '\'']) => Some((key.trim(), value.trim())),
        _ => content.strip_suffix(':').map(|key| (key, "")),
    }
}

fn path(above: &[(usize, &str)], key: Option<&str>) -> String {
    let keys: Vec<&str> = above.iter().map(|(_, key)| *key).chain(key).collect();
    keys.join(".")
}

fn unquoted(value: &str) -> String {
    value.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_lists() {
        let text = "%YAML 1.1\n---\nvars:\n  address-groups:\n    HOME: \"[10.0.0.0/8,!10.1.0.0/16]\" # ours\n\
                    outputs:\n- eve-log:\n    types:\n      - alert:\n          payload: yes\n      - http\n\
                    action-order:\n  - drop\n  - pass\nhost-os-policy:\n  linux: [1.2.3.4, 5.6.7.8]\n  bsd: []\n";
        let mut settings = Settings::parse(text);
        assert_eq!(settings.value("vars.address-groups.HOME"), Some("[10.0.0.0/8,!10.1.0.0/16]"));
        assert!(settings.is_yes("outputs.eve-log.types.alert.payload"));
        assert_eq!(settings.values("action-order").collect::<Vec<_>>(), ["drop", "pass"]);
        let below: Vec<_> = settings.below("host-os-policy").collect();
        assert_eq!(below, [("linux", "1.2.3.4"), ("linux", "5.6.7.8")]);
        settings.set("outputs.eve-log.types.alert.payload=no");
        assert!(settings.is_no("outputs.eve-log.types.alert.payload"));
    }
}
