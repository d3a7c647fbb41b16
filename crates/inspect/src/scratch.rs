//! Buffers for decoded bytes, shared by all transactions of a thread. Rule: a transaction at rest holds none.

use lockgate_content::SCRATCH_BYTES_MIN;
use std::cell::{Cell, RefCell};

/// How long a buffer is: long enough that a step's fixed cost is small, short enough to stay in the processor's cache.
pub const SCRATCH_BYTES: usize = 32 << 10;

/// How many free buffers a thread keeps, and how many of that length may be out: what is in the middle of its work keeps
/// its buffers, so that where a thousand take turns the rest get the shortest that do.
const FREE_MAX: usize = 64;

thread_local! {
    static OUT: Cell<usize> = const { Cell::new(0) };
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer borrowed from the thread; it goes back when it is dropped.
#[derive(Debug)]
pub struct Scratch(Option<Box<[u8]>>);

impl Scratch {
    /// A free buffer, or a new one.
    pub fn take() -> Self {
        OUT.set(OUT.get() + 1);
        if OUT.get() > FREE_MAX {
            return Self(Some(vec![0; SCRATCH_BYTES_MIN].into_boxed_slice()));
        }
        let free = FREE.with_borrow_mut(Vec::pop);
        Self(Some(free.unwrap_or_else(|| vec![0; SCRATCH_BYTES].into_boxed_slice())))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(bytes) = self.0.take() else { return };
        let _ = OUT.try_with(|out| out.set(out.get().saturating_sub(1)));
        if bytes.len() < SCRATCH_BYTES {
            return;
        }
        // A thread that is ending has no list any more; then the buffer is simply freed.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < FREE_MAX {
                free.push(bytes);
            }
        });
    }
}
