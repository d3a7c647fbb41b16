//! Chunks → findings, for one transaction. Rule: each byte is read once by each lane; what is found is told as soon as
//! it is decided, unless a list of allowed files might still clear it.

use crate::database::{Database, Reading, targets_of};
use crate::findings::{About, FIRST_NORMALISED_LANE, Findings, Found, HITS_MAX, LaneId};
use crate::hashes::Hashing;
use crate::layout::Layout;
use crate::text::Normaliser;
use lockgate_matcher as matcher;
use lockgate_model::{
    Buffer, Class, FileType, FlowState, Hit, Part, PartId, Scanner, Sink, Transaction, Want,
};
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
    fn open(&mut self, _about: &Transaction) -> Box<dyn Scanner> {
        Box::new(Transmission { database: Arc::clone(&self.database), parts: Vec::new() })
    }
}

/// One transaction: its open parts, each behind its ancestors.
struct Transmission {
    database: Arc<Database>,
    parts: Vec<OpenPart>,
}

/// One open part.
struct OpenPart {
    about: About,
    parent: Option<PartId>,
    detected: FileType,
    lanes: Vec<Lane>,
    normaliser: Normaliser,
    hashing: Option<Box<Hashing>>,
    findings: Findings,
    standing: Standing,
    /// Findings of this part and those in it that wait for its standing.
    held: Vec<Hit>,
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

/// One group of signatures at work on one part.
struct Lane {
    id: LaneId,
    group: u8,
    reading: Reading,
    scanner: matcher::Scanner,
    /// Bytes read.
    length: u64,
}

impl Scanner for Transmission {
    fn open(&mut self, part: &Part) -> Want {
        let parent = part.parent.and_then(|parent| self.find(parent)).map(|at| self.parts[at].detected);
        let open = OpenPart::new(&self.database, part, parent);
        let want = if open.lanes.is_empty() && open.hashing.is_none() { Want::Done } else { Want::More };
        self.parts.push(open);
        want
    }

    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want {
        let Some(at) = self.find(part).filter(|_| buffer == Buffer::FileData) else { return Want::Done };
        self.parts[at].push(&self.database, chunk);
        self.pass_on(at, sink);
        Want::More
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
        self.parts.remove(at);
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

    /// Tells what has been found, or leaves it with the nearest part that may still turn out to be allowed.
    fn pass_on(&mut self, at: usize, sink: &mut dyn Sink) {
        let OpenPart { findings, held, .. } = &mut self.parts[at];
        if findings.out.is_empty() && held.is_empty() {
            return;
        }
        let mut hits = std::mem::take(held);
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
    fn new(database: &Database, part: &Part, parent: Option<FileType>) -> Self {
        let mut lanes: Vec<Lane> = Lane::new(database, 0, Reading::Plain).into_iter().collect();
        let targets = targets_of(part.detected);
        lanes.extend(targets.iter().filter_map(|(group, reading)| Lane::new(database, *group, *reading)));
        let needs_layout = |lane: &Lane| {
            database
                .groups
                .get(usize::from(lane.group))
                .and_then(Option::as_ref)
                .is_some_and(|g| g.needs_layout)
        };
        let layout = match lanes.iter().any(needs_layout) {
            true => Layout::Gathering(Vec::new()),
            false => Layout::NotNeeded,
        };
        Self {
            about: About { part: part.id, parent, layout },
            parent: part.parent,
            detected: part.detected,
            lanes,
            normaliser: Normaliser::default(),
            hashing: Hashing::start(database.wanted),
            findings: Findings::default(),
            standing: match database.allowed.longest() {
                Some(_) => Standing::Open,
                None => Standing::NotAllowed,
            },
            held: Vec::new(),
            length: 0,
        }
    }

    fn push(&mut self, database: &Database, chunk: &[u8]) {
        self.length = self.length.saturating_add(chunk.len() as u64);
        if self.hashing.as_mut().is_some_and(|hashing| !hashing.push(chunk, self.length)) {
            self.hashing = None;
        }
        if self.standing == Standing::Open
            && database.allowed.longest().is_none_or(|longest| self.length > longest)
        {
            self.standing = Standing::NotAllowed;
        }
        if self.about.layout.is_open() {
            self.about.layout.push(chunk);
            if !self.about.layout.is_open() {
                self.findings.layout_known(database, &self.about);
            }
        }
        let Self { lanes, findings, about, normaliser, .. } = self;
        // Those that read the part as it is stand before those that read its text: `targets_of` names them so.
        let first_of_text = lanes.iter().take_while(|lane| lane.reading == Reading::Plain).count();
        let (plain, of_text) = lanes.split_at_mut(first_of_text);
        for lane in plain {
            lane.read(database, about, findings, chunk);
        }
        if !of_text.is_empty() {
            normaliser.push(chunk, &mut |text| {
                for lane in of_text.iter_mut() {
                    lane.read(database, about, findings, text);
                }
            });
        }
        let length = |of: LaneId| lanes.iter().find(|lane| lane.id == of).map_or(0, |lane| lane.length);
        findings.prune(database, about, &length);
    }

    /// The part has no more bytes. A second call does nothing.
    fn end(&mut self, database: &Database) {
        if self.about.layout.is_open() {
            self.about.layout = Layout::Unreadable;
        }
        for mut lane in std::mem::take(&mut self.lanes) {
            lane.finish(database, &self.about, &mut self.findings);
        }
        if let Some(hashing) = self.hashing.take() {
            let digests = hashing.finish();
            database.listed.find(&digests, self.length, &mut |signature| {
                self.findings.report(database, &self.about, signature, None);
            });
            database.allowed.find(&digests, self.length, &mut |_| self.standing = Standing::Allowed);
        }
        if self.standing == Standing::Open {
            self.standing = Standing::NotAllowed;
        }
        if self.standing == Standing::Allowed {
            self.held.clear();
            self.findings.out.clear();
        }
    }

    /// Keeps findings, a few of each class: all of them share this part's fate.
    fn hold(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let is_virus = hit.class == Class::Virus;
            let same = self.held.iter().filter(|held| (held.class == Class::Virus) == is_virus).count();
            if same < HITS_MAX * 2 {
                self.held.push(hit);
            }
        }
    }
}

impl Lane {
    /// `None` where the group has nothing to look for.
    fn new(database: &Database, group: u8, reading: Reading) -> Option<Self> {
        let of = database.groups.get(usize::from(group))?.as_ref()?;
        let id = match (group, reading) {
            (0, Reading::Plain) => LaneId(0),
            (_, Reading::Plain) => LaneId(1),
            (0, Reading::Normalised) => LaneId(FIRST_NORMALISED_LANE),
            (_, Reading::Normalised) => LaneId(FIRST_NORMALISED_LANE + 1),
        };
        if reading == Reading::Normalised && of.in_text.is_none() && of.vacuous.is_empty() {
            return None;
        }
        Some(Self { id, group, reading, scanner: matcher::Scanner::default(), length: 0 })
    }

