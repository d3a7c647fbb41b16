//! Brotli (RFC 7932), the content coding `br`. Rule: its window and tables are drawn from the pool before they are there.
//!
//! The library decodes in pieces and allocates through what it is given. Its window grows with the content up to what the
//! stream states, 16 MiB at most; the large windows of a later extension are damage. Its tables are a few MiB at most.

use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use brotli_decompressor::{
    Allocator, BrotliDecoderErrorCode, BrotliDecoderTakeOutput, BrotliDecompressStream, BrotliResult,
    BrotliState, SliceWrapper, SliceWrapperMut,
};
use lockgate_model::{Grant, Pool, Reason};
use std::mem::size_of;
use std::sync::{Arc, Mutex, PoisonError};

/// What decoding costs for each KiB in and out.
const NANOS_PER_KIB: u32 = 2500;
/// What taking and clearing a KiB of memory costs: a few bytes of a stream can ask for MiB of tables.
const MEMORY_NANOS_PER_KIB: u64 = 150;
/// The most that is read at once: tables that are asked for again and again are accounted for in between.
const RUN_BYTES_MAX: usize = 512;
/// What the library's state holds besides what it allocates.
const STATE_BYTES: u64 = size_of::<State>() as u64;

type State = BrotliState<Memory, Memory, Memory>;

/// What has been seen of a stream.
#[derive(Clone, Copy)]
enum Course {
    Sound,
    /// A command says more than its block holds: what the block holds is decoded, then it is damaged.
    Overrun,
    /// What was decoded before comes out before that is said.
    Failed(Reason),
}

/// A stream on its way.
pub struct Brotli {
    state: Option<Box<State>>,
    memory: Memory,
    grant: Grant,
    owes: bool,
    course: Course,
    worked_nanos: u64,
}

/// Awaits a stream; takes memory when its first byte arrives.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Brotli> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Brotli::new(&pool)))
}

impl Brotli {
    fn new(pool: &Arc<Pool>) -> Self {
        let memory = Memory { pool: Arc::clone(pool), account: Arc::default() };
        Self { state: None, memory, grant: pool.grant(), owes: false, course: Course::Sound, worked_nanos: 0 }
    }

    /// The library's state, made when it is first needed.
    fn begin(&mut self) -> Result<&mut State, Reason> {
        if self.state.is_none() {
            self.grant.grow(STATE_BYTES)?;
            let memory = || self.memory.clone();
            self.state = Some(Box::new(BrotliState::new_strict(memory(), memory(), memory())));
        }
        self.state.as_deref_mut().ok_or(Reason::Damaged)
    }

    /// Ends a run that failed: the library keeps back what it decoded since it last needed input, and when that was depends
    /// on how the input was cut.
    fn fail(&mut self, used: usize, made: usize, output: &mut [u8], reason: Reason) -> Run {
        let Some(state) = self.state.as_deref_mut() else {
            return Run { used, made, outcome: Outcome::Failed(reason) };
        };
        let left = left_of_overrun(state);
        let is_early =
            matches!(state.error_code, BrotliDecoderErrorCode::BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_1);
        state.error_code = BrotliDecoderErrorCode::BROTLI_DECODER_SUCCESS;
        state.meta_block_remaining_len = state.meta_block_remaining_len.max(0);
        match left {
            // It was seen when output was due, with input still missing: on to the end of the block.
            Some(left) if left > 0 && is_early && reason == Reason::Damaged => {
                (state.loop_counter, state.is_last_metablock) = (left, 1);
                let is_input_left = state.buffer_length == 0 && state.pos < state.ringbuffer_size;
                let used = if is_input_left { state.br.next_in as usize } else { used };
                (self.course, self.owes) = (Course::Overrun, true);
                return Run { used, made, outcome: Outcome::Going };
            }
            // What is behind the end of the block is not content.
            Some(left) => state.pos = state.pos.saturating_add(left.min(0)).max(0),
            None => {}
        }
        self.course = Course::Failed(reason);
        match made {
            0 => self.last_output(used, output, reason),
            _ => Run { used, made, outcome: Outcome::Going },
        }
    }

    /// Hands over what was decoded before the failure, then says it.
    fn last_output(&mut self, used: usize, output: &mut [u8], reason: Reason) -> Run {
        let mut made = output.len();
        let bytes = match self.state.as_deref_mut() {
            Some(state) if made > 0 => BrotliDecoderTakeOutput(state, &mut made),
            _ => &[],
        };
        match output.get_mut(..bytes.len()) {
            Some(place) if !bytes.is_empty() => {
                place.copy_from_slice(bytes);
                Run { used, made: bytes.len(), outcome: Outcome::Going }
            }
            _ => Run { used, made: 0, outcome: Outcome::Failed(reason) },
        }
    }
}

