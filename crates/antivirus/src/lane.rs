//! One group of signatures at work on one part: [`Lane`]. Rule: each byte of what it reads is read once.

use crate::asking::{Asking, Told};
use crate::database::{Database, Group, Reading};
use crate::findings::{About, FIRST_TEXT_LANE, Findings, LaneEnded, LaneId};
use crate::held::Whole;
use crate::layout::Layout;
use lockgate_matcher as matcher;

/// One group of signatures at work on one part.
pub(crate) struct Lane {
    pub id: LaneId,
    group: u8,
    pub reading: Reading,
    scanner: matcher::Scanner,
    /// What signatures have asked for; few parts have any.
    asking: Option<Box<Asking>>,
    /// Bytes read.
    pub length: u64,
}

impl Lane {
    /// `None` where the group has nothing to look for.
    pub fn new(database: &Database, group: u8, reading: Reading) -> Option<Self> {
        let of = database.groups.get(usize::from(group))?.as_ref()?;
        let text = match reading {
            Reading::Plain => None,
            Reading::Folded | Reading::NoComment => Some(0),
            Reading::NoTags => Some(1),
            Reading::Script => Some(2),
        };
        // Three lanes at most read the same.
        let number = match group {
            0 => 0,
            7 => 2,
            _ => 1,
        };
        let id = LaneId(text.map_or(number.min(1), |text| FIRST_TEXT_LANE + text * 3 + number));
        if of.read_as(reading).is_none() && of.vacuous.is_empty() {
            return None;
        }
        Some(Self { id, group, reading, scanner: matcher::Scanner::default(), asking: None, length: 0 })
    }

    /// The layout is decided, and nothing has been read: says where in the program patterns may start.
    pub fn place(&mut self, database: &Database, layout: &Layout) {
        let (Some(group), Some(program)) = (self.of(database), layout.program()) else { return };
        for (number, told) in (0..).zip(&group.told) {
            let lead = u64::from(told.lead_bytes);
            let Some(place) = program.place(told.offset) else { continue };
            if let Some(last) = place.end().checked_sub(lead) {
                self.scanner.place(number, place.start().saturating_sub(lead), last);
            }
        }
    }

    pub fn read(&mut self, database: &Database, about: &About, findings: &mut Findings, bytes: &[u8]) {
        self.length = self.length.saturating_add(bytes.len() as u64);
        self.scan(database, about, findings, Some(bytes));
    }

    pub fn finish(&mut self, database: &Database, about: &About, findings: &mut Findings, whole: Whole<'_>) {
        self.scan(database, about, findings, None);
        self.ask(database, about, findings, whole.bytes());
        if let (Some(asking), Some(group)) = (self.asking.take(), self.of(database)) {
            let told = &mut self.told(database, group, about, findings);
            { asking }.finish(told, whole.bytes());
        }
        let Self { id: lane, group, length, .. } = *self;
        findings.lane_ended(database, about, LaneEnded { lane, group, length, whole });
    }

    /// Where this lane's matches go.
    fn told<'a>(
        &self,
        database: &'a Database,
        group: &'a Group,
        about: &'a About,
        findings: &'a mut Findings,
    ) -> Told<'a> {
        Told { database, group, about, findings, lane: self.id, reading: self.reading }
    }

    /// What has come is held no longer: all that could be asked for is searched for from now on, and in that first.
    pub fn search_all(&mut self, database: &Database, about: &About, findings: &mut Findings, before: &[u8]) {
        let Some(group) = self.of(database).filter(|group| !group.asks.is_empty()) else { return };
        let mut told = self.told(database, group, about, findings);
        self.asking.get_or_insert_default().search_all(&mut told, before);
    }

    /// The next bytes, for what has been asked for.
    pub fn read_asked(&mut self, database: &Database, about: &About, findings: &mut Findings, chunk: &[u8]) {
        let Some(group) = self.of(database).filter(|_| self.asking.is_some()) else { return };
        let mut told = Told { database, group, about, findings, lane: self.id, reading: self.reading };
        if let Some(asking) = &mut self.asking {
            asking.read(&mut told, chunk);
        }
    }

    /// Searches what has come, if it is held, for what signatures have come to ask for.
    pub fn ask(&mut self, database: &Database, about: &About, findings: &mut Findings, bytes: Option<&[u8]>) {
        let Some(group) = self.of(database).filter(|_| findings.has_opened()) else { return };
        let mut told = self.told(database, group, about, findings);
        self.asking.get_or_insert_default().ask(&mut told, bytes);
    }

    pub fn of<'a>(&self, database: &'a Database) -> Option<&'a Group> {
        database.groups.get(usize::from(self.group))?.as_ref()
    }

    /// The next bytes, or none: the end.
    fn scan(&mut self, database: &Database, about: &About, findings: &mut Findings, bytes: Option<&[u8]>) {
        let Some(group) = self.of(database) else { return };
        let Some(patterns) = group.read_as(self.reading) else { return };
        let mut told = self.told(database, group, about, findings);
        let mut found = |found: matcher::Match| told.found(found, None);
        match bytes {
            Some(bytes) => self.scanner.scan(patterns, bytes, &mut found),
            None => self.scanner.finish(patterns, &mut found),
        }
    }
}

/// Hands each lane the text that it reads.
pub(crate) fn hand_out<'a>(
    lanes: &'a mut [Lane],
    database: &'a Database,
    about: &'a About,
    findings: &'a mut Findings,
) -> impl FnMut(Reading, &[u8]) + 'a {
    move |reading, text| {
        for lane in lanes.iter_mut().filter(|lane| lane.reading == reading) {
            lane.read(database, about, findings, text);
        }
    }
}
