//! Database files → [`Database`]. Rule: a signature goes in whole or not at all, and what does not is reported.

use crate::database::{Condition, Database, Group, InText, Logic, PLAIN, Signature, Use, reads_text};
use crate::hashes::{HashList, Wanted, md5_of};
use crate::logical::{Decide, ProgramsBuilder};
use crate::report::{FAILURES_MAX, Failure, Kind, Report, UnknownFile};
use crate::ruleset::body::{Place, Variant, variants};
use crate::ruleset::lines::lines;
use crate::ruleset::logical::{
    Body, LogicalSignature, PROGRAM_TARGET, Ranges, TARGETS, parse_body, parse_logical,
};
use crate::ruleset::offset::Offset;
use crate::ruleset::{Fault, Line, hash, ignore};
use crate::text::is_normalised;
use lockgate_matcher::{Anchor, Case, PatternId, PatternSet, Wildcard};
use std::collections::HashMap;
use std::sync::Arc;

/// Database files, to be compiled together: an ignore list holds for the files before and behind it.
#[derive(Default)]
pub struct Sources {
    files: Vec<Source>,
    unknown: Vec<UnknownFile>,
}

struct Source {
    name: Arc<str>,
    kind: Kind,
    bytes: Vec<u8>,
}

impl Sources {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. The ending of its name decides how its bytes are read.
    pub fn add(&mut self, file_name: &str, bytes: &[u8]) {
        let name: Arc<str> = file_name.into();
        match Kind::of_file(file_name) {
            Some(kind) => self.files.push(Source { name, kind, bytes: bytes.to_vec() }),
            None => {
                let last = file_name.rsplit('/').next().unwrap_or_default();
                let kind = last.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned();
                self.unknown.push(UnknownFile { file: name, kind });
            }
        }
    }

    /// Makes a database of all that can be read, and a report of all that cannot.
    pub fn compile(self) -> (Database, Report) {
        let mut compiler = Compiler::default();
        compiler.report.unknown = self.unknown;
        let (lists, signatures): (Vec<Source>, Vec<Source>) =
            self.files.into_iter().partition(|source| matches!(source.kind, Kind::Ign | Kind::Ign2));
        for source in lists.iter().chain(&signatures) {
            compiler.read(source);
        }
        compiler.finish()
    }
}

/// Which lines of a name are ignored.
enum Ignored {
    All,
    WithMd5(Vec<[u8; 16]>),
}

#[derive(Default)]
struct Compiler {
    report: Report,
    ignored: HashMap<String, Ignored>,
    groups: [Option<GroupBuilder>; TARGETS],
    signatures: Vec<Signature>,
    names: String,
    files: Vec<Arc<str>>,
    logics: Vec<Logic>,
    /// For each logical signature that may hold without any match: its target.
    vacuous: Vec<(u8, u32)>,
    programs: ProgramsBuilder,
    conditions: Vec<Condition>,
    known_conditions: HashMap<Condition, u32>,
    listed: HashList,
    allowed: HashList,
}

/// The patterns of one target, each kept once.
#[derive(Default)]
struct GroupBuilder {
    patterns: PatternSet,
    /// Those that normalised text can have, once more, and which of all of them each is.
    in_text: (PatternSet, Vec<PatternId>),
    known: HashMap<PatternKey, PatternId>,
    uses: Vec<(PatternId, Use)>,
    needs_layout: bool,
}

#[derive(PartialEq, Eq, Hash)]
struct PatternKey {
    hex: String,
    case: Case,
    first_and_last: Option<(u64, u64)>,
}

/// A pattern ready to be added.
struct Prepared {
    wildcard: Wildcard,
    key: PatternKey,
    condition: Option<Condition>,
    lead_bytes: u8,
}

/// What a line came to.
enum Outcome {
    Loaded,
    Ignored,
    OtherEngine,
}

