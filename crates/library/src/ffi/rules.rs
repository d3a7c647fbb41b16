//! `lockgate_builder_…` and `lockgate_database_…`. Rule: a builder is spent by building, whatever comes of it.

use super::{FAILED, OK, guarded, quietly, reached, slice, text};
use crate::builder::{Builder, Shared, read};
use crate::error::Error;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// Empty; NULL only where the library is at fault.
#[unsafe(no_mangle)]
pub extern "C" fn lockgate_builder_new() -> *mut Builder {
    quietly(ptr::null_mut(), || Box::into_raw(Box::default()))
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_set(
    builder: *mut Builder,
    name: *const c_char,
    list: *const c_char,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let builder = reached(builder, "the builder")?;
            builder.set(text(name, "the name")?, text(list, "the list")?)?;
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_add_rules(
    builder: *mut Builder,
    name: *const c_char,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let builder = reached(builder, "the builder")?;
            builder.add_rules(text(name, "the name")?, slice(bytes, length)?.to_vec());
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_add_rules_file(
    builder: *mut Builder,
    path: *const c_char,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let (builder, path) = (reached(builder, "the builder")?, text(path, "the path")?);
            builder.add_rules(path, read(path)?);
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_add_signatures(
    builder: *mut Builder,
    name: *const c_char,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let builder = reached(builder, "the builder")?;
            builder.add_signatures(text(name, "the name")?, slice(bytes, length)?.to_vec());
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_add_signatures_file(
    builder: *mut Builder,
    path: *const c_char,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let (builder, path) = (reached(builder, "the builder")?, text(path, "the path")?);
            builder.add_signatures(path, read(path)?);
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_limit(
    builder: *mut Builder,
    name: *const c_char,
    value: u64,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            reached(builder, "the builder")?.limit(text(name, "the name")?, value)?;
            Ok(OK)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_build(
    builder: *mut Builder,
    error: *mut *mut Error,
) -> *mut Shared {
    // SAFETY: as the header asks; a builder came from a box, and is the caller's no more.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            reached(builder, "the builder")?;
            let shared = Box::from_raw(builder).build()?;
            Ok(Box::into_raw(Box::new(shared)))
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_builder_free(builder: *mut Builder) {
    // SAFETY: as the header asks.
    unsafe { super::free(builder) };
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_database_rules(database: *const Shared) -> u64 {
    // SAFETY: as the header asks.
    unsafe { database.as_ref() }.map_or(0, |shared| shared.in_use)
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_database_failure(database: *const Shared, index: usize) -> *const Error {
    // SAFETY: as the header asks.
    let shared = unsafe { database.as_ref() };
    shared.and_then(|shared| shared.failures.get(index)).map_or(ptr::null(), ptr::from_ref)
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_database_free(database: *mut Shared) {
    // SAFETY: as the header asks.
    unsafe { super::free(database) };
}
