//! `lockgate_flow_…`, and what begins an inspection on a flow. Rule: numbers out of C are checked before they are an enum's.

use super::{guarded, optional, reached, slice, text};
use crate::builder::Shared;
use crate::error::Error;
use crate::flow::{Envelope, Flow, address};
use crate::inspection::Inspection;
use lockgate_inspect::Root;
use lockgate_model::{Direction, Protocol};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

fn protocol(number: c_int) -> Result<Protocol, Error> {
    Ok(match number {
        0 => Protocol::Unknown,
        1 => Protocol::Http,
        2 => Protocol::Smtp,
        3 => Protocol::Pop3,
        4 => Protocol::Ftp,
        5 => Protocol::FtpData,
        6 => Protocol::Dns,
        7 => Protocol::Tls,
        8 => Protocol::File,
        other => return Err(Error::new(format!("{other} is no lockgate_protocol"))),
    })
}

fn direction(number: c_int) -> Result<Direction, Error> {
    match number {
        0 => Ok(Direction::ToServer),
        1 => Ok(Direction::ToClient),
        other => Err(Error::new(format!("{other} is no lockgate_direction"))),
    }
}

fn given(inspection: Inspection) -> *mut Inspection {
    Box::into_raw(Box::new(inspection))
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_flow_open(
    database: *const Shared,
    spoken: c_int,
    client: *const c_char,
    client_port: u16,
    server: *const c_char,
    server_port: u16,
    error: *mut *mut Error,
) -> *mut Flow {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let shared = database.as_ref().ok_or_else(|| Error::new("the database is NULL"))?;
            let client = address(text(client, "the client")?, client_port)?;
            let server = address(text(server, "the server")?, server_port)?;
            Ok(Box::into_raw(Box::new(Flow::open(shared, protocol(spoken)?, client, server))))
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_flow_close(flow: *mut Flow) {
    // SAFETY: as the header asks.
    unsafe { super::free(flow) };
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_request(
    flow: *mut Flow,
    line: *const c_void,
    line_length: usize,
    header: *const c_void,
    header_length: usize,
    error: *mut *mut Error,
) -> *mut Inspection {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let (line, header) = (slice(line, line_length)?, slice(header, header_length)?);
            reached(flow, "the flow")?.http(Direction::ToServer, line, header).map(given)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_response(
    flow: *mut Flow,
    line: *const c_void,
    line_length: usize,
    header: *const c_void,
    header_length: usize,
    error: *mut *mut Error,
) -> *mut Inspection {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let (line, header) = (slice(line, line_length)?, slice(header, header_length)?);
            reached(flow, "the flow")?.http(Direction::ToClient, line, header).map(given)
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_mail(
    flow: *mut Flow,
    way: c_int,
    sender: *const c_char,
    recipients: *const *const c_char,
    recipient_count: usize,
    error: *mut *mut Error,
) -> *mut Inspection {
    // SAFETY: as the header asks; there are so many pointers to recipients.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let sender = optional(sender, "the sender")?.map(str::to_owned);
            let mut envelope = Envelope { sender, ..Envelope::default() };
            for at in 0..recipient_count {
                if recipients.is_null() {
                    return Err(Error::new("the recipients are NULL"));
                }
                envelope.recipients.push(text(*recipients.add(at), "a recipient")?.to_owned());
            }
            Ok(given(reached(flow, "the flow")?.begin(direction(way)?, Root::Mail, envelope)))
        })
    }
}

/// # Safety
///
/// As the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lockgate_file(
    flow: *mut Flow,
    way: c_int,
    name: *const c_char,
    error: *mut *mut Error,
) -> *mut Inspection {
    // SAFETY: as the header asks.
    unsafe {
        guarded(error, ptr::null_mut(), || {
            let name = optional(name, "the name")?.map(str::to_owned);
            let envelope = Envelope { name, ..Envelope::default() };
            Ok(given(reached(flow, "the flow")?.begin(direction(way)?, Root::File, envelope)))
        })
    }
}
