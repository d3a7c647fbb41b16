//! A compiled database as a file has it, so that it need not be compiled again. Rule: what is loaded is what was stored, report
//! and all, or nothing is; where each number leads is looked at before anything is scanned.

use crate::database::{Database, Group};
use crate::hashes::Wanted;
use crate::report::Report;
use crate::ruleset::target::TARGETS;
use lockgate_stored::{Reader, Stored, Unfit, Writer};
use std::io::{self, Read, Write};
use std::sync::OnceLock;

/// Names what has made a stored database: one that was made by another is of no use.
pub const BUILD: &str = env!("LOCKGATE_BUILD");

/// How many bytes the checksum takes, behind all else.
const SUM_BYTES: u64 = 4;

impl Database {
    /// Writes it, with what was said of its sources.
    ///
    /// # Errors
    ///
    /// What kept it from being written.
    pub fn store(&self, report: &Report, sink: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer::new(sink);
        store(self, &mut writer);
        report.store(&mut writer);
        let sum = writer.finish()?;
        sink.write_all(&sum.to_le_bytes())
    }

    /// Reads so many bytes, which are one and what was said of its sources.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where they are none, or are damaged.
    pub fn load(source: &mut dyn Read, bytes: u64) -> Result<(Self, Report), Unfit> {
        let length = bytes.checked_sub(SUM_BYTES).ok_or(Unfit("it is cut"))?;
        let mut reader = Reader::new(source, length);
        let database = load(&mut reader)?;
        let report = Report::load(&mut reader)?;
        let sum = reader.finish()?;
        let mut stored = [0; SUM_BYTES as usize];
        source.read_exact(&mut stored).map_err(|_| Unfit("it is cut"))?;
        if u32::from_le_bytes(stored) != sum {
            return Err(Unfit("its checksum is not that of its bytes"));
        }
        Ok((database, report))
    }

    /// Whether each number leads to what is there.
    fn is_sound(&self) -> bool {
        let programs = self.programs.count();
        self.logics.iter().all(|logic| {
            (logic.program as usize) < programs && logic.late.iter().all(|late| late.is_sound(programs))
        })
    }
}

fn store(database: &Database, to: &mut Writer<'_>) {
    // What is wanted follows from the lists.
    let Database { groups, signatures, names, files, logics, programs, conditions, .. } = database;
    let Database { listed, allowed, sections, imports, described, icons, wanted: _, needed: _, .. } =
        database;
    groups.iter().for_each(|group| group.store(to));
    signatures.store(to);
    names.store(to);
    files.store(to);
    logics.store(to);
    programs.store(to);
    conditions.store(to);
    [listed, allowed, sections, imports].iter().for_each(|list| list.store(to));
    described.store(to);
    icons.store(to);
}

fn load(from: &mut Reader<'_>) -> Result<Database, Unfit> {
    let mut groups: [Option<Group>; TARGETS] = Default::default();
    for group in &mut groups {
        *group = Stored::load(from)?;
    }
    let mut database = Database {
        groups,
        signatures: Stored::load(from)?,
        names: Stored::load(from)?,
        files: Stored::load(from)?,
        logics: Stored::load(from)?,
        programs: Stored::load(from)?,
        conditions: Stored::load(from)?,
        listed: Stored::load(from)?,
        allowed: Stored::load(from)?,
        sections: Stored::load(from)?,
        imports: Stored::load(from)?,
        described: Stored::load(from)?,
        icons: Stored::load(from)?,
        wanted: Wanted::default(),
        needed: OnceLock::new(),
    };
    database.wanted = Wanted::of(&[&database.listed, &database.allowed]);
    if database.is_sound() { Ok(database) } else { Err(Unfit("numbers that lead nowhere")) }
}
