//! Which decoder reads which type: [`open`]. Rule: a container that no decoder reads is an error, never nothing.

use crate::archive::tar::TarDecoder;
use crate::archive::zip::ZipDecoder;
use crate::codec::gzip::GzipDecoder;
use crate::decoder::{Decoder, Means};
use crate::mime::MimeDecoder;
use lockgate_model::filetype::Kind;
use lockgate_model::{FileType, Reason};

/// A decoder for a part of this type; `None` for what holds no other parts.
///
/// # Errors
///
/// [`Reason::Unsupported`] for a container that there is no decoder for.
pub fn open(file_type: FileType, _means: &Means) -> Result<Option<Box<dyn Decoder>>, Reason> {
    Ok(Some(match file_type {
        FileType::Mail => Box::new(MimeDecoder::new()),
        FileType::Gzip => Box::new(GzipDecoder::new()),
        FileType::Zip => Box::new(ZipDecoder::new()),
        FileType::Tar => Box::new(TarDecoder::new()),
        other if other.kind() == Kind::Container => return Err(Reason::Unsupported),
        _ => return Ok(None),
    }))
}
