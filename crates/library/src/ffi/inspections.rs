//! What is done with an inspection. Rule: each call returns with the verdict so far.

use super::{AlertOut, FAILED, guarded, quietly, reached, slice, text, told};
use crate::error::Error;
use crate::inspection::Inspection;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_buffer(
    inspection: *mut Inspection,
    name: *const c_char,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            let inspection = reached(inspection, "the inspection")?;
            let verdict = inspection.buffer(text(name, "the name")?, slice(bytes, length)?)?;
            Ok(verdict as c_int)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_push(
    inspection: *mut Inspection,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, FAILED, || {
            Ok(reached(inspection, "the inspection")?.push(slice(bytes, length)?)? as c_int)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_finish(inspection: *mut Inspection, error: *mut *mut Error) -> c_int {
    // SAFETY: as the header asks.
    unsafe { guarded(error, FAILED, || Ok(reached(inspection, "the inspection")?.finish()? as c_int)) }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_inspection_verdict(inspection: *const Inspection) -> c_int {
    // SAFETY: as the header asks.
    unsafe { inspection.as_ref() }.map_or(FAILED, |inspection| inspection.verdict() as c_int)
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_inspection_alert(
    inspection: *mut Inspection,
    index: usize,
    alert: *mut AlertOut,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        let Some(inspection) = inspection.as_mut() else { return 0 };
        quietly(0, || told(inspection.alert(index), alert))
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_inspection_incomplete(
    inspection: *mut Inspection,
    index: usize,
) -> *const c_char {
    // SAFETY: as the header asks.
    let Some(inspection) = (unsafe { inspection.as_mut() }) else { return ptr::null() };
    quietly(ptr::null(), || inspection.incomplete(index).map_or(ptr::null(), CStr::as_ptr))
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_inspection_free(inspection: *mut Inspection) {
    // SAFETY: as the header asks.
    unsafe { super::free(inspection) };
}
