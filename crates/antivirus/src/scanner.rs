//! Chunks → findings, for one transaction. Rule: each byte is read once by each lane; what is found is told as soon as
//! it is decided, unless a list of allowed files might still clear it.

use crate::database::{Database, Reading, targets_of};
use crate::findings::{About, Findings, HITS_MAX, LaneId};
use crate::hashes::Hashing;
use crate::held::{Held, Whole};
use crate::lane::{Lane, hand_out};
use crate::layout::{Layout, Needs};
use crate::programs::Programs;
use crate::ruleset::metadata::{Described, Encrypted};
use crate::ruleset::target::{Around, Office};
use crate::tagged::Tagged;
use crate::texts::Texts;
use lockgate_model::{
    Buffer, Class, FileType, FlowState, Hit, Part, PartId, Pool, Reason, Scanner, Sink, Transaction, Want,
};
use lockgate_perl::{self as perl, Start};
use std::sync::Arc;

/// One connection: signatures keep nothing between transactions.
pub(crate) struct Connection {
    database: Arc<Database>,
}

impl Connection {
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl FlowState for Connection {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        let database = Arc::clone(&self.database);
        Box::new(Transmission { database, parts: Vec::new(), pool: None, length: about.length })
    }
}

/// One transaction: its open parts, each behind its ancestors.
struct Transmission {
    database: Arc<Database>,
    parts: Vec<OpenPart>,
    /// What is held is drawn from here.
    pool: Option<Arc<Pool>>,
    /// Of the root, where that is certain.
    length: Option<u64>,
}

/// How many steps expressions for names may take on one name.
const NAME_STEPS_MAX: u64 = 200_000;
/// So much of what is held waits for its end to be hashed: no more, since it is done at once.
const UNHASHED_BYTES_MAX: usize = 2 << 20;
/// What a scanner may hold to which no pool was given.
const POOL_BYTES: u64 = 64 << 20;

/// One open part.
struct OpenPart {
    about: About,
    parent: Option<PartId>,
    detected: FileType,
    lanes: Vec<Lane>,
    /// What lanes read that do not read the part as it is.
    texts: Option<Box<Texts>>,
    /// How many parts have been found in it.
    children: u64,
    /// What `.cdb` signatures say that it may be, where what is in it decides.
    described: Vec<u32>,
    encrypted: Encrypted,
    checksum: Option<Box<crc32fast::Hasher>>,
    /// What is found in a part of it if it is so long itself: the index of a `.cdb` signature.
    if_so_long: Vec<u32>,
    /// What of an Office document it is, as far as the names of its entries say.
    office: Option<Office>,
    /// The part as it is, where something looks at the whole of it.
    held: Option<Box<Held>>,
    /// What looks at text as at a page, once a tag stands in it.
    tagged: Option<Box<Tagged>>,
    hashing: Option<Box<Hashing>>,
    programs: Option<Box<Programs>>,
    findings: Findings,
    standing: Standing,
    /// Findings of this part and those in it that wait for its standing.
    waiting: Vec<Hit>,
    length: u64,
}

/// Whether a part is on the list of allowed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has not ended, and may be.
    Open,
    Allowed,
    NotAllowed,
}

impl Scanner for Transmission {
    fn open(&mut self, part: &Part) -> Want {
        let around = self.around(part);
        let pool = self.pool.get_or_insert_with(|| Pool::new(POOL_BYTES));
        let mut open = OpenPart::new(&self.database, part, around, pool);
        open.described = self.describe(part, &open.about.around);
        if let Some(length) = self.length.filter(|_| part.id == PartId::ROOT) {
            open.hashing = Hashing::start(self.database.wanted_for(length));
        }
        let mut described = open.described.iter().filter_map(|at| self.database.described.get(*at as usize));
        if described.any(|(described, _)| described.checksum.is_some()) {
            open.checksum = Some(Box::default());
        }
        let is_idle = open.lanes.is_empty() && open.hashing.is_none() && open.described.is_empty();
        let is_idle = is_idle && open.programs.is_none() && open.tagged.is_none();
        let want = if is_idle { Want::Done } else { Want::More };
        self.parts.push(open);
        want
    }

