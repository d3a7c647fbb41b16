//! Lines of phrase lists → [`Phrases`]. Rule: what is written twice counts once, the weightier way, as in e2guardian.

use super::block::folded;
use super::charset;
use super::normal::normal;
use super::ruleset::{Phrase, Weight};
use super::score::{Combination, Effect, Part, Rule, Rules};
use super::search::{In, Pattern, Search};
use super::{Phrases, Settings};
use crate::compiler::Kept;
use crate::ruleset::Kind;
use crate::ruleset::kind::{Content, Rank};
use crate::table::ListId;
use encoding_rs::Encoding;
use std::collections::HashMap;
use std::sync::Arc;

/// What the phrases of a list do that have no weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bare {
    Exception,
    Banned,
}

/// What the lines of one file have in common.
pub(crate) struct PhraseFile {
    pub list: ListId,
    bare: Bare,
    charsets: Vec<&'static Encoding>,
    case: Case,
}

/// What becomes of the letters of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Folded,
    /// They are kept, since bytes of wider characters look like letters.
    Kept,
}

impl PhraseFile {
    /// A file of that kind, if it is one of phrases.
    pub fn of(kind: Kind, list: ListId, file_name: &str, bytes: &[u8]) -> Option<Self> {
        let bare = match kind.rank() {
            _ if kind.content() != Content::Phrases => return None,
            Rank::Exception => Bare::Exception,
            _ => Bare::Banned,
        };
        Some(Self { list, bare, charsets: charset::of_list(file_name, bytes), case: Case::Folded })
    }

    /// From here on letters are kept.
    pub fn keep_case(&mut self) {
        self.case = Case::Kept;
    }
}

/// Phrases as they are gathered.
#[derive(Default)]
pub(crate) struct Drafts {
    phrases: Vec<Draft>,
    parts: Vec<DraftPart>,
    /// Parts by their bytes as e2guardian has them, and by their normal form.
    by_bytes: HashMap<Vec<u8>, u32>,
    by_form: HashMap<Vec<u8>, u32>,
}

/// What became of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Yes,
    /// No page can have it.
    NeverFound,
}

struct Draft {
    parts: Vec<u32>,
    weight: Weight,
    bare: Bare,
    list: ListId,
    line: u32,
}

struct DraftPart {
    written: Arc<str>,
    /// The spellings by which it is found.
    patterns: Vec<(Vec<u8>, In)>,
}

impl Drafts {
    /// Takes a phrase. One with punctuation is none that a page can have, for there it is a space: e2guardian never finds
    /// it, and the points of a page are to be the same.
    pub fn add(&mut self, phrase: Phrase, file: &PhraseFile, line: u32) -> Added {
        let parts: Option<Vec<_>> = phrase.parts.into_iter().map(|part| self.part(part, file)).collect();
        let Some(parts) = parts else { return Added::NeverFound };
        self.phrases.push(Draft { parts, weight: phrase.weight, bare: file.bare, list: file.list, line });
        Added::Yes
    }

