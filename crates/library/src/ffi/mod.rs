//! The boundary to C: what the header declares. Rule: a pointer is checked for NULL and turned into a reference or a value in the
//! first lines of a function; no panic leaves one.
//!
//! What is unsafe here rests on what the header asks of its caller, and on that alone: a pointer is NULL or one that this library
//! has made and that has not been freed; bytes are as many as are said; text ends with NUL; and nothing but a database is used by
//! two threads at a time. `SAFETY: as the header asks` stands for that.

mod errors;
mod flows;
mod inspections;
mod rules;
mod wires;

use crate::alert::{Alert, Verdict};
use crate::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `LOCKGATE_FAILED`.
const FAILED: c_int = Verdict::Failed as c_int;
const OK: c_int = 0;

/// `lockgate_alert`, field by field.
#[repr(C)]
pub struct AlertOut {
    gid: u32,
    sid: u32,
    rev: u32,
    severity: u32,
    verdict: c_int,
    message: *const c_char,
    category: *const c_char,
    engine: *const c_char,
    rule: *const c_char,
    buffer: *const c_char,
    part: *const c_char,
    offset: i64,
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The number of its ABI.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_abi_version() -> u32 {
    env!("LOCKGATE_ABI_VERSION").parse().unwrap_or(u32::MAX)
}

/// Does what a function is for; what goes wrong, a panic too, is put where the caller wants it.
///
/// # Safety
///
/// `error` is NULL or where a pointer may be written.
unsafe fn guarded<T>(error: *mut *mut Error, failed: T, work: impl FnOnce() -> Result<T, Error>) -> T {
    // What a panic leaves behind is only ever freed: the error says so.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    match outcome.unwrap_or_else(|panic| Err(Error::of_panic(&*panic))) {
        Ok(value) => value,
        Err(wrong) => {
            if !error.is_null() {
                // SAFETY: as the header asks.
                unsafe { error.write(Box::into_raw(Box::new(wrong))) };
            }
            failed
        }
    }
}

/// The same where nobody can be told what goes wrong.
fn quietly<T>(failed: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(failed)
}

/// Frees what was given out by `Box::into_raw`.
///
/// # Safety
///
/// `pointer` is NULL, or was given out so and not freed.
unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as the header asks; it came from a box.
        quietly((), || drop(unsafe { Box::from_raw(pointer) }));
    }
}

/// # Safety
///
/// `pointer` is NULL, or was given out by this library and not freed, and no other thread uses it.
unsafe fn reached<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Error> {
    // SAFETY: as the header asks.
    unsafe { pointer.as_mut() }.ok_or_else(|| Error::new(format!("{what} is NULL")))
}

/// # Safety
///
/// `bytes` is NULL, or has so many bytes for as long as the reference is used.
unsafe fn slice<'a>(bytes: *const c_void, length: usize) -> Result<&'a [u8], Error> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() || isize::try_from(length).is_err() {
        return Err(Error::new("bytes are NULL, or more than there can be"));
    }
    // SAFETY: as the header asks; not NULL, and no longer than an object may be.
    Ok(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) })
}

/// # Safety
///
/// `text` is NULL, or ends with NUL and stays for as long as the reference is used.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Error> {
    // SAFETY: as the header asks.
    unsafe { optional(text, what) }?.ok_or_else(|| Error::new(format!("{what} is NULL")))
}

/// # Safety
///
/// As for [`text`].
unsafe fn optional<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the header asks; not NULL.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::new(format!("{what} is not UTF-8")))
}

/// Writes a finding where the caller wants it; says whether there was one.
///
/// # Safety
///
/// `out` is NULL or where a `lockgate_alert` may be written.
unsafe fn told(alert: Option<&Alert>, out: *mut AlertOut) -> c_int {
    let Some(alert) = alert.filter(|_| !out.is_null()) else { return 0 };
    let told = AlertOut {
        gid: alert.gid,
        sid: alert.sid,
        rev: alert.rev,
        severity: alert.severity,
        verdict: alert.verdict as c_int,
        message: alert.message.as_ptr(),
        category: alert.category.as_ptr(),
        engine: alert.engine.as_ptr(),
        rule: alert.rule.as_ptr(),
        buffer: alert.buffer.as_ptr(),
        part: alert.part.as_ptr(),
        offset: alert.offset,
    };
    // SAFETY: as the header asks; not NULL.
    unsafe { out.write(told) };
    1
}
