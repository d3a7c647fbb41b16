//! Which decoder reads which type: [`open`]. Rule: a container that no decoder reads is an error, never nothing.

use crate::archive::ar::ArDecoder;
use crate::archive::arj::ArjDecoder;
use crate::archive::cab::CabDecoder;
use crate::archive::carrier::CarrierDecoder;
use crate::archive::chm::Chm;
use crate::archive::cpio::CpioDecoder;
use crate::archive::disguise::Guise;
use crate::archive::lha::LhaDecoder;
use crate::archive::rar::RarDecoder;
use crate::archive::rpm::RpmDecoder;
use crate::archive::sevenz;
use crate::archive::tar::TarDecoder;
use crate::archive::zip::ZipDecoder;
use crate::codec::bzip2::Bzip2Decoder;
use crate::codec::gzip::GzipDecoder;
use crate::codec::{lzip, lzma, lzw, szdd, xz, zstd};
use crate::decoder::{Decoder, Means};
use crate::document::ole2::Ole2;
use crate::document::{Exposed, html, onenote, pdf, rtf, tnef};
use crate::held::HeldDecoder;
use crate::mime::{EmbeddedDecoder, MboxDecoder, MimeDecoder};
use lockgate_model::filetype::Kind;
use lockgate_model::{FileType, Reason};

/// A decoder for a part of this type; `None` for what holds no other parts.
///
/// # Errors
///
/// [`Reason::Unsupported`] for a container that there is no decoder for.
pub fn open(file_type: FileType, means: &Means) -> Result<Option<Box<dyn Decoder>>, Reason> {
    Ok(Some(match file_type {
        FileType::Mail => Box::new(MimeDecoder::new(&means.pool)),
        // Old mailers, and people, put files into the text itself; and what looks like nothing in particular may be a script.
        FileType::Text => Box::new(Exposed::telling(&means.pool, EmbeddedDecoder::new())),
        FileType::Mbox => Box::new(MboxDecoder::new()),
        FileType::Gzip => Box::new(GzipDecoder::new()),
        FileType::Bzip2 => Box::new(Bzip2Decoder::new(&means.pool)),
        FileType::Zstd => Box::new(zstd::decoder(&means.pool)),
        FileType::Compress => Box::new(lzw::decoder(&means.pool)),
        FileType::Xz => Box::new(xz::decoder(&means.pool)),
        FileType::Lzma => Box::new(lzma::decoder(&means.pool)),
        FileType::Lzip => Box::new(lzip::decoder(&means.pool)),
        FileType::SevenZip => Box::new(sevenz::decoder(&means.pool)),
        FileType::Cpio => Box::new(CpioDecoder::new()),
        FileType::Ar => Box::new(ArDecoder::new(&means.pool)),
        FileType::Rpm => Box::new(RpmDecoder::new()),
        FileType::Zip => Box::new(ZipDecoder::new(&means.pool)),
        FileType::Lha => Box::new(LhaDecoder::new(&means.pool)),
        FileType::Arj => Box::new(ArjDecoder::new(&means.pool)),
        FileType::Cab => Box::new(CabDecoder::new(&means.pool)),
        FileType::Chm => Box::new(HeldDecoder::new(&means.pool, Chm::new(&means.pool))),
        FileType::Szdd => Box::new(szdd::decoder(&means.pool)),
        FileType::Rar => Box::new(RarDecoder::new(&means.pool)),
        FileType::Tar => Box::new(TarDecoder::new()),
        FileType::Ole2 => {
            Box::new(Exposed::new(&means.pool, HeldDecoder::new(&means.pool, Ole2::new(&means.pool))))
        }
        FileType::Pdf => {
            let pdf = Exposed::carrying(&means.pool, Guise::Document, pdf::decoder());
            Box::new(Exposed::mailing(&means.pool, pdf))
        }
        FileType::OneNote => Box::new(Exposed::new(&means.pool, onenote::decoder())),
        FileType::Tnef => Box::new(tnef::decoder()),
        FileType::Html => Box::new(html::decoder()),
        FileType::Script => Box::new(Exposed::carrying(&means.pool, Guise::Script, html::decoder())),
        FileType::Rtf => Box::new(Exposed::carrying(&means.pool, Guise::Document, rtf::decoder())),
        other if other.kind() == Kind::Container => return Err(Reason::Unsupported),
        // What begins like something else may still be found to be a container, by readers that look elsewhere.
        other if matches!(other.kind(), Kind::Data | Kind::Media | Kind::Document) => {
            Box::new(CarrierDecoder::new(&means.pool, Guise::Content))
        }
        other if other.kind() == Kind::Program => Box::new(CarrierDecoder::new(&means.pool, Guise::Program)),
        _ => return Ok(None),
    }))
}

/// A decoder for the content of a request that is a form by its `Content-Type`, whose first bytes look like this type.
///
/// # Errors
///
/// [`Reason::Unsupported`] where they say that it is a container: a server that takes no notice of the type would have one.
pub fn open_form(
    content_types: &[Vec<u8>],
    seems: FileType,
    means: &Means,
) -> Result<Box<dyn Decoder>, Reason> {
    if seems.kind() == Kind::Container && seems != FileType::Mail {
        return Err(Reason::Unsupported);
    }
    Ok(Box::new(MimeDecoder::of_form(content_types, &means.pool)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_model::Pool;

    #[test]
    fn no_container_is_passed_over() {
        let means = Means { pool: Pool::new(1 << 20) };
        for file_type in FileType::ALL {
            let is_unread = matches!(open(*file_type, &means), Ok(None));
            assert!(!is_unread || file_type.kind() != Kind::Container, "{}", file_type.name());
        }
        assert!(matches!(open(FileType::Ace, &means), Err(Reason::Unsupported)));
    }
}