impl Compiler {
    fn read(&mut self, source: &Source) {
        let short = source.name.rsplit('/').next().unwrap_or_default();
        self.files.push(short.into());
        let mut count = self.report.counts.get(&source.kind).copied().unwrap_or_default();
        for (number, line) in lines(&source.bytes) {
            match line.and_then(|line| self.read_line(source.kind, &line, number)) {
                Ok(Outcome::Loaded) => count.loaded += 1,
                Ok(Outcome::Ignored) => count.ignored += 1,
                Ok(Outcome::OtherEngine) => count.other_engine += 1,
                Err(fault) => {
                    count.failed += 1;
                    self.fail(&source.name, number, fault);
                }
            }
        }
        self.report.counts.insert(source.kind, count);
    }

    fn fail(&mut self, file: &Arc<str>, line: u32, fault: Fault) {
        if self.report.failures.len() < FAILURES_MAX {
            let Fault { column, reason } = fault;
            self.report.failures.push(Failure { file: Arc::clone(file), line, column, reason });
        }
    }

    fn read_line(&mut self, kind: Kind, line: &str, number: u32) -> Result<Outcome, Fault> {
        match kind {
            Kind::Ign | Kind::Ign2 => self.read_ignored(line),
            Kind::Fp | Kind::Sfp => {
                let Line::Signature(entry) = hash::parse(line)? else { return Ok(Outcome::OtherEngine) };
                self.allowed.add(entry.digest, entry.size, 0);
                Ok(Outcome::Loaded)
            }
            Kind::Hdb | Kind::Hsb => {
                let Line::Signature(entry) = hash::parse(line)? else { return Ok(Outcome::OtherEngine) };
                if self.is_ignored(entry.name, line) {
                    return Ok(Outcome::Ignored);
                }
                let signature = self.add_signature(entry.name, number, PLAIN)?;
                self.listed.add(entry.digest, entry.size, signature);
                Ok(Outcome::Loaded)
            }
            Kind::Ndb => {
                let Line::Signature(entry) = parse_body(line)? else { return Ok(Outcome::OtherEngine) };
                if self.is_ignored(entry.name, line) {
                    return Ok(Outcome::Ignored);
                }
                let uses = self.add_body(&entry.body, 0, entry.target)?;
                let signature = self.add_signature(entry.name, number, PLAIN)?;
                self.add_uses(entry.target, signature, uses);
                Ok(Outcome::Loaded)
            }
            Kind::Ldb => {
                let Line::Signature(entry) = parse_logical(line)? else { return Ok(Outcome::OtherEngine) };
                if self.is_ignored(entry.name, line) {
                    return Ok(Outcome::Ignored);
                }
                self.add_logical(entry, number)?;
                Ok(Outcome::Loaded)
            }
        }
    }

    fn read_ignored(&mut self, line: &str) -> Result<Outcome, Fault> {
        let ignore::Ignored { name, line_md5 } = ignore::parse(line)?;
        let entry = self.ignored.entry(name.to_owned()).or_insert_with(|| Ignored::WithMd5(Vec::new()));
        match (line_md5, entry) {
            (None, entry) => *entry = Ignored::All,
            (Some(md5), Ignored::WithMd5(md5s)) => md5s.push(md5),
            (Some(_), Ignored::All) => {}
        }
        Ok(Outcome::Loaded)
    }

    fn is_ignored(&self, name: &str, line: &str) -> bool {
        match self.ignored.get(name) {
            None => false,
            Some(Ignored::All) => true,
            Some(Ignored::WithMd5(md5s)) => md5s.contains(&md5_of(line.as_bytes())),
        }
    }

    fn add_signature(&mut self, name: &str, line: u32, logic: u32) -> Result<u32, Fault> {
        let too_many = || Fault::new("more signatures, files or names than a database holds");
        let signature = Signature {
            name_at: self.names.len().try_into().map_err(|_| too_many())?,
            name_bytes: name.len().try_into().map_err(|_| too_many())?,
            file: (self.files.len().saturating_sub(1)).try_into().map_err(|_| too_many())?,
            line,
            logic,
        };
        self.names.push_str(name);
        self.signatures.push(signature);
        u32::try_from(self.signatures.len() - 1).map_err(|_| too_many())
    }

