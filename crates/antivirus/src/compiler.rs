//! Database files → [`Database`]. Rule: a signature goes in whole or not at all, and what does not is reported.

use crate::container::{proof_of, unpack};
use crate::database::{Condition, Database, FIRST_MACRO, Group, Logic, PLAIN, Signature, Use};
use crate::group::{GroupBuilder, needs_of, prepare};
use crate::hashes::{HashList, Wanted, md5_of};
use crate::icons::{Groups, Icon};
use crate::late::{Late, LateKind};
use crate::logical::{Decide, ProgramsBuilder, count_max};
use crate::report::{FAILURES_MAX, Failure, Kind, Report, UnknownFile, why_unread};
use crate::ruleset::body::Modifiers;
use crate::ruleset::hash::{HashSignature, Order};
use crate::ruleset::lines::lines;
use crate::ruleset::logical::{Body, LogicalSignature, parse_body, parse_logical};
use crate::ruleset::metadata::{self, Described, Metadata};
use crate::ruleset::offset::Offset;
use crate::ruleset::subsignature::{PerlSearch, Subsignature};
use crate::ruleset::target::{Ranges, TARGETS};
use crate::ruleset::{Fault, Line, expression, hash, icon, ignore};
use crate::yara::{self, StringKind};
use lockgate_matcher::{CountedBy, PatternId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Counting a rule's string beyond this changes nothing.
const COUNT_MAX: u32 = 10_000;

/// Database files, to be compiled together: an ignore list holds for the files before and behind it.
#[derive(Default)]
pub struct Sources {
    files: Vec<Source>,
    unknown: Vec<UnknownFile>,
    broken: Vec<Failure>,
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

    /// Adds a file. The ending of its name decides how its bytes are read; of a container, each file in it is added.
    pub fn add<'b>(&mut self, file_name: &str, bytes: impl Into<Cow<'b, [u8]>>) {
        let name: Arc<str> = file_name.into();
        if let Some(kind) = Kind::of_file(file_name) {
            self.files.push(Source { name, kind, bytes: bytes.into().into_owned() });
        } else if let Some(proof) = proof_of(file_name) {
            match unpack(&bytes.into(), proof, &crate::signed::CLAMAV) {
                Ok(inner) => inner.into_iter().for_each(|file| {
                    let is_nested = proof_of(&file.name).is_some();
                    // What begins with a dot or has no ending says something about the container.
                    if !is_nested && file.name.contains('.') {
                        self.add(&format!("{file_name}/{}", file.name), file.bytes);
                    }
                }),
                Err(reason) => {
                    self.broken.push(Failure { file: name, line: 0, column: None, reason: reason.to_owned() })
                }
            }
        } else {
            let last = file_name.rsplit('/').next().unwrap_or_default();
            let kind = last.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned();
            let reason = why_unread(&kind.to_ascii_lowercase());
            self.unknown.push(UnknownFile { file: name, kind, reason });
        }
    }

    /// Makes a database of all that can be read, and a report of all that cannot.
    pub fn compile(self) -> (Database, Report) {
        let mut compiler = Compiler::default();
        compiler.report.unknown = self.unknown;
        compiler.report.failures = self.broken;
        let (lists, signatures): (Vec<Source>, Vec<Source>) =
            self.files.into_iter().partition(|source| matches!(source.kind, Kind::Ign | Kind::Ign2));
        // What has been read is let go: the text is as large as what is made of it.
        for source in lists.into_iter().chain(signatures) {
            compiler.read(&source);
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
    sections: HashList,
    imports: HashList,
    described: Vec<(Described, u32)>,
    icons: Vec<Icon>,
    /// The numbers of groups of icons, first and second ones apart.
    icon_groups: HashMap<(bool, String), u32>,
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
        if source.kind == Kind::Yar {
            return self.read_rules(source);
        }
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

    fn read_rules(&mut self, source: &Source) {
        let mut count = self.report.counts.get(&source.kind).copied().unwrap_or_default();
        for (line, rule) in yara::rules(&source.bytes) {
            match rule.and_then(|rule| self.add_rule(rule, line)) {
                Ok(Outcome::Loaded) => count.loaded += 1,
                Ok(_) => count.ignored += 1,
                Err(fault) => {
                    count.failed += 1;
                    self.fail(&source.name, line, fault);
                }
            }
        }
        self.report.counts.insert(source.kind, count);
    }

    /// A rule is a logical signature for any file, with a condition in place of the expression.
    fn add_rule(&mut self, rule: yara::Rule, line: u32) -> Result<Outcome, Fault> {
        let name = format!("YARA.{}", rule.name);
        if self.is_ignored(&name, "") {
            return Ok(Outcome::Ignored);
        }
        let mut uses = Vec::new();
        let mut late = Vec::new();
        for (string, id) in rule.strings.iter().zip(0..) {
            match &string.kind {
                StringKind::Hex(hex) => {
                    let modifiers = Modifiers::parse(&string.modifiers)?;
                    let body = Body { offset: Offset::Anywhere, hex, modifiers, column: 0 };
                    uses.append(&mut self.add_body(&body, id, 0, CountedBy::Starts)?);
                }
                StringKind::Regex(text, flags) => {
                    let search = PerlSearch::anywhere(text, *flags)?;
                    // It is looked for in any case: itself, it has not matched yet.
                    let trigger = self.programs.add(expression::none_of(id));
                    late.push(Late { id, trigger, kind: LateKind::Perl(Box::new(search)) });
                }
            }
        }
        let (mut needs_whole, mut places) = (!late.is_empty(), 0);
        rule.condition.needs(&mut needs_whole, &mut places);
        let (logic, program) = (self.logics.len() as u32, self.programs.add(expression::just(0)));
        let signature = self.add_signature(&name, line, logic)?;
        self.logics.push(Logic {
            program,
            count_max: COUNT_MAX,
            container: None,
            ranges: None,
            late: late.into(),
            places,
            condition: Some(Box::new(rule.condition)),
            icons: None,
            asked: 0,
            handler: None,
        });
        self.vacuous.push((0, signature));
        let group = self.groups[0].get_or_insert_default();
        group.needs_whole |= needs_whole;
        group.needs.places = true;
        self.add_uses(0, signature, uses);
        Ok(Outcome::Loaded)
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
                let Line::Signature(entry) = hash::parse(line, Order::HashFirst)? else {
                    return Ok(Outcome::OtherEngine);
                };
                self.allowed.add(entry.digest, entry.size, 0);
                Ok(Outcome::Loaded)
            }
            Kind::Hdb | Kind::Hsb | Kind::Imp => self.read_hash(kind, line, number, Order::HashFirst),
            Kind::Mdb | Kind::Msb => self.read_hash(kind, line, number, Order::SizeFirst),
            Kind::Cdb => {
                let Line::Signature(Metadata { name, described }) = metadata::parse(line)? else {
                    return Ok(Outcome::OtherEngine);
                };
                if self.is_ignored(name, line) {
                    return Ok(Outcome::Ignored);
                }
                let signature = self.add_signature(name, number, PLAIN)?;
                self.described.push((described, signature));
                Ok(Outcome::Loaded)
            }
            Kind::Idb => {
                let icon::IconSignature { name, groups, look } = icon::parse(line)?;
                if self.is_ignored(name, line) {
                    return Ok(Outcome::Ignored);
                }
                let groups = self.icon_groups(groups.map(|group| Some(group.to_owned())));
                self.icons.push(Icon { look, groups });
                Ok(Outcome::Loaded)
            }
            // Rules are read as a whole.
            Kind::Yar => Err(Fault::new("files of this kind are not understood yet")),
            Kind::Ndb => {
                let Line::Signature(entry) = parse_body(line)? else { return Ok(Outcome::OtherEngine) };
                if self.is_ignored(entry.name, line) {
                    return Ok(Outcome::Ignored);
                }
                let uses = self.add_body(&entry.body, 0, entry.target, CountedBy::Starts)?;
                let logic = entry.group.map_or(PLAIN, |group| FIRST_MACRO + u32::from(group));
                let signature = self.add_signature(entry.name, number, logic)?;
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

    fn read_hash(&mut self, kind: Kind, line: &str, number: u32, order: Order) -> Result<Outcome, Fault> {
        let Line::Signature(entry) = hash::parse(line, order)? else { return Ok(Outcome::OtherEngine) };
        let HashSignature { digest, size, name } = entry;
        if self.is_ignored(name, line) {
            return Ok(Outcome::Ignored);
        }
        let signature = self.add_signature(name, number, PLAIN)?;
        match kind {
            Kind::Mdb | Kind::Msb => &mut self.sections,
            Kind::Imp => &mut self.imports,
            _ => &mut self.listed,
        }
        .add(digest, size, signature);
        Ok(Outcome::Loaded)
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

    fn icon_groups(&mut self, names: [Option<String>; 2]) -> Groups {
        let known = &mut self.icon_groups;
        let mut number = |is_second, name: Option<String>| {
            let next = known.len() as u32;
            name.map(|name| *known.entry((is_second, name)).or_insert(next))
        };
        let [first, second] = names;
        Groups { first: number(false, first), second: number(true, second) }
    }

    fn add_logical(&mut self, entry: LogicalSignature<'_>, line: u32) -> Result<(), Fault> {
        let LogicalSignature { name, about, expression, subsignatures } = entry;
        let mut uses = Vec::with_capacity(subsignatures.len());
        let mut late = Vec::new();
        let triggers = subsignatures.iter().filter_map(|subsignature| match subsignature {
            Subsignature::Perl(trigger, _) => Some(trigger),
            _ => None,
        });
        let count_max = triggers.map(count_max).fold(count_max(&expression), u32::max);
        // Whether there is none or one, both ways of counting say alike.
        let counted_by = if count_max > 1 { CountedBy::Ends } else { CountedBy::Starts };
        for (subsignature, id) in subsignatures.into_iter().zip(0..) {
            let (trigger, kind) = match subsignature {
                Subsignature::Body(body) => {
                    uses.append(&mut self.add_body(&body, id, about.target, counted_by)?);
                    continue;
                }
                Subsignature::Perl(trigger, search) => (trigger, LateKind::Perl(search)),
                Subsignature::Compare(comparison) => {
                    (expression::just(comparison.of), LateKind::Compare(comparison))
                }
                Subsignature::Macro(group) => (expression::just(group.of), LateKind::Macro(group)),
            };
            late.push(Late { id, trigger: self.programs.add(trigger), kind });
        }
        let logic = self.logics.len() as u32;
        let signature = self.add_signature(name, line, logic)?;
        let program = self.programs.add(expression);
        let has_icons = about.icons.iter().any(Option::is_some);
        let icons = has_icons.then(|| self.icon_groups(about.icons));
        let needs_places = about.ranges.entry.is_some() || about.ranges.sections.is_some() || has_icons;
        let ranges = (about.ranges != Ranges::default()).then(|| Box::new(about.ranges));
        let places = late.iter().fold(0, |places, late| places | late.places());
        let handler = about.handler;
        let (needs_whole, late) = (!late.is_empty() || handler.is_some() || has_icons, late.into());
        let container = about.container.map(Box::new);
        let condition = None;
        self.logics.push(Logic {
            program,
            count_max,
            container,
            ranges,
            late,
            places,
            condition,
            icons,
            asked: 0,
            handler,
        });
        self.vacuous.push((about.target, signature));
        self.add_uses(about.target, signature, uses);
        if let Some(Some(group)) = self.groups.get_mut(usize::from(about.target)) {
            group.needs.places |= needs_places;
            group.needs_whole |= needs_whole;
        }
        Ok(())
    }

    /// The patterns of a body, not yet used by any signature: should another body of it fail, they mean nothing.
    fn add_body(
        &mut self,
        body: &Body<'_>,
        id: u8,
        target: u8,
        counted_by: CountedBy,
    ) -> Result<Vec<(PatternId, Use)>, Fault> {
        let mut uses = Vec::new();
        for prepared in prepare(body, target, counted_by)? {
            let condition = prepared.condition.map_or(0, |condition| self.add_condition(condition));
            let Some(slot) = self.groups.get_mut(usize::from(target)) else { continue };
            let pattern = slot
                .get_or_insert_default()
                .pattern(&prepared, target)
                .map_err(|reason| Fault::at(body.column + 1, reason))?;
            let lead_bytes = prepared.lead_bytes;
            uses.push((pattern, Use { signature: 0, condition, subsignature: id, lead_bytes }));
        }
        Ok(uses)
    }

    fn add_uses(&mut self, target: u8, signature: u32, uses: Vec<(PatternId, Use)>) {
        let Some(Some(group)) = self.groups.get_mut(usize::from(target)) else { return };
        for (pattern, usage) in uses {
            let condition = (usage.condition as usize).checked_sub(1).and_then(|at| self.conditions.get(at));
            if let Some(offset) = condition.and_then(|condition| condition.offset) {
                let needs = needs_of(offset);
                group.needs.places |= needs.places;
                group.needs.version |= needs.version;
            }
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
        for list in [&mut self.listed, &mut self.allowed, &mut self.sections, &mut self.imports] {
            list.sort();
            list.note_sizes();
        }
        let programs = self.programs.finish();
        let mut vacuous: [Vec<u32>; TARGETS] = Default::default();
        for (target, signature) in self.vacuous {
            let logic =
                self.signatures.get(signature as usize).and_then(|s| self.logics.get(s.logic as usize));
            let Some(logic) = logic else { continue };
            let holds = |program| {
                let program = programs.get(program);
                program.decide == Decide::AtEnd && programs.holds(program, 0, &|_| 0)
            };
            if holds(logic.program) || logic.late.iter().any(|late| holds(late.trigger)) {
                vacuous[usize::from(target)].push(signature);
            }
        }
        let (signatures, logics) = (&self.signatures, &mut self.logics);
        let logic_of = |signature: u32| Some(signatures.get(signature as usize)?.logic as usize);
        let mut groups: [Option<Group>; TARGETS] = Default::default();
        for ((target, builder), vacuous) in self.groups.into_iter().enumerate().zip(vacuous) {
            let Some(builder) = builder else { continue };
            let may_hold = |signature, matched| {
                let logic = logics.get(logic_of(signature)?).filter(|logic| logic.may_ask(&programs))?;
                Some(logic.may_hold(&programs, matched, &|_| u32::MAX))
            };
            match builder.finish(target as u8, vacuous, &may_hold) {
                Ok(group) => groups[target] = Some(group),
                Err(reason) => self.report.failures.push(Failure {
                    file: format!("all files, target {target}").into(),
                    line: 0,
                    column: None,
                    reason,
                }),
            }
        }
        for ask in groups.iter().flatten().flat_map(|group| &group.asks) {
            if let Some(logic) = logic_of(ask.signature).and_then(|at| logics.get_mut(at)) {
                logic.asked |= 1 << ask.subsignature;
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
            sections: self.sections,
            imports: self.imports,
            described: self.described,
            icons: self.icons,
            wanted,
            needed: OnceLock::new(),
        };
        (database, self.report)
    }
}
