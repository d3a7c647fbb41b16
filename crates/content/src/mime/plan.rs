//! What a header block makes of the body that follows. Rule: one reading is chosen here, and every doubt is noted.

use super::base64::Base64;
use super::field::{Parameterised, bounded};
use super::header::Fields;
use super::limits::BOUNDARY_BYTES_MAX;
use super::oddity::{Oddities, Oddity};
use super::quoted_printable::QuotedPrintable;
use super::transfer::Transfer;
use super::uuencoded::Uuencoded;
use super::words::decode_words;

/// How a body is read.
#[derive(Debug)]
pub(super) struct Plan {
    pub shape: Shape,
    pub transfer: Transfer,
    /// The media type as the child's entry gives it.
    pub declared: Option<String>,
    /// The file name.
    pub name: Option<String>,
}

/// What a body is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Leaf,
    /// One piece of a message that was sent in several (RFC 2046 section 5.2.2).
    Partial,
    Multipart {
        boundary: Vec<u8>,
        is_digest: bool,
    },
}

/// The media type that says that a child is a message.
const MESSAGE: &str = "message/rfc822";

impl Plan {
    /// Reads the fields. `in_digest` says what a part without a type is.
    pub(super) fn new(fields: &Fields, in_digest: bool, oddities: &mut Oddities) -> Self {
        oddities.add(fields.oddities);
        let declared = fields.media_type.as_ref().map(|media_type| media_type.value.clone());
        let shape = match &fields.media_type {
            Some(media_type) => shape(media_type, oddities),
            None => Shape::Leaf,
        };
        let transfer = fields.encoding.as_deref().map_or(Transfer::Identity, |name| transfer(name, oddities));
        let declared = match declared {
            None if in_digest => Some(MESSAGE.to_owned()),
            // The same with other header fields (RFC 6532); news came before.
            Some(name) if matches!(name.as_str(), "message/global" | "message/news") => {
                Some(MESSAGE.to_owned())
            }
            other => other,
        };
        if !matches!(transfer, Transfer::Identity) {
            match shape {
                Shape::Multipart { .. } => oddities.note(Oddity::EncodingOnMultipart),
                Shape::Leaf if declared.as_deref() == Some(MESSAGE) => {
                    oddities.note(Oddity::EncodingOnMessage)
                }
                _ => {}
            }
        }
        Self { shape, transfer, declared, name: name(fields, oddities) }
    }
}

fn shape(media_type: &Parameterised, oddities: &mut Oddities) -> Shape {
    let value = media_type.value.as_str();
    if value == "message/partial" {
        return Shape::Partial;
    }
    let (main, sub) = value.split_once('/').unwrap_or((value, ""));
    let is_known = matches!(
        main,
        "text" | "application" | "image" | "audio" | "video" | "message" | "font" | "model" | "chemical"
    );
    if is_known || value.is_empty() {
        return Shape::Leaf;
    }
    let boundary = media_type.bytes("boundary", oddities);
    let is_multipart = main == "multipart";
    if !is_multipart && boundary.is_none() {
        return Shape::Leaf;
    }
    if !is_multipart || sub.is_empty() {
        oddities.note(Oddity::TypeBent);
    }
    let Some(mut boundary) = boundary else {
        oddities.note(Oddity::BoundaryMissing);
        return Shape::Leaf;
    };
    if boundary.starts_with(b"=?") {
        oddities.note(Oddity::TypeBent);
        boundary = decode_words(&boundary).into_bytes();
    }
    if boundary.trim_ascii().is_empty() {
        oddities.note(Oddity::BoundaryEmpty);
    }
    if boundary.len() > BOUNDARY_BYTES_MAX {
        oddities.note(Oddity::BoundaryTooLong);
    }
    Shape::Multipart { boundary, is_digest: sub == "digest" }
}

fn transfer(name: &str, oddities: &mut Oddities) -> Transfer {
    match name {
        // Uuencoded bodies carry their own beginning and end, so they are looked for in every text; see `uuencode`.
        "" | "7bit" | "8bit" | "binary" => Transfer::Identity,
        "base64" => Transfer::Base64(Base64::default()),
        "quoted-printable" => Transfer::Quoted(QuotedPrintable::default()),
        "x-uuencode" | "x-uue" | "x-uu" | "uuencode" | "uue" => Transfer::Uuencoded(Uuencoded::default()),
        _ => bent_transfer(name, oddities),
    }
}

/// Names that are nearly right, which some readers take for right.
fn bent_transfer(name: &str, oddities: &mut Oddities) -> Transfer {
    let (base64, quoted) = (name.find("base64"), name.find("quoted"));
    match (base64, quoted) {
        (None, None) => {
            oddities.note(Oddity::EncodingUnknown);
            Transfer::Identity
        }
        (base64, quoted) => {
            oddities.note(Oddity::EncodingBent);
            let is_base64 = base64.is_some_and(|at| quoted.is_none_or(|other| at < other));
            if is_base64 { transfer("base64", oddities) } else { transfer("quoted-printable", oddities) }
        }
    }
}

fn name(fields: &Fields, oddities: &mut Oddities) -> Option<String> {
    let file_name = fields.disposition.as_ref().and_then(|field| field.text("filename", oddities));
    let name = fields.media_type.as_ref().and_then(|field| field.text("name", oddities));
    if let (Some(a), Some(b)) = (&file_name, &name)
        && !extension(a).eq_ignore_ascii_case(extension(b))
    {
        oddities.note(Oddity::NamesDiffer);
    }
    file_name.or(name).map(|name| bounded(name, oddities))
}

fn extension(name: &str) -> &str {
    name.trim_end().rsplit_once('.').map_or("", |(_, extension)| extension)
}