    fn add_logical(&mut self, entry: LogicalSignature<'_>, line: u32) -> Result<(), Fault> {
        let LogicalSignature { name, about, expression, subsignatures } = entry;
        let mut uses = Vec::with_capacity(subsignatures.len());
        for (body, id) in subsignatures.iter().zip(0..) {
            uses.append(&mut self.add_body(body, id, about.target)?);
        }
        let logic = self.logics.len() as u32;
        let signature = self.add_signature(name, line, logic)?;
        let program = self.programs.add(expression);
        let needs_layout = about.ranges.entry.is_some() || about.ranges.sections.is_some();
        let ranges = (about.ranges != Ranges::default()).then(|| Box::new(about.ranges));
        self.logics.push(Logic { program, container: about.container, ranges });
        self.vacuous.push((about.target, signature));
        self.add_uses(about.target, signature, uses);
        if let Some(Some(group)) = self.groups.get_mut(usize::from(about.target)) {
            group.needs_layout |= needs_layout;
        }
        Ok(())
    }

    /// The patterns of a body, not yet used by any signature: should another body of it fail, they mean nothing.
    fn add_body(&mut self, body: &Body<'_>, id: u8, target: u8) -> Result<Vec<(PatternId, Use)>, Fault> {
        let mut uses = Vec::new();
        for Prepared { wildcard, key, condition, lead_bytes } in prepare(body, target)? {
            let condition = condition.map_or(0, |condition| self.add_condition(condition));
            let Some(slot) = self.groups.get_mut(usize::from(target)) else { continue };
            let pattern = slot
                .get_or_insert_default()
                .pattern(&wildcard, key, target)
                .map_err(|reason| Fault::at(body.column + 1, reason))?;
            uses.push((pattern, Use { signature: 0, condition, subsignature: id, lead_bytes }));
        }
        Ok(uses)
    }

    fn add_uses(&mut self, target: u8, signature: u32, uses: Vec<(PatternId, Use)>) {
        let Some(Some(group)) = self.groups.get_mut(usize::from(target)) else { return };
        for (pattern, usage) in uses {
            let condition = (usage.condition as usize).checked_sub(1).and_then(|at| self.conditions.get(at));
            group.needs_layout |= needs_layout(condition.and_then(|condition| condition.offset));
            group.uses.push((pattern, Use { signature, ..usage }));
        }
    }

    /// An index from 1.
    fn add_condition(&mut self, condition: Condition) -> u32 {
        let conditions = &mut self.conditions;
        *self.known_conditions.entry(condition).or_insert_with(|| {
            conditions.push(condition);
            conditions.len() as u32
        })
    }

    fn finish(mut self) -> (Database, Report) {
        self.listed.sort();
        self.allowed.sort();
        let programs = self.programs.finish();
        let mut vacuous: [Vec<u32>; TARGETS] = Default::default();
        for (target, signature) in self.vacuous {
            let logic =
                self.signatures.get(signature as usize).and_then(|s| self.logics.get(s.logic as usize));
            let Some(program) = logic.map(|logic| programs.get(logic.program)) else { continue };
            if program.decide == Decide::AtEnd && programs.holds(program, 0, &|_| 0) {
                vacuous[usize::from(target)].push(signature);
            }
        }
        let mut groups: [Option<Group>; TARGETS] = Default::default();
        for ((target, builder), vacuous) in self.groups.into_iter().enumerate().zip(vacuous) {
            let Some(builder) = builder else { continue };
            match builder.finish(vacuous) {
                Ok(group) => groups[target] = Some(group),
                Err(reason) => self.report.failures.push(Failure {
                    file: format!("all files, target {target}").into(),
                    line: 0,
                    column: None,
                    reason,
                }),
            }
        }
        let wanted = Wanted::of(&[&self.listed, &self.allowed]);
        let database = Database {
            groups,
            signatures: self.signatures,
            names: self.names,
            files: self.files,
            logics: self.logics,
            programs,
            conditions: self.conditions,
            listed: self.listed,
            allowed: self.allowed,
            wanted,
        };
        (database, self.report)
    }
}

