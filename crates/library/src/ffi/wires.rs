//! `lockgate_wire_…`. Rule: what is told of a packet is valid until the next one.

use super::{AlertOut, FAILED, guarded, quietly, reached, slice, told};
use crate::builder::Shared;
use crate::error::Error;
use crate::wire::Wire;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_open(
    database: *const Shared,
    link_type: u32,
    error: *mut *mut Error,
) -> *mut Wire {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let shared = database.as_ref().ok_or_else(|| Error::new("the database is NULL"))?;
            Ok(Box::into_raw(Box::new(Wire::open(shared, link_type)?)))
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_packet(
    wire: *mut Wire,
    time: u64,
    bytes: *const c_void,
    length: usize,
    error: *mut *mut Error,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        guarded(
            error,
            FAILED,
            || Ok(reached(wire, "the wire")?.packet(time, slice(bytes, length)?)? as c_int),
        )
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_alert(wire: *mut Wire, index: usize, alert: *mut AlertOut) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        let Some(wire) = wire.as_mut() else { return 0 };
        quietly(0, || told(wire.alert(index), alert))
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_events(wire: *mut Wire, length: *mut usize) -> *const c_char {
    // SAFETY: as the header asks.
    let events = unsafe { wire.as_ref() }.map_or([].as_slice(), Wire::events);
    if !length.is_null() {
        // SAFETY: as the header asks; not NULL.
        unsafe { length.write(events.len()) };
    }
    events.as_ptr().cast()
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_end(wire: *mut Wire, error: *mut *mut Error) -> c_int {
    // SAFETY: as the header asks.
    unsafe { guarded(error, FAILED, || Ok(reached(wire, "the wire")?.end()? as c_int)) }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_wire_free(wire: *mut Wire) {
    // SAFETY: as the header asks.
    unsafe { super::free(wire) };
}
