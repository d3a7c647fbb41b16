//! Hyperscan or vectorscan in streaming mode, as the system's library has it. Rule: opened at run time, so that the bench
//! builds without it; unsafe code stands here only.
//!
//! The functions are those of hs_compile.h and hs_runtime.h of version 5.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::io;
use std::ptr::{null, null_mut};

const STREAMING: c_uint = 2;
const SINGLE_MATCH: c_uint = 8;
const NAMES: [&CStr; 2] = [c"libhs.so.5", c"libhs.so"];

type CompileLiterals = unsafe extern "C" fn(
    *const *const c_char,
    *const c_uint,
    *const c_uint,
    *const usize,
    c_uint,
    c_uint,
    *const c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;
type OnMatch = extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, *mut c_void) -> c_int;
type AllocateScratch = unsafe extern "C" fn(*const c_void, *mut *mut c_void) -> c_int;
type OpenStream = unsafe extern "C" fn(*const c_void, c_uint, *mut *mut c_void) -> c_int;
type ScanStream = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    c_uint,
    c_uint,
    *mut c_void,
    OnMatch,
    *mut c_void,
) -> c_int;
type CloseStream = unsafe extern "C" fn(*mut c_void, *mut c_void, OnMatch, *mut c_void) -> c_int;

/// What an engine tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Each match.
    All,
    /// The first match of each literal in a stream, as a scanner asks of most of what it searches for.
    Once,
}

/// A compiled database with its scratch space. Neither is freed: the bench ends soon.
pub struct Hyperscan {
    database: *mut c_void,
    scratch: *mut c_void,
    open: OpenStream,
    scan: ScanStream,
    close: CloseStream,
}

impl Hyperscan {
    /// Compiles literals, to be told of each match or once for each stream.
    ///
    /// # Errors
    ///
    /// Where the library is not there or refuses them.
    pub fn new(literals: &[Vec<u8>], told: Told) -> io::Result<Self> {
        // SAFETY: the library's own functions by their names, with the types that its headers give them.
        let (compile, allocate, open, scan, close) = unsafe {
            let library = open_library()?;
            (
                std::mem::transmute::<*mut c_void, CompileLiterals>(function(
                    library,
                    c"hs_compile_lit_multi",
                )?),
                std::mem::transmute::<*mut c_void, AllocateScratch>(function(library, c"hs_alloc_scratch")?),
                std::mem::transmute::<*mut c_void, OpenStream>(function(library, c"hs_open_stream")?),
                std::mem::transmute::<*mut c_void, ScanStream>(function(library, c"hs_scan_stream")?),
                std::mem::transmute::<*mut c_void, CloseStream>(function(library, c"hs_close_stream")?),
            )
        };
        let count = literals.len() as c_uint;
        let texts: Vec<*const c_char> = literals.iter().map(|literal| literal.as_ptr().cast()).collect();
        let lengths: Vec<usize> = literals.iter().map(Vec::len).collect();
        let flag = if told == Told::Once { SINGLE_MATCH } else { 0 };
        let (flags, ids) = (vec![flag; literals.len()], (0..count).collect::<Vec<c_uint>>());
        let (mut database, mut error, mut scratch) = (null_mut(), null_mut(), null_mut());
        // SAFETY: each array has `count` entries, and each text as many bytes as its length says.
        let compiled = unsafe {
            compile(
                texts.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                lengths.as_ptr(),
                count,
                STREAMING,
                null(),
                &mut database,
                &mut error,
            )
        };
        // SAFETY: the database has just been made.
        if compiled != 0 || unsafe { allocate(database, &mut scratch) } != 0 {
            return Err(io::Error::other("the literals are not compiled"));
        }
        Ok(Self { database, scratch, open, scan, close })
    }

    /// Scans streams in chunks and counts the matches; `None` where the library gives up.
    pub fn scan(&self, streams: &[Vec<u8>], chunk_bytes: usize) -> Option<usize> {
        let mut matches = 0_usize;
        let count: *mut c_void = (&raw mut matches).cast();
        let mut failed = 0;
        for content in streams {
            let mut stream = null_mut();
            // SAFETY: the database and the scratch space live as long as `self`, the chunks as long as each call, and `matches`
            // until the stream is closed; the callback is given its address and nothing else.
            unsafe {
                failed |= (self.open)(self.database, 0, &mut stream);
                for chunk in content.chunks(chunk_bytes) {
                    let length = chunk.len() as c_uint;
                    failed |=
                        (self.scan)(stream, chunk.as_ptr().cast(), length, 0, self.scratch, on_match, count);
                }
                failed |= (self.close)(stream, self.scratch, on_match, count);
            }
        }
        (failed == 0).then_some(matches)
    }
}

extern "C" fn on_match(_: c_uint, _: c_ulonglong, _: c_ulonglong, _: c_uint, count: *mut c_void) -> c_int {
    // SAFETY: `scan` gives the address of its counter.
    unsafe { *count.cast::<usize>() += 1 };
    0
}

fn open_library() -> io::Result<*mut c_void> {
    // SAFETY: the names are C strings.
    let open = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    let library = NAMES.iter().map(open).find(|library| !library.is_null());
    library.ok_or_else(|| io::Error::other("libhs is not installed"))
}

unsafe fn function(library: *mut c_void, name: &CStr) -> io::Result<*mut c_void> {
    // SAFETY: the library is open, and the name a C string.
    let function = unsafe { libc::dlsym(library, name.as_ptr()) };
    if function.is_null() { Err(io::Error::other("libhs lacks a function")) } else { Ok(function) }
}
