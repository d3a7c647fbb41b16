//! Collects evidence and keeps the verdict: [`Judge`]. Rule: the verdict only hardens, and evidence is bounded.

use crate::policy::Group;
use lockgate_model::{Buffer, Class, Engine, Finding, Incomplete, Part, Points, Reason, Verdict};
use std::sync::Arc;

/// How many findings of one transaction are kept as evidence; more only count.
pub const FINDINGS_MAX: usize = 64;
/// How many parts that could not be inspected are kept as evidence; more only count.
pub const INCOMPLETE_MAX: usize = 64;

/// What became of a transaction, and why.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// What is to become of it.
    pub verdict: Verdict,
    /// What was found, in the order in which it was found, at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How many findings there were.
    pub findings_count: u64,
    /// What could not be inspected, at most [`INCOMPLETE_MAX`].
    pub incomplete: Vec<Incomplete>,
    /// How many parts could not be inspected.
    pub incomplete_count: u64,
    /// The finding that weighs most, as an index into `findings`.
    pub deciding: Option<usize>,
    /// Whether a reason of ours decided: the client is told to come again.
    pub is_ours: bool,
    /// What was counted, where an engine counts.
    pub points: Option<Points>,
}

impl Judgement {
    /// The finding that decided, if one did.
    pub fn deciding_finding(&self) -> Option<&Finding> {
        self.deciding.and_then(|at| self.findings.get(at))
    }
}

/// A transaction's judge: the group's opinions over the evidence so far.
#[derive(Debug)]
pub struct Judge {
    group: Arc<Group>,
    so_far: Judgement,
    deciding_verdict: Verdict,
}

impl Judge {
    /// No evidence yet.
    pub fn new(group: Arc<Group>) -> Self {
        Self { group, so_far: Judgement::default(), deciding_verdict: Verdict::Pass }
    }

    /// The group whose opinions these are.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// What is known so far.
    pub fn so_far(&self) -> &Judgement {
        &self.so_far
    }

    /// The last word.
    pub fn into_judgement(self) -> Judgement {
        self.so_far
    }

    /// An engine found something.
    pub fn find(&mut self, finding: Finding) {
        let verdict = self.group.on_finding(finding.class);
        self.keep(finding, verdict);
    }

    /// An engine has counted.
    pub fn count(&mut self, points: Points) {
        self.so_far.points = Some(points);
    }

    /// A part is known by name and type: bans are looked up.
    pub fn meet(&mut self, part: &Part) {
        self.ban(part, self.group.ban_on(part));
    }

    /// A part has another name for some readers: it is banned by that, too.
    pub fn also_named(&mut self, part: &Part, name: &str) {
        self.ban(part, self.group.ban_on_name(name));
    }

    fn ban(&mut self, part: &Part, ban: Option<(Class, String, Verdict)>) {
        let Some((class, what, verdict)) = ban else { return };
        let finding = Finding {
            engine: Engine::Policy,
            class,
            rule: format!("policy.{}.{}", self.group.name, class.name()).into(),
            name: what.into(),
            part: Arc::clone(&part.path),
            buffer: Buffer::FileData,
            offset: None,
            signature: None,
        };
        self.keep(finding, verdict);
    }

    /// A decoder met a format bent to hide something.
    pub fn anomaly(&mut self, words: &'static str, path: &Arc<str>) {
        self.find(Finding {
            engine: Engine::Content,
            class: Class::Anomaly,
            rule: "content".into(),
            name: words.into(),
            part: Arc::clone(path),
            buffer: Buffer::FileData,
            offset: None,
            signature: None,
        });
    }

    /// A content coding cannot be undone, or not alone.
    pub fn miscoded(&mut self, path: &Arc<str>, reason: Reason) {
        self.contradiction("coding", miscoding(reason), path);
    }

    /// What is called a form begins like an archive.
    pub fn misnamed_form(&mut self, path: &Arc<str>) {
        self.contradiction("form", "an archive that is called a form", path);
    }

    /// What one reader has is not what the next one has.
    fn contradiction(&mut self, rule: &'static str, words: &'static str, path: &Arc<str>) {
        let finding = Finding {
            engine: Engine::Content,
            class: Class::Anomaly,
            rule: rule.into(),
            name: words.into(),
            part: Arc::clone(path),
            buffer: Buffer::FileData,
            offset: None,
            signature: None,
        };
        self.keep(finding, self.group.on_miscoding());
    }

