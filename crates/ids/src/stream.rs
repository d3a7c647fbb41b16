//! A buffer without bound, looked at in pieces: [`Stream`]. Rule: the pieces begin and end at fixed offsets, so that the answer does
//! not depend on how the bytes came.

use crate::database::Database;
use crate::evaluate::Piece;
use crate::ruleset::transform::Made;
use crate::search::Patterns;
use crate::views::ViewId;
use lockgate_matcher as matcher;

/// Pieces begin at multiples of this.
pub(crate) const STEP_BYTES: usize = 16 << 10;
/// How long a piece is: what a rule asks of a stream is found if it is no farther apart than a step.
pub(crate) const PIECE_BYTES: usize = 2 * STEP_BYTES;

/// How much is gathered of a part that is looked at as something else.
const GATHERED_BYTES_MAX: usize = 256 << 10;

/// One view of one open part.
#[derive(Debug)]
pub(crate) struct Stream {
    pub view: ViewId,
    search: Option<matcher::Scanner>,
    held: Vec<u8>,
    /// Where in the stream `held` begins.
    base: u64,
    /// The patterns that were found in the step before this one, and in this one.
    found: [Patterns; 2],
    /// Where the view is made of the whole: what has come of it.
    gathered: Option<Vec<u8>>,
    /// Whether there was no room for all of it.
    pub is_spent: bool,
}

impl Stream {
    pub fn new(database: &Database, view: ViewId) -> Self {
        let search = database.searches[usize::from(view.0)].as_ref();
        Self {
            view,
            search: search.map(|search| search.begin()),
            held: Vec::new(),
            base: 0,
            found: Default::default(),
            gathered: database.views.is_transformed(view).then(Vec::new),
            is_spent: false,
        }
    }

    /// Takes bytes; each piece that is full is looked at.
    pub fn push(
        &mut self,
        database: &Database,
        mut chunk: &[u8],
        look: &mut dyn FnMut(ViewId, Piece<'_>, &mut Vec<u32>),
    ) {
        if let Some(gathered) = &mut self.gathered {
            let room = GATHERED_BYTES_MAX.saturating_sub(gathered.len());
            self.is_spent |= room < chunk.len();
            gathered.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
            return;
        }
        while !chunk.is_empty() {
            let room = PIECE_BYTES - self.held.len();
            let (now, rest) = chunk.split_at(room.min(chunk.len()));
            self.take(database, now);
            chunk = rest;
            if self.held.len() == PIECE_BYTES {
                self.look(database, false, look);
                self.held.drain(..STEP_BYTES);
                self.base += STEP_BYTES as u64;
                self.found.swap(0, 1);
                self.found[1].clear();
            }
        }
    }

    /// The stream has ended.
    pub fn end(&mut self, database: &Database, look: &mut dyn FnMut(ViewId, Piece<'_>, &mut Vec<u32>)) {
        if let Some(gathered) = self.gathered.take() {
            let mut made = Made::default();
            let bytes = database.views.transformed(self.view, &gathered, &mut made).unwrap_or_default();
            self.is_spent |= made == Made::Spent;
            self.take(database, &bytes);
        }
        let search = database.searches[usize::from(self.view.0)].as_ref();
        if let (Some(search), Some(state)) = (search, &mut self.search) {
            search.finish(state, &mut self.found[1]);
        }
        self.look(database, true, look);
    }

    fn take(&mut self, database: &Database, bytes: &[u8]) {
        let search = database.searches[usize::from(self.view.0)].as_ref();
        if let (Some(search), Some(state)) = (search, &mut self.search) {
            search.scan(state, bytes, &mut self.found[1]);
        }
        self.held.extend_from_slice(bytes);
    }

    fn look(
        &mut self,
        database: &Database,
        is_last: bool,
        look: &mut dyn FnMut(ViewId, Piece<'_>, &mut Vec<u32>),
    ) {
        let search = database.searches[usize::from(self.view.0)].as_ref();
        let rules = |found| search.into_iter().flat_map(move |search| search.rules(found));
        let mut found: Vec<u32> = self.found.iter().flat_map(rules).collect();
        look(self.view, Piece { bytes: &self.held, base: self.base, is_last }, &mut found);
    }
}
