//! One read buffer for each thread. Rule: never held across an await, so that a connection at rest needs no buffer.

use std::cell::Cell;

/// How many bytes one read can bring.
pub const SCRATCH_BYTES: usize = 128 << 10;

type Bytes = Option<Box<[u8]>>;

thread_local! {
    static CONTENT: Cell<Bytes> = const { Cell::new(None) };
    static CIPHERTEXT: Cell<Bytes> = const { Cell::new(None) };
}

/// Lends the thread's read buffer; use what was read, or [`unread`](crate::stream::Stream::unread) it, before it ends.
pub fn with_scratch<R>(work: impl FnOnce(&mut [u8]) -> R) -> R {
    CONTENT.with(|cell| lend(cell, work))
}

/// The same for bytes that are still to be decrypted into [`with_scratch`]'s.
pub(crate) fn with_ciphertext<R>(work: impl FnOnce(&mut [u8]) -> R) -> R {
    CIPHERTEXT.with(|cell| lend(cell, work))
}

fn lend<R>(cell: &Cell<Bytes>, work: impl FnOnce(&mut [u8]) -> R) -> R {
    // Taken out meanwhile: a loan within a loan gets a buffer of its own instead of a panic.
    let mut bytes = cell.take().unwrap_or_else(|| vec![0; SCRATCH_BYTES].into_boxed_slice());
    let result = work(&mut bytes);
    cell.set(Some(bytes));
    result
}