    fn part(&mut self, mut bytes: Vec<u8>, file: &PhraseFile) -> Option<u32> {
        if file.case == Case::Folded {
            bytes.make_ascii_lowercase();
        }
        let decoded: Vec<String> = file
            .charsets
            .iter()
            .map(|charset| charset.decode_without_bom_handling(&bytes).0.into_owned())
            .collect();
        if decoded.first().is_none_or(|text| text.chars().any(is_punctuation)) {
            return None;
        }
        let forms: Vec<Vec<u8>> = decoded.iter().map(|text| normal_form(text)).collect();
        let form = forms.first().filter(|form| !form.is_empty());
        let known =
            self.by_bytes.get(&bytes).or_else(|| form.and_then(|form| self.by_form.get(form))).copied();
        let number = known.unwrap_or_else(|| {
            let written = decoded.into_iter().next().unwrap_or_default().into();
            self.parts.push(DraftPart { written, patterns: Vec::new() });
            u32::try_from(self.parts.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(part) = self.parts.get_mut(number as usize) {
            if bytes.iter().all(|byte| folded(*byte) == *byte) {
                part.spell(bytes.clone(), In::RAW);
            }
            for form in forms.iter().filter(|form| !form.is_empty()) {
                part.spell(form.clone(), In::TEXT);
            }
        }
        self.by_bytes.insert(bytes, number);
        if let Some(form) = form {
            self.by_form.entry(form.clone()).or_insert(number);
        }
        Some(number)
    }

    /// The phrases, but for what depends on the limit.
    pub fn compile(self, settings: Settings, kept: Kept) -> Compiled {
        let (mut written, mut patterns) = (Vec::new(), Vec::new());
        for (part, number) in self.parts.into_iter().zip(0_u32..) {
            let spelled =
                part.patterns.into_iter().map(|(bytes, readings)| Pattern { bytes, part: number, readings });
            patterns.extend(spelled);
            written.push(part.written);
        }
        Compiled { settings, kept, search: Arc::new(Search::new(patterns)), written, phrases: self.phrases }
    }
}

/// Phrases for any limit.
pub(crate) struct Compiled {
    settings: Settings,
    kept: Kept,
    search: Arc<Search>,
    /// The parts.
    written: Vec<Arc<str>>,
    phrases: Vec<Draft>,
}

impl Compiled {
    /// The phrases, where the limit is known.
    pub fn with_limit(&self, points_max: i32) -> Phrases {
        let mut rules = Rules::default();
        let part =
            |written: &Arc<str>| Part { written: Arc::clone(written), alone: None, combinations: Vec::new() };
        rules.parts.extend(self.written.iter().map(part));
        for draft in &self.phrases {
            let effect = match (draft.weight.points(points_max), draft.bare) {
                (Some(points), _) => Effect::Points(points),
                (None, Bare::Banned) => Effect::Banned,
                (None, Bare::Exception) => Effect::Exception,
            };
            let outdone = rules.add(&draft.parts, Rule { effect, list: draft.list, line: draft.line });
            rules.outdone.extend(outdone.filter(|_| self.kept == Kept::Every));
        }
        let settings = Settings { points_max, ..self.settings };
        Phrases { settings, kept: self.kept, search: Arc::clone(&self.search), rules }
    }
}

impl DraftPart {
    fn spell(&mut self, bytes: Vec<u8>, readings: In) {
        match self.patterns.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, known)) => *known = known.and(readings),
            None => self.patterns.push((bytes, readings)),
        }
    }
}

impl Rules {
    /// Adds a line. Answers with the phrase and the line that decides nothing now, since another one is weightier.
    fn add(&mut self, parts: &[u32], rule: Rule) -> Option<(u32, Rule)> {
        if let [number] = *parts {
            let part = self.parts.get_mut(number as usize)?;
            let (first, second) = part.alone.map_or((rule, None), |known| by_weight(known, rule));
            part.alone = Some(first);
            return second.map(|second| (number, second));
        }
        let number = u32::try_from(self.combinations.len()).unwrap_or(u32::MAX);
        // It is asked for where its longest part is found, which is not often.
        let longest =
            parts.iter().max_by_key(|part| self.parts.get(**part as usize).map(|part| part.written.len()));
        if let Some(part) = longest.and_then(|part| self.parts.get_mut(*part as usize)) {
            part.combinations.push(number);
        }
        self.combinations.push(Combination { parts: parts.into(), rule });
        None
    }
}

/// Two lines for one phrase, the one that holds first: exceptions, then bans, then more points.
fn by_weight(known: Rule, other: Rule) -> (Rule, Option<Rule>) {
    let weight = |rule: Rule| match rule.effect {
        Effect::Exception => (2, 0),
        Effect::Banned => (1, 0),
        Effect::Points(points) => (0, points),
    };
    if weight(other) > weight(known) { (other, Some(known)) } else { (known, Some(other)) }
}

/// Whether a character is a space in every reading, without looking like one.
fn is_punctuation(it: char) -> bool {
    it.is_ascii() && it != ' ' && folded(it as u8) == b' '
}

/// What a phrase looks like in the text of a page.
fn normal_form(text: &str) -> Vec<u8> {
    let mut form = String::new();
    for it in text.chars().flat_map(normal) {
        if it != ' ' || !form.ends_with(' ') {
            form.push(it);
        }
    }
    if form.trim().is_empty() { Vec::new() } else { form.into_bytes() }
}
