//! The import table of a Windows program as the text that `.imp` signatures hash. Rule: bounded by what is held.
//!
//! Each imported function is `library.function` in lower case, without the library's ending, parted by commas; functions
//! imported by number have their name where it is known, else `ordN`. This is the "imphash" that Mandiant describes in "Tracking Malware with Import Hashing".

use super::ordinals::imported;
use super::{Bits, Program, little};

/// How many libraries, and functions of each, are read.
const IMPORTS_MAX: usize = 1024;
/// How long a name may be.
const NAME_BYTES_MAX: usize = 256;
/// How long the text may become.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// `None` where there is no table, or none that can be read.
pub(crate) fn import_text(program: &Program, whole: &[u8]) -> Option<Vec<u8>> {
    let windows = program.windows.as_ref()?;
    let (address, bytes) = windows.imports;
    let table = program.offset_of(address).filter(|_| address != 0 && bytes != 0)?;
    if table.checked_add(bytes)? > whole.len() as u64 {
        return None;
    }
    let mut text = Vec::new();
    // ClamAV takes the last descriptor for the one that ends the table.
    let libraries = (bytes.saturating_sub(1) / 20).min(IMPORTS_MAX as u64);
    for row in (0..libraries).map(|row| table + row * 20) {
        let name = little::<4>(whole, row + 12)?;
        if name == 0 {
            break;
        }
        let library = name_at(whole, program.offset_of(name)?)?;
        let thunks = [0, 16].into_iter().find_map(|field| {
            let address = little::<4>(whole, row + field).filter(|address| *address != 0)?;
            program.offset_of(address)
        })?;
        functions(program, whole, &library, thunks, windows.bits, &mut text)?;
    }
    Some(text)
}

/// A library's name without its ending.
fn stem(library: &[u8]) -> &[u8] {
    let Some(dot) = library.iter().position(|byte| *byte == b'.') else { return library };
    let ending = library.get(dot..dot + 4).unwrap_or_default();
    let is_known = [b".dll", b".ocx", b".sys"].iter().any(|known| ending.eq_ignore_ascii_case(*known));
    if is_known { &library[..dot] } else { library }
}

fn functions(
    program: &Program,
    whole: &[u8],
    library: &[u8],
    thunks: u64,
    bits: Bits,
    text: &mut Vec<u8>,
) -> Option<()> {
    let (step, by_number) = if bits == Bits::B32 { (4, 1 << 31) } else { (8, 1 << 63) };
    for at in (0..IMPORTS_MAX as u64).map(|row| thunks + row * step) {
        let thunk = match bits {
            Bits::B32 => little::<4>(whole, at),
            Bits::B64 => little::<8>(whole, at),
        };
        let Some(thunk) = thunk.filter(|thunk| *thunk != 0) else { break };
        let function = match thunk & by_number {
            0 => match program.offset_of(thunk).and_then(|at| name_at(whole, at + 2)) {
                Some(name) => name,
                None => continue,
            },
            _ => imported(library, thunk as u16).into_bytes(),
        };
        if !function.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')) {
            return None;
        }
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend(stem(library).iter().map(u8::to_ascii_lowercase));
        text.push(b'.');
        text.extend(function.iter().map(u8::to_ascii_lowercase));
    }
    Some(())
}

fn name_at(whole: &[u8], at: u64) -> Option<Vec<u8>> {
    let rest = whole.get(usize::try_from(at).ok()?..)?;
    let rest = rest.get(..NAME_BYTES_MAX).unwrap_or(rest);
    let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    Some(rest[..length].to_vec())
}