    fn read(&mut self, database: &Database, about: &About, findings: &mut Findings, bytes: &[u8]) {
        self.length = self.length.saturating_add(bytes.len() as u64);
        self.scan(database, about, findings, Some(bytes));
    }

    fn finish(&mut self, database: &Database, about: &About, findings: &mut Findings) {
        self.scan(database, about, findings, None);
        findings.lane_ended(database, about, self.id, self.group, self.length);
    }

    /// The next bytes, or none: the end.
    fn scan(&mut self, database: &Database, about: &About, findings: &mut Findings, bytes: Option<&[u8]>) {
        let Some(group) = database.groups.get(usize::from(self.group)).and_then(Option::as_ref) else {
            return;
        };
        let Some(patterns) = group.read_as(self.reading) else { return };
        let id = self.id;
        let mut found = |found: matcher::Match| {
            for usage in group.uses_of(group.original(self.reading, found.pattern)) {
                let start = found.start + u64::from(usage.lead_bytes);
                findings.found(database, about, Found { usage: *usage, lane: id, start, end: found.end });
            }
            matcher::Interest::More
        };
        match bytes {
            Some(bytes) => self.scanner.scan(patterns, bytes, &mut found),
            None => self.scanner.finish(patterns, &mut found),
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
        assert!(bytes <= 1024, "{bytes} bytes");
    }
}
