//! The program's allocator: [`Allocator`], two in one. Rule: a piece's length alone says which of them has it.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};

/// From so many bytes on a piece is the system's: it grows without being copied, and is given back when it is freed. What is
/// held of a program or an archive, and the tables of a database, are such pieces.
const LARGE_BYTES_MIN: usize = 1 << 20;

/// Small pieces come from free lists that are each thread's own: a page costs about a hundred of them, most of them
/// short-lived.
pub struct Allocator;

/// Which one has a piece of that length.
enum Owner {
    Small,
    Large,
}

fn owner(bytes: usize) -> Owner {
    if bytes < LARGE_BYTES_MIN { Owner::Small } else { Owner::Large }
}

// SAFETY: each call is passed on, as it came, to one of two allocators, and what is said of a piece later goes to the one that
// gave it: its length decides, and the caller gives the same length with which it was had.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for.
        unsafe {
            match owner(layout.size()) {
                Owner::Small => MiMalloc.alloc(layout),
                Owner::Large => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for.
        unsafe {
            match owner(layout.size()) {
                Owner::Small => MiMalloc.alloc_zeroed(layout),
                Owner::Large => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that are asked for.
        unsafe {
            match owner(layout.size()) {
                Owner::Small => MiMalloc.dealloc(piece, layout),
                Owner::Large => System.dealloc(piece, layout),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for; where the piece changes its owner, both lengths are
        // within the pieces that they are of.
        unsafe {
            match (owner(layout.size()), owner(new_bytes)) {
                (Owner::Small, Owner::Small) => MiMalloc.realloc(piece, layout, new_bytes),
                (Owner::Large, Owner::Large) => System.realloc(piece, layout, new_bytes),
                (Owner::Small, Owner::Large) | (Owner::Large, Owner::Small) => {
                    let moved = self.alloc(Layout::from_size_align_unchecked(new_bytes, layout.align()));
                    if !moved.is_null() {
                        piece.copy_to_nonoverlapping(moved, layout.size().min(new_bytes));
                        self.dealloc(piece, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_keeps_its_bytes_whichever_way_it_grows_and_shrinks() {
        let lengths = [1, 100, LARGE_BYTES_MIN - 1, LARGE_BYTES_MIN, 3 * LARGE_BYTES_MIN];
        for (from, to) in lengths.iter().flat_map(|from| lengths.map(|to| (*from, to))) {
            for align in [1, 64, 4096] {
                let layout = |bytes| Layout::from_size_align(bytes, align).unwrap();
                // SAFETY: each piece is had, grown and freed by the length and alignment that it has then.
                unsafe {
                    let piece = Allocator.alloc_zeroed(layout(from));
                    assert!(!piece.is_null() && piece.addr() % align == 0);
                    assert!(std::slice::from_raw_parts(piece, from).iter().all(|byte| *byte == 0));
                    piece.write(7);
                    piece.add(from - 1).write(7);
                    let grown = Allocator.realloc(piece, layout(from), to);
                    assert!(!grown.is_null() && grown.addr() % align == 0);
                    assert_eq!(grown.read(), 7);
                    if to >= from {
                        assert_eq!(grown.add(from - 1).read(), 7);
                    }
                    Allocator.dealloc(grown, layout(to));
                }
            }
        }
    }
}
