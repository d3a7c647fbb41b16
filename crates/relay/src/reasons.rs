//! Why something is not let through, in words for people. Rule: the words of one finding are the same wherever they stand.

use crate::language::Language;
use lockgate_inspect::Judgement;
use lockgate_model::{Class, Finding, Incomplete};
use std::sync::Arc;

/// Why, in one line for a log, a status line or a page; names of parts are hostile text.
pub fn because(judgement: &Judgement) -> String {
    if let Some(finding) = judgement.deciding_finding() {
        return format!("{} {} in {}", words(finding.class), finding.name, finding.part);
    }
    match judgement.incomplete.iter().find(|one| one.reason.is_ours() == judgement.is_ours) {
        Some(one) => format!("{} could not be inspected ({})", one.part, one.reason),
        None => String::from("policy"),
    }
}

/// One reason, for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Something was found.
    Found(Class, Arc<str>, Arc<str>),
    /// Something could not be inspected.
    Incomplete(Incomplete),
    /// In words that are there in English only.
    Words(String),
}

/// One finding in a sentence.
pub fn of_finding(finding: &Finding) -> String {
    let Finding { class, name, part, .. } = finding;
    Why::Found(*class, Arc::clone(name), Arc::clone(part)).words(Language::English)
}

/// Every reason of a judgement: what was found, or what could not be inspected.
pub fn all(judgement: &Judgement) -> Vec<Why> {
    if judgement.deciding_finding().is_some() {
        let found =
            |found: &Finding| Why::Found(found.class, Arc::clone(&found.name), Arc::clone(&found.part));
        return judgement.findings.iter().map(found).collect();
    }
    let ours = judgement.incomplete.iter().find(|one| one.reason.is_ours() == judgement.is_ours);
    vec![ours.map_or_else(|| Why::Words(because(judgement)), |one| Why::Incomplete(one.clone()))]
}

impl Why {
    /// In a sentence; names of parts are hostile text.
    pub fn words(&self, language: Language) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Incomplete(Incomplete { part, reason }) => match language {
                Language::English => format!("{part} could not be inspected ({reason})"),
                Language::German => format!("{part} konnte nicht geprüft werden ({reason})"),
            },
            Self::Found(class, name, part) => {
                let what = match language {
                    Language::English => words(*class),
                    Language::German => german(*class),
                };
                match (&**part, language) {
                    // The whole has no name of its own.
                    ("." | "", _) => format!("{what} {name}"),
                    (part, Language::English) => format!("{what} {name} in part {part}"),
                    (part, Language::German) => format!("{what} {name} in Teil {part}"),
                }
            }
        }
    }
}

fn german(class: Class) -> &'static str {
    match class {
        Class::Virus => "der Virus",
        Class::Pua => "das unerwünschte Programm",
        Class::Spam => "Spam:",
        Class::Intrusion | Class::Alert => "der Angriff",
        Class::Web => "unerwünschter Inhalt:",
        Class::Anomaly => "ein irreführendes Format:",
        Class::BannedName => "der gesperrte Name",
        Class::BannedType => "der gesperrte Typ",
    }
}

fn words(class: Class) -> &'static str {
    match class {
        Class::Virus => "the virus",
        Class::Pua => "the unwanted program",
        Class::Spam => "spam:",
        Class::Intrusion | Class::Alert => "the attack",
        Class::Web => "unwanted content:",
        Class::Anomaly => "a misleading format:",
        Class::BannedName => "the banned name",
        Class::BannedType => "the banned type",
    }
}
