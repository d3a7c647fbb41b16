//! Why something is not let through, in words for people. Rule: the words of one finding are the same wherever they stand.

use lockgate_inspect::Judgement;
use lockgate_model::{Class, Finding};

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

/// One finding in a sentence.
pub fn of_finding(finding: &Finding) -> String {
    let (what, name) = (words(finding.class), &finding.name);
    match &*finding.part {
        // The whole has no name of its own.
        "." | "" => format!("{what} {name}"),
        part => format!("{what} {name} in part {part}"),
    }
}

fn words(class: Class) -> &'static str {
    match class {
        Class::Virus => "the virus",
        Class::Pua => "the unwanted program",
        Class::Spam => "spam:",
        Class::Intrusion => "the attack",
        Class::Web => "unwanted content:",
        Class::Anomaly => "a misleading format:",
        Class::BannedName => "the banned name",
        Class::BannedType => "the banned type",
    }
}
