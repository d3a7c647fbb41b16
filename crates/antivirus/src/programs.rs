//! What signatures know a Windows program by besides its bytes: digests of its sections and of its import table. Rule: what
//! no list asks for is not computed.

use crate::database::Database;
use crate::hashes::Hashing;
use crate::layout::{Bits, Program, import_text};
use crate::sections::Sections;

/// A program, as it streams.
pub(crate) struct Programs {
    sections: Option<Sections>,
}

impl Programs {
    /// `None` where no list asks for anything.
    pub fn of(database: &Database) -> Option<Self> {
        let is_asked = !database.sections.is_empty() || !database.imports.is_empty();
        is_asked.then_some(Self { sections: None })
    }

    /// Its headers are read.
    pub fn start(&mut self, database: &Database, program: &Program) {
        self.sections = Sections::start(program, &database.sections);
    }

    /// The next bytes of the file, from its first on.
    pub fn push(&mut self, chunk: &[u8]) {
        if let Some(sections) = &mut self.sections {
            sections.push(chunk);
        }
    }

    /// The file has ended; the whole of it, if it is held.
    pub fn finish(
        self,
        database: &Database,
        program: Option<&Program>,
        whole: Option<&[u8]>,
        found: &mut dyn FnMut(u32),
    ) {
        if let Some(sections) = self.sections {
            sections.finish(&database.sections, found);
        }
        let (Some(program), Some(whole)) = (program, whole) else { return };
        // As ClamAV, which leaves programs of 64 bits before it comes to this.
        if database.imports.is_empty() || program.windows.is_none_or(|windows| windows.bits == Bits::B64) {
            return;
        }
        let Some(text) = import_text(program, whole) else { return };
        let digests = Hashing::of(database.imports.wanted(), &text);
        database.imports.find(&digests, text.len() as u64, found);
    }
}