    fn draw_from(&mut self, pool: &Arc<Pool>) {
        self.pool = Some(Arc::clone(pool));
    }

    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want {
        let Some(at) = self.find(part).filter(|_| buffer == Buffer::FileData) else { return Want::Done };
        self.parts[at].push(&self.database, chunk);
        self.pass_on(at, sink);
        Want::More
    }

    fn broken(&mut self, part: PartId, reason: Reason) {
        if let Some(at) = self.find(part).filter(|_| reason == Reason::Encrypted) {
            self.parts[at].encrypted = Encrypted::Yes;
        }
    }

    fn end(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        if let Some(at) = self.find(part).filter(|_| buffer == Buffer::FileData) {
            self.parts[at].end(&self.database);
            self.pass_on(at, sink);
        }
    }

    fn close(&mut self, part: PartId, sink: &mut dyn Sink) {
        let Some(at) = self.find(part) else { return };
        // A part that breaks off has no end of its own.
        self.parts[at].end(&self.database);
        self.pass_on(at, sink);
        let closed = self.parts.remove(at);
        if !closed.described.is_empty()
            && let Some(parent) = closed.parent.and_then(|parent| self.find(parent))
        {
            let waiting = &mut self.parts[parent].if_so_long;
            waiting.extend(closed.described);
            waiting.sort_unstable();
            waiting.dedup();
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        while let Some(last) = self.parts.last() {
            let id = last.about.part;
            self.close(id, sink);
        }
    }
}

impl Transmission {
    fn find(&self, part: PartId) -> Option<usize> {
        self.parts.iter().rposition(|open| open.about.part == part)
    }

    /// The `.cdb` signatures that a part meets but for its size.
    fn describe(&mut self, part: &Part, around: &[Around]) -> Vec<u32> {
        let Some(parent) = part.parent.and_then(|parent| self.find(parent)) else { return Vec::new() };
        self.parts[parent].children += 1;
        let (position, Some(nearest)) = (self.parts[parent].children, around.last()) else {
            return Vec::new();
        };
        let name = part.name.as_deref().unwrap_or_default().as_bytes();
        let mut steps = NAME_STEPS_MAX;
        let meets = |described: &Described, steps: &mut u64| {
            described.container.is_none_or(|layer| layer.is(nearest))
                && described.position.as_ref().is_none_or(|range| range.contains(&position))
                && described
                    .file_name
                    .as_ref()
                    .is_none_or(|perl| matches!(perl.find(name, 0, Start::Any, steps), perl::Found::At(..)))
        };
        let all = self.database.described.iter().zip(0..);
        all.filter(|((described, _), _)| meets(described, &mut steps)).map(|(_, at)| at).collect()
    }

    /// What a part is found in, which its name may tell more of.
    fn around(&mut self, part: &Part) -> Box<[Around]> {
        let Some(at) = part.parent.and_then(|parent| self.find(parent)) else { return Box::default() };
        let parent = &mut self.parts[at];
        if parent.detected == FileType::Zip && parent.office.is_none() {
            parent.office = part.name.as_deref().and_then(Office::of_entry);
        }
        let nearest = Around { file_type: parent.detected, office: parent.office };
        parent.about.around.iter().copied().chain([nearest]).collect()
    }

