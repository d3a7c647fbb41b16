//! `lockgate_error_…`. Rule: reading an error cannot fail; of NULL there is nothing to read.

use crate::error::Error;
use std::ffi::{CStr, c_char};
use std::ptr;

/// # Safety
///
/// As the header asks of `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_error_message(error: *const Error) -> *const c_char {
    // SAFETY: as the header asks.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message().as_ptr())
}

/// # Safety
///
/// As the header asks of `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_error_file(error: *const Error) -> *const c_char {
    // SAFETY: as the header asks.
    unsafe { error.as_ref() }.and_then(Error::file).map_or(ptr::null(), CStr::as_ptr)
}

/// # Safety
///
/// As the header asks of `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_error_line(error: *const Error) -> u32 {
    // SAFETY: as the header asks.
    unsafe { error.as_ref() }.map_or(0, |error| error.line)
}

/// # Safety
///
/// As the header asks of `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_error_column(error: *const Error) -> u32 {
    // SAFETY: as the header asks.
    unsafe { error.as_ref() }.map_or(0, |error| error.column)
}

/// # Safety
///
/// As the header asks of `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_error_free(error: *mut Error) {
    // SAFETY: as the header asks.
    unsafe { super::free(error) };
}