/// Where the last command says more than its block holds: the bytes from what is decoded to the end of the block, fewer
/// than none where more is decoded than that.
fn left_of_overrun(state: &State) -> Option<i32> {
    if state.meta_block_remaining_len >= 0 {
        return None;
    }
    // The library counts a command's bytes when it begins them, but for a word of its dictionary, which is written at once.
    let is_all_written = state.distance_code > state.max_distance
        || matches!(state.error_code, BrotliDecoderErrorCode::BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_2);
    let to_come = if is_all_written { 0 } else { state.loop_counter.max(0) };
    Some(to_come.saturating_add(state.meta_block_remaining_len))
}

impl Undo for Brotli {
    const BEHIND: &'static str = "bytes behind the end of a brotli stream";

    fn run(&mut self, input: &[u8], _more: More, output: &mut [u8]) -> Run {
        if let Course::Failed(reason) = self.course {
            return self.last_output(0, output, reason);
        }
        let input = input.get(..RUN_BYTES_MAX).unwrap_or(input);
        let (mut input_left, mut used) = (input.len(), 0);
        let (mut output_left, mut made, mut made_in_all) = (output.len(), 0, 0);
        let state = match self.begin() {
            Ok(state) => state,
            Err(reason) => return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) },
        };
        let result = BrotliDecompressStream(
            &mut input_left,
            &mut used,
            input,
            &mut output_left,
            &mut made,
            output,
            &mut made_in_all,
            state,
        );
        // The library asks for input, too, when what it decoded has no room: where none follows, the rest must still come.
        self.owes = matches!(result, BrotliResult::NeedsMoreOutput) || output_left == 0;
        let account = self.memory.settle();
        self.worked_nanos = account.bytes * MEMORY_NANOS_PER_KIB / 1024;
        let reason = match (account.refused, result, self.course) {
            (Some(reason), ..) => reason,
            (None, BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput, _) => {
                return Run { used, made, outcome: Outcome::Going };
            }
            (None, BrotliResult::ResultSuccess, Course::Sound) => {
                return Run { used, made, outcome: Outcome::Ended };
            }
            (None, ..) => Reason::Damaged,
        };
        self.fail(used, made, output, reason)
    }

    fn owes(&self, _more: More) -> bool {
        self.owes || matches!(self.course, Course::Failed(_))
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }

    fn worked_nanos(&self) -> u64 {
        self.worked_nanos
    }
}

/// Where the library takes its memory from.
#[derive(Clone)]
struct Memory {
    pool: Arc<Pool>,
    account: Arc<Mutex<Account>>,
}

/// What was allocated since it was last asked for.
#[derive(Clone, Copy, Default)]
struct Account {
    bytes: u64,
    refused: Option<Reason>,
}

impl Memory {
    fn settle(&self) -> Account {
        std::mem::take(&mut *self.account.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, bytes: u64, refused: Option<Reason>) {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.bytes += bytes;
        account.refused = account.refused.or(refused);
    }
}

/// A piece of memory and what was granted for it.
struct Cell<T> {
    items: Vec<T>,
    _grant: Option<Grant>,
}

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Self { items: Vec::new(), _grant: None }
    }
}

impl<T> SliceWrapper<T> for Cell<T> {
    fn slice(&self) -> &[T] {
        &self.items
    }
}

impl<T> SliceWrapperMut<T> for Cell<T> {
    fn slice_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: Clone + Default> Allocator<T> for Memory {
    type AllocatedMemory = Cell<T>;

    /// Where the pool gives no more, the window stays empty, which the library takes for an error. It does not look after
    /// its tables, so those are made all the same: a few MiB until the run is over, which then fails.
    fn alloc_cell(&mut self, length: usize) -> Cell<T> {
        let bytes = (length * size_of::<T>()) as u64;
        let mut grant = self.pool.grant();
        let refused = grant.grow(bytes).err();
        self.note(bytes, refused);
        if refused.is_some() && size_of::<T>() == 1 {
            return Cell::default();
        }
        Cell { items: vec![T::default(); length], _grant: Some(grant) }
    }

    fn free_cell(&mut self, cell: Cell<T>) {
        drop(cell);
    }
}

#[cfg(test)]
mod tests;