    /// Tells what has been found, or leaves it with the nearest part that may still turn out to be allowed.
    fn pass_on(&mut self, at: usize, sink: &mut dyn Sink) {
        let OpenPart { findings, waiting, about, .. } = &mut self.parts[at];
        if let Some(reason) = findings.undecided.take() {
            sink.incomplete(about.part, reason);
        }
        if findings.out.is_empty() && waiting.is_empty() {
            return;
        }
        let mut hits = std::mem::take(waiting);
        hits.append(&mut findings.out);
        let own = self.parts[at].about.part;
        let mut next = Some(at);
        while let Some(at) = next {
            let open = &mut self.parts[at];
            match open.standing {
                Standing::Open => {
                    if open.about.part != own && hits.iter().any(|hit| hit.part == own) {
                        sink.announce(own);
                    }
                    return open.hold(hits);
                }
                Standing::Allowed => return,
                Standing::NotAllowed => next = open.parent.and_then(|parent| self.find(parent)),
            }
        }
        for hit in hits {
            sink.hit(hit);
        }
    }
}

impl OpenPart {
    fn new(database: &Database, part: &Part, around: Box<[Around]>, pool: &Arc<Pool>) -> Self {
        let mut lanes: Vec<Lane> = Lane::new(database, 0, Reading::Plain).into_iter().collect();
        let targets = targets_of(part.detected);
        lanes.extend(targets.iter().filter_map(|(group, reading)| Lane::new(database, *group, *reading)));
        let readings: Vec<Reading> = lanes.iter().map(|lane| lane.reading).collect();
        let mut texts = Texts::of(&readings).map(Box::new);
        let (mut needs, mut needs_whole) = (Needs::default(), false);
        for lane in &lanes {
            let Some(group) = lane.of(database) else { continue };
            needs.places |= group.needs.places;
            needs.version |= group.needs.version;
            match &mut texts {
                Some(texts) if group.needs_whole && lane.reading != Reading::Plain => {
                    texts.hold(lane.reading, pool)
                }
                _ => needs_whole |= group.needs_whole && lane.reading == Reading::Plain,
            }
        }
        let programs = (part.detected == FileType::Pe).then(|| Programs::of(database)).flatten();
        needs.places |= programs.is_some();
        let layout = Layout::of(part.detected, needs);
        let tagged = Tagged::of(database, part.detected, pool);
        needs_whole |= matches!(layout, Layout::AtEnd)
            || tagged.is_some()
            || (part.detected == FileType::Pe && (needs.version || !database.imports.is_empty()));
        Self {
            about: About { part: part.id, around, layout },
            parent: part.parent,
            detected: part.detected,
            lanes,
            texts,
            children: 0,
            described: Vec::new(),
            encrypted: Encrypted::No,
            checksum: None,
            if_so_long: Vec::new(),
            office: None,
            held: needs_whole.then(|| Box::new(Held::new(pool))),
            tagged,
            hashing: Hashing::start(database.wanted),
            programs: programs.map(Box::new),
            findings: Findings::default(),
            standing: match database.allowed.longest() {
                Some(_) => Standing::Open,
                None => Standing::NotAllowed,
            },
            waiting: Vec::new(),
            length: 0,
        }
    }

    fn push(&mut self, database: &Database, chunk: &[u8]) {
        self.length = self.length.saturating_add(chunk.len() as u64);
        self.keep(database, chunk);
        if self.standing == Standing::Open
            && database.allowed.longest().is_none_or(|longest| self.length > longest)
        {
            self.standing = Standing::NotAllowed;
        }
        if let Some(checksum) = &mut self.checksum {
            checksum.update(chunk);
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.reading == Reading::Plain) {
            lane.read_asked(database, &self.about, &mut self.findings, chunk);
        }
        let before = self.push_layout(database, chunk);
        if self.about.layout.takes_bytes() {
            // Where a program starts must be known before its bytes are read.
            return;
        }
        let Self { lanes, findings, about, texts, held, tagged, .. } = self;
        if let Some(tagged) = tagged {
            tagged.push(database, about, findings, (chunk, held.as_deref()));
        }
        for lane in lanes.iter_mut().filter(|lane| lane.reading == Reading::Plain) {
            if let Some(before) = &before {
                lane.place(database, &about.layout);
                lane.read(database, about, findings, before);
            }
            lane.read(database, about, findings, chunk);
            lane.ask(database, about, findings, held.as_ref().and_then(|held| held.whole().bytes()));
        }
        if let Some(texts) = texts {
            texts.push(chunk, &mut hand_out(lanes, database, about, findings));
        }
        let all = || lanes.iter().chain(tagged.iter().flat_map(|tagged| &tagged.lanes));
        let length = |of: LaneId| all().find(|lane| lane.id == of).map_or(0, |lane| lane.length);
        findings.prune(database, about, &length);
    }

