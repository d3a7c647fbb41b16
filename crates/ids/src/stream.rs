//! A buffer without bound, looked at in pieces: [`Stream`]. Rule: the pieces begin and end at fixed offsets, so that the answer does
//! not depend on how the bytes came.

use crate::database::Database;
use crate::evaluate::Piece;
use crate::ruleset::transform::Made;
use crate::search::{Patterns, Search};
use crate::views::ViewId;
use lockgate_matcher as matcher;
use std::sync::Arc;

/// Pieces begin at multiples of this.
pub(crate) const STEP_BYTES: usize = 16 << 10;
/// How long a piece is: what a rule asks of a stream is found if it is no farther apart than a step.
pub(crate) const PIECE_BYTES: usize = 2 * STEP_BYTES;

/// How much is gathered of a part that is looked at as something else.
const GATHERED_BYTES_MAX: usize = 256 << 10;

/// One open part, as one or more views look at it.
#[derive(Debug)]
pub(crate) struct Stream {
    views: Arc<[ViewId]>,
    search: Option<(Arc<Search>, matcher::Scanner)>,
    held: Vec<u8>,
    /// How much of that has been searched: all of a piece is, when it is looked at.
    searched: usize,
    /// Where in the stream `held` begins.
    base: u64,
    /// The patterns that were found in the step before this one, and in this one.
    found: [Patterns; 2],
    /// Where the view is made of the whole: what has come of it.
    gathered: Option<Vec<u8>>,
    /// Patterns of the connection's bytes that were found since these were last taken, where they are searched for here.
    of_connection: Option<Patterns>,
    /// Whether there was no room for all of it.
    pub is_spent: bool,
}

/// Told of each piece for each view: with the rules whose patterns are in it.
type Look<'l> = dyn FnMut(ViewId, Piece<'_>, &[u32]) + 'l;

impl Stream {
    /// As it came.
    pub fn new(views: Arc<[ViewId]>, search: Option<Arc<Search>>) -> Self {
        let begun = |search: Arc<Search>| {
            let state = search.begin();
            (search, state)
        };
        Self {
            views,
            search: search.map(begun),
            held: Vec::new(),
            searched: 0,
            base: 0,
            found: Default::default(),
            gathered: None,
            of_connection: None,
            is_spent: false,
        }
    }

    /// As it came, where the search is for what the bytes of the connection are searched for, too.
    pub fn of_connection(views: Arc<[ViewId]>, search: Option<Arc<Search>>) -> Self {
        Self { of_connection: Some(Patterns::default()), ..Self::new(views, search) }
    }

    /// Whether it is such a one.
    pub fn is_of_connection(&self) -> bool {
        self.of_connection.is_some()
    }

    /// The rules about the bytes of the connection whose patterns were found in what was pushed last.
    pub fn found_of_connection(&self) -> impl Iterator<Item = u32> + '_ {
        let search = self.search.as_ref().zip(self.of_connection.as_ref());
        search.into_iter().flat_map(|((search, _), found)| search.rules(found))
    }

    /// As a view has it that is made of the whole.
    pub fn transformed(view: ViewId, search: Option<Arc<Search>>) -> Self {
        Self { gathered: Some(Vec::new()), ..Self::new([view].into(), search) }
    }

    /// Takes bytes; each piece that is full is looked at.
    pub fn push(&mut self, mut chunk: &[u8], look: &mut Look<'_>) {
        if let Some(gathered) = &mut self.gathered {
            let room = GATHERED_BYTES_MAX.saturating_sub(gathered.len());
            self.is_spent |= room < chunk.len();
            gathered.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
            return;
        }
        self.of_connection.iter_mut().for_each(Patterns::clear);
        while !chunk.is_empty() {
            let room = PIECE_BYTES - self.held.len();
            let (now, rest) = chunk.split_at(room.min(chunk.len()));
            self.hold(now);
            chunk = rest;
            if self.of_connection.is_some() {
                self.search();
            }
            if self.held.len() == PIECE_BYTES {
                self.search();
                self.look(false, look);
                self.held.drain(..STEP_BYTES);
                self.searched -= STEP_BYTES;
                self.base += STEP_BYTES as u64;
                self.found.swap(0, 1);
                self.found[1].clear();
            }
        }
    }

    /// The stream has ended.
    pub fn end(&mut self, database: &Database, look: &mut Look<'_>) {
        if let Some(gathered) = self.gathered.take() {
            let (mut made, view) = (Made::default(), self.views.first());
            let made_of = |view: &ViewId| database.views.transformed(*view, &gathered, &mut made);
            self.held = view.and_then(made_of).unwrap_or_default();
            self.is_spent |= made == Made::Spent;
        }
        self.search();
        if let Some((search, state)) = &mut self.search {
            search.finish(state, &mut self.found[1]);
        }
        self.look(true, look);
    }

    /// A part that comes in more than one piece mostly fills what is looked at: room for that is made at once.
    fn hold(&mut self, bytes: &[u8]) {
        if !self.held.is_empty() && self.held.capacity() < PIECE_BYTES {
            self.held.reserve_exact(PIECE_BYTES - self.held.len());
        }
        self.held.extend_from_slice(bytes);
    }

    fn search(&mut self) {
        let new = self.held.get(self.searched..).unwrap_or_default();
        match (&mut self.search, &mut self.of_connection) {
            _ if new.is_empty() => {}
            (Some((search, state)), Some(others)) => {
                search.scan_apart(state, new, &mut self.found[1], others);
            }
            (Some((search, state)), None) => search.scan(state, new, &mut self.found[1]),
            (None, _) => {}
        }
        self.searched = self.held.len();
    }

    fn look(&mut self, is_last: bool, look: &mut Look<'_>) {
        let search = self.search.as_ref();
        let rules = |found| search.into_iter().flat_map(move |(search, _)| search.rules(found));
        let found: Vec<u32> = self.found.iter().flat_map(rules).collect();
        for view in &*self.views {
            look(*view, Piece { bytes: &self.held, base: self.base, is_last }, &found);
        }
    }
}