    /// Something could not be inspected.
    pub fn incomplete(&mut self, path: &Arc<str>, reason: Reason) {
        let verdict = self.group.on_incomplete(reason);
        if verdict > self.so_far.verdict && reason.is_ours() {
            self.so_far.is_ours = true;
        }
        self.so_far.verdict = self.so_far.verdict.max(verdict);
        let same = |known: &Incomplete| known.reason == reason && known.part == *path;
        if self.so_far.incomplete.iter().any(same) {
            return;
        }
        self.so_far.incomplete_count += 1;
        if self.so_far.incomplete.len() < INCOMPLETE_MAX {
            self.so_far.incomplete.push(Incomplete { part: Arc::clone(path), reason });
        }
    }

    /// Content that would be tagged has left already: the group's `tag_when_streamed` decides.
    pub fn streamed(&mut self) {
        if self.so_far.verdict == Verdict::Tag {
            self.so_far.verdict = self.group.tag_when_streamed;
        }
    }

    fn keep(&mut self, finding: Finding, verdict: Verdict) {
        let same = |known: &Finding| {
            known.name == finding.name
                && known.part == finding.part
                && known.engine == finding.engine
                // Rules may be called alike, or nothing at all.
                && (finding.signature.is_none() || known.rule == finding.rule)
        };
        if self.so_far.findings.iter().any(same) {
            return;
        }
        self.so_far.findings_count += 1;
        if verdict > self.so_far.verdict {
            self.so_far.is_ours = false;
        }
        self.so_far.verdict = self.so_far.verdict.max(verdict);
        let decides = verdict > self.deciding_verdict;
        if self.so_far.findings.len() < FINDINGS_MAX {
            if decides {
                self.so_far.deciding = Some(self.so_far.findings.len());
            }
            self.so_far.findings.push(finding);
        } else if decides {
            // The evidence that decided is never the evidence that is dropped.
            self.so_far.findings[FINDINGS_MAX - 1] = finding;
            self.so_far.deciding = Some(FINDINGS_MAX - 1);
        }
        self.deciding_verdict = self.deciding_verdict.max(verdict);
    }
}

/// What is wrong with a content coding, for people.
fn miscoding(reason: Reason) -> &'static str {
    match reason {
        Reason::Damaged => "a damaged content coding",
        Reason::Truncated => "a content coding cut short",
        Reason::Unsupported => "content that is something else without its coding",
        _ => "a content coding that cannot be undone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(class: Class, name: &str) -> Finding {
        Finding {
            engine: Engine::Antivirus,
            class,
            rule: "t.ndb:1".into(),
            name: name.into(),
            part: "1".into(),
            buffer: Buffer::FileData,
            offset: Some(0),
            signature: None,
        }
    }

    #[test]
    fn the_hardest_finding_decides_and_is_kept() {
        let mut judge = Judge::new(Arc::new(Group::new("g")));
        for n in 0..2 * FINDINGS_MAX {
            judge.find(finding(Class::Anomaly, &n.to_string()));
        }
        assert_eq!(judge.so_far().verdict, Verdict::Tag);
        judge.find(finding(Class::Virus, "Demo.Virus"));
        let judgement = judge.into_judgement();
        assert_eq!(judgement.verdict, Verdict::Reject);
        assert_eq!(judgement.findings.len(), FINDINGS_MAX);
        assert_eq!(judgement.findings_count, 2 * FINDINGS_MAX as u64 + 1);
        assert_eq!(judgement.deciding_finding().map(|f| &*f.name), Some("Demo.Virus"));
    }

    #[test]
    fn a_reason_of_ours_defers_unless_something_worse_is_known() {
        let mut judge = Judge::new(Arc::new(Group::new("g")));
        judge.incomplete(&"1".into(), Reason::Budget);
        assert_eq!((judge.so_far().verdict, judge.so_far().is_ours), (Verdict::Defer, true));
        judge.find(finding(Class::Virus, "Demo.Virus"));
        assert_eq!((judge.so_far().verdict, judge.so_far().is_ours), (Verdict::Reject, false));
    }

    #[test]
    fn what_has_left_cannot_be_tagged() {
        let mut group = Group::new("g");
        for streamed in [Verdict::Pass, Verdict::Defer, Verdict::Reject] {
            group.tag_when_streamed = streamed;
            let mut judge = Judge::new(Arc::new(group.clone()));
            judge.find(finding(Class::Anomaly, "odd"));
            judge.streamed();
            assert_eq!(judge.so_far().verdict, streamed);
        }
    }
}