    /// The next bytes, for what looks at the whole part. Digests of what is held wait for its end: few lengths are listed.
    fn keep(&mut self, database: &Database, chunk: &[u8]) {
        let Self { held, hashing, lanes, about, findings, .. } = self;
        if let Some(held) = held {
            held.push(chunk, &mut |before| {
                hashing.take_if(|hashing| !hashing.catch_up(before));
                for lane in lanes.iter_mut().filter(|lane| lane.reading == Reading::Plain) {
                    lane.search_all(database, about, findings, before);
                }
            });
        }
        let held = held.as_ref().and_then(|held| held.whole().bytes());
        hashing.take_if(|hashing| match held {
            Some(bytes) if bytes.len() <= UNHASHED_BYTES_MAX => false,
            Some(bytes) => !hashing.catch_up(bytes),
            None => !hashing.push(chunk, self.length),
        });
    }

    /// The next bytes, for what is known of the part as a program. When that is decided, the bytes before these are given.
    fn push_layout(&mut self, database: &Database, chunk: &[u8]) -> Option<Vec<u8>> {
        let mut decided = None;
        if self.about.layout.takes_bytes() {
            decided = self.about.layout.push(chunk);
            if !self.about.layout.is_open() {
                self.findings.layout_known(database, &self.about);
            }
            let program = self.about.layout.program();
            if let (Some(programs), Some(before), Some(program)) = (&mut self.programs, &decided, program) {
                programs.start(database, program);
                programs.push(before);
            }
        }
        if let Some(programs) = &mut self.programs {
            programs.push(chunk);
        }
        decided
    }

    /// The part has no more bytes. A second call does nothing.
    fn end(&mut self, database: &Database) {
        let (held, mut texts) = (self.held.take(), self.texts.take());
        if let Some(Whole::NotHeld(reason)) = held.as_ref().map(|held| held.whole())
            && self.findings.waits()
        {
            self.findings.undecided.get_or_insert(reason);
        }
        let bytes = held.as_ref().and_then(|held| held.whole().bytes());
        let gathered = self.about.layout.take_gathered();
        self.about.layout.finish(self.detected, bytes);
        for lane in self.lanes.iter_mut().filter(|lane| lane.reading == Reading::Plain) {
            lane.read(database, &self.about, &mut self.findings, &gathered);
        }
        if let Some(programs) = self.programs.take() {
            let mut found = |signature| self.findings.report(database, &self.about, signature, None);
            programs.finish(database, self.about.layout.program(), bytes, &mut found);
        }
        self.end_described(database);
        let lanes = std::mem::take(&mut self.lanes);
        self.end_lanes(database, lanes, texts.as_deref_mut(), held.as_deref());
        if let Some(mut tagged) = self.tagged.take() {
            self.end_lanes(database, tagged.lanes, tagged.page.as_mut(), None);
        }
        self.read_as_others(database, held.as_ref().map(|held| held.whole()));
        if let Some(hashing) = self.hashing.take() {
            let digests = match bytes.filter(|bytes| bytes.len() <= UNHASHED_BYTES_MAX) {
                Some(bytes) => Hashing::of(database.wanted_for(self.length), bytes),
                None => hashing.finish(),
            };
            database.listed.find(&digests, self.length, &mut |signature| {
                self.findings.report(database, &self.about, signature, None);
            });
            database.allowed.find(&digests, self.length, &mut |_| self.standing = Standing::Allowed);
        }
        if self.standing == Standing::Open {
            self.standing = Standing::NotAllowed;
        }
        if self.standing == Standing::Allowed {
            self.waiting.clear();
            self.findings.out.clear();
        }
    }