impl GroupBuilder {
    fn pattern(&mut self, wildcard: &Wildcard, key: PatternKey, target: u8) -> Result<PatternId, String> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let anchor = match key.first_and_last {
            Some((first, last)) => Anchor::Within { first, last },
            None => Anchor::Anywhere,
        };
        let pattern = self.patterns.add(wildcard, key.case, anchor).map_err(|error| error.to_string())?;
        if reads_text(target) && wildcard.can_consist_of(key.case, &is_normalised) {
            let (patterns, originals) = &mut self.in_text;
            patterns.add(wildcard, key.case, anchor).map_err(|error| error.to_string())?;
            originals.push(pattern);
        }
        self.known.insert(key, pattern);
        Ok(pattern)
    }

    fn finish(mut self, vacuous: Vec<u32>) -> Result<Group, String> {
        let patterns = self.patterns.compile().map_err(|error| error.to_string())?;
        let in_text = match self.in_text {
            (_, originals) if originals.is_empty() => None,
            (patterns, originals) => {
                let patterns = patterns.compile().map_err(|error| error.to_string())?;
                Some(InText { patterns, originals })
            }
        };
        self.uses.sort_by_key(|(pattern, _)| pattern.0);
        let count = self.known.len() as u32;
        let first_use = |pattern: u32| self.uses.partition_point(|(of, _)| of.0 < pattern) as u32;
        let first_uses = (0..=count).map(first_use).collect();
        let uses = self.uses.into_iter().map(|(_, usage)| usage).collect();
        Ok(Group { patterns, in_text, first_uses, uses, vacuous, needs_layout: self.needs_layout })
    }
}

fn needs_layout(offset: Option<Offset>) -> bool {
    matches!(offset, Some(Offset::Entry { .. } | Offset::Section { .. } | Offset::WithinSection { .. }))
}

/// The patterns of one body, all of them read before any is added.
fn prepare(body: &Body<'_>, target: u8) -> Result<Vec<Prepared>, Fault> {
    let here = |fault: Fault| fault.moved(body.column);
    if needs_layout(Some(body.offset)) && target != PROGRAM_TARGET {
        let reason =
            "an offset from the entry point or a section is understood for target 1 (PE) only so far";
        return Err(Fault { column: Some(body.column + 1), reason: reason.to_owned() });
    }
    let mut prepared = Vec::new();
    for variant in variants(body.hex, body.modifiers).map_err(here)? {
        let wildcard = Wildcard::parse(&variant.hex)
            .map_err(|error| Fault::at(error.column, format!("{}; {}", error.what, error.remedy)))
            // A variant that was spelled out has other columns than the text.
            .map_err(|fault| if variant.hex == body.hex { here(fault) } else { at_start(body, fault) })?;
        let Some((first_and_last, condition)) = place(body.offset, &variant) else { continue };
        let Variant { hex, lead_bytes, .. } = variant;
        let key = PatternKey { hex, case: body.modifiers.case, first_and_last };
        prepared.push(Prepared { wildcard, key, condition, lead_bytes });
    }
    Ok(prepared)
}

fn at_start(body: &Body<'_>, fault: Fault) -> Fault {
    Fault { column: Some(body.column + 1), reason: fault.reason }
}

/// Where the matcher is to look for a variant, and what is left to check. `None` where it can match nowhere.
#[expect(clippy::type_complexity, reason = "used once, just above")]
fn place(offset: Offset, variant: &Variant) -> Option<(Option<(u64, u64)>, Option<Condition>)> {
    let Place { at_start, at_end } = variant.place;
    let mut window = at_start.map(|slack| (0, u64::from(slack)));
    let mut left_over = None;
    match offset {
        Offset::Anywhere => {}
        Offset::Start { first, shift } => {
            let lead = u64::from(variant.lead_bytes);
            let last = first.saturating_add(shift).checked_sub(lead)?;
            let first = first.saturating_sub(lead);
            let (least, most) = window.unwrap_or((0, u64::MAX));
            window = Some((first.max(least), last.min(most)));
        }
        _ => left_over = Some(offset),
    }
    if window.is_some_and(|(first, last)| first > last) {
        return None;
    }
    let condition = Condition { offset: left_over, end_slack: at_end };
    let is_needed = left_over.is_some() || at_end.is_some();
    Some((window, is_needed.then_some(condition)))
}
