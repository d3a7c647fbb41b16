//! `classification.config`: what a rule's class is called, and how much it weighs. Rule: a line that is not understood is left out.

use std::collections::HashMap;

/// A class of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub description: Box<str>,
    /// 1 weighs most.
    pub priority: u8,
}

/// All classes by their names.
#[derive(Debug, Default)]
pub(crate) struct Classes(HashMap<Box<str>, Class>);

impl Classes {
    /// `config classification: name,description,priority`.
    pub fn read(&mut self, bytes: &[u8]) {
        for line in String::from_utf8_lossy(bytes).lines() {
            let Some(fields) = line.trim().strip_prefix("config classification:") else { continue };
            let mut fields = fields.splitn(3, ',').map(str::trim);
            if let (Some(name), Some(description), Some(Ok(priority))) =
                (fields.next(), fields.next(), fields.next().map(str::parse))
            {
                self.0.insert(name.into(), Class { description: description.into(), priority });
            }
        }
    }

    pub fn of(&self, name: &str) -> Option<&Class> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_classes() {
        let mut classes = Classes::default();
        classes
            .read(b"# note\nconfig classification: web-attack,Web Attack,1\nconfig classification: half\n");
        assert_eq!(classes.of("web-attack").map(|class| class.priority), Some(1));
        assert_eq!(classes.0.len(), 1);
    }
}
