//! What lists change of requests and pages: [`Rewrites`]. Rule: each rule in its turn, over what the one before has made; nothing
//! grows beyond what the caller allows.

use crate::compiler::all_hold;
use crate::database::List;
use crate::moment::Moment;
use crate::patterns;
use crate::ruleset::Template;
use crate::ruleset::kind::Purpose;
use crate::table::ListId;
use regex::bytes::Regex;

/// One rule, and where it stands.
pub(crate) struct Rule {
    pub purpose: Purpose,
    pub expression: Regex,
    pub template: Template,
    pub list: ListId,
    pub line: u32,
}

/// What became of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub text: Vec<u8>,
    /// The rules that changed it.
    pub by: Vec<(ListId, u32)>,
}

/// Rules for one purpose after the other, each purpose's in their order.
#[derive(Default)]
pub(crate) struct Rewrites {
    rules: Vec<Rule>,
}

/// The longest line of a header, or URL, that comes of rules.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 10;
/// The shortest text that is looked at, as e2guardian has it.
const TEXT_BYTES_MIN: usize = 3;

impl Rule {
    /// A rule from its words.
    pub fn new(
        purpose: Purpose,
        expression: &str,
        template: Template,
        list: ListId,
        line: u32,
    ) -> Result<Self, String> {
        Ok(Self { purpose, expression: patterns::compile(expression)?, template, list, line })
    }

    /// What it makes of a text; `None` where nothing matches, or more would come of it than is allowed.
    pub fn apply(&self, text: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let (mut copied, mut is_found) = (0, false);
        for found in self.expression.captures_iter(text) {
            let whole = found.get(0)?;
            out.extend_from_slice(text.get(copied..whole.start())?);
            self.template.expand(&found, &mut out);
            (copied, is_found) = (whole.end(), true);
            if out.len() > bytes_max {
                return None;
            }
        }
        out.extend_from_slice(text.get(copied..)?);
        (is_found && out.len() <= bytes_max).then_some(out)
    }
}

impl Rewrites {
    /// With these rules.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// The rules for a purpose that hold now.
    pub fn of<'a>(
        &'a self,
        purpose: Purpose,
        lists: &'a [List],
        now: Moment,
    ) -> impl Iterator<Item = &'a Rule> {
        let holds = move |rule: &&Rule| {
            let list = lists.get(usize::from(rule.list));
            rule.purpose == purpose && list.is_some_and(|list| all_hold(&list.times, now))
        };
        self.rules.iter().filter(holds)
    }

    /// The rule that stands there.
    pub fn rule(&self, list: ListId, line: u32) -> Option<&Rule> {
        self.rules.iter().find(|rule| (rule.list, rule.line) == (list, line))
    }

    /// Whether there are any for a purpose.
    pub fn has(&self, purpose: Purpose) -> bool {
        self.rules.iter().any(|rule| rule.purpose == purpose)
    }

    /// What all of them make of a short text; `None` where they leave it as it is.
    pub fn apply(&self, purpose: Purpose, text: &[u8], lists: &[List], now: Moment) -> Option<Changed> {
        if text.len() < TEXT_BYTES_MIN || !self.has(purpose) {
            return None;
        }
        let mut changed: Option<Changed> = None;
        for rule in self.of(purpose, lists, now) {
            let before = changed.as_ref().map_or(text, |changed| &changed.text);
            let Some(text) = rule.apply(before, LINE_BYTES_MAX) else { continue };
            let changed = changed.get_or_insert_with(|| Changed { text: Vec::new(), by: Vec::new() });
            changed.text = text;
            changed.by.push((rule.list, rule.line));
        }
        changed
    }
}