    /// Lanes have no more bytes but what texts have kept back.
    fn end_lanes(
        &mut self,
        database: &Database,
        mut lanes: Vec<Lane>,
        mut texts: Option<&mut Texts>,
        held: Option<&Held>,
    ) {
        let Self { about, findings, .. } = self;
        if let Some(texts) = &mut texts {
            texts.finish(&mut hand_out(&mut lanes, database, about, findings));
        }
        // Of a page without scripts there is no text of them, not even an empty one.
        lanes.retain(|lane| lane.reading != Reading::Script || lane.length > 0);
        for mut lane in lanes {
            let whole = match (&texts, held) {
                (Some(texts), _) if lane.reading != Reading::Plain => texts.whole(lane.reading),
                (_, Some(held)) if lane.reading == Reading::Plain => held.whole(),
                _ => Whole::NotHeld(Reason::Held),
            };
            lane.finish(database, about, findings, whole);
        }
    }

    /// What `.cdb` signatures say of the part, and of those in it, is decided but for the length of what it is in.
    fn end_described(&mut self, database: &Database) {
        let checksum = self.checksum.take().map(|checksum| checksum.finalize());
        let is_met = |described: &Described| {
            described.size.as_ref().is_none_or(|range| range.contains(&self.length))
                && described.encrypted.is_none_or(|encrypted| encrypted == self.encrypted)
                && described.checksum.is_none_or(|listed| checksum == Some(listed))
        };
        let met =
            |at: &u32| database.described.get(*at as usize).is_some_and(|(described, _)| is_met(described));
        self.described.retain(met);
        self.described.retain(|at| {
            let Some((described, signature)) = database.described.get(*at as usize) else { return false };
            if described.container_size.is_none() {
                self.findings.report(database, &self.about, *signature, None);
            }
            described.container_size.is_some()
        });
        for at in std::mem::take(&mut self.if_so_long) {
            let Some((described, signature)) = database.described.get(at as usize) else { continue };
            if described.container_size.as_ref().is_some_and(|range| range.contains(&self.length)) {
                self.findings.report(database, &self.about, *signature, None);
            }
        }
    }

    /// Has the signatures of other types look at the whole part, where one for its own said so.
    fn read_as_others(&mut self, database: &Database, whole: Option<Whole<'_>>) {
        let (types, seen) = (self.findings.take_types(), targets_of(self.detected));
        let mut groups: Vec<u8> = types
            .iter()
            .flat_map(|file_type| targets_of(*file_type))
            .filter(|target| target.1 == Reading::Plain && !seen.contains(target))
            .map(|(group, _)| *group)
            .collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let Some(mut lane) = Lane::new(database, group, Reading::Plain) else { continue };
            match whole {
                Some(Whole::Bytes(bytes)) => {
                    lane.read(database, &self.about, &mut self.findings, bytes);
                    lane.finish(database, &self.about, &mut self.findings, Whole::Bytes(bytes));
                }
                Some(Whole::NotHeld(reason)) => drop(self.findings.undecided.get_or_insert(reason)),
                None => {}
            }
        }
    }

    /// Keeps findings, a few of each class: all of them share this part's fate.
    fn hold(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let is_virus = hit.class == Class::Virus;
            let same = self.waiting.iter().filter(|held| (held.class == Class::Virus) == is_virus).count();
            if same < HITS_MAX * 2 {
                self.waiting.push(hit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_part_is_small() {
        // Two lanes at most times, and all three digests.
        let bytes = size_of::<OpenPart>() + 2 * size_of::<Lane>() + size_of::<Hashing>();
        assert!(bytes <= 1152, "{bytes} bytes");
    }
}
