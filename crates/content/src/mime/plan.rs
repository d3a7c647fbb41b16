//! What a header block makes of the body that follows. Rule: one reading is chosen here, and every doubt is noted.

use super::base64::Base64;
use super::field::{Parameterised, bounded};
use super::header::Fields;
use super::limits::{BOUNDARIES_MAX, BOUNDARY_BYTES_MAX, FIELDS_MAX};
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
    /// The name of a form's field (RFC 7578 section 4.2).
    pub field: Option<String>,
}

/// What a body is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Leaf,
    /// One piece of a message that was sent in several (RFC 2046 section 5.2.2).
    Partial,
    /// Divided by one of these boundaries. By none: a leaf, unless a boundary is found in it.
    Multipart {
        boundaries: Vec<Vec<u8>>,
        is_digest: bool,
    },
}

/// The media type that says that a child is a message.
const MESSAGE: &str = "message/rfc822";

impl Plan {
    /// Reads the fields. `in_digest` says what a part without a type is.
    pub(super) fn new(fields: &Fields, in_digest: bool, oddities: &mut Oddities) -> Self {
        oddities.add(fields.oddities);
        let declared = fields.media_types.first().map(|media_type| media_type.value.clone());
        let shapes = fields.media_types.iter().map(|media_type| shape(media_type, oddities));
        // The first type is gone by, unless it is one without parts and another has some: the text that such a body
        // is to other readers is given as its preamble.
        let shape = shapes.reduce(Shape::or).unwrap_or(Shape::Leaf);
        let transfer = transfer(&fields.encodings, oddities);
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
        Self { shape, transfer, declared, name: name(fields, oddities), field: field(fields, oddities) }
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
    let mut boundaries = media_type.all("boundary", oddities);
    let is_multipart = main == "multipart";
    if !is_multipart && boundaries.is_empty() {
        return Shape::Leaf;
    }
    if !is_multipart || sub.is_empty() {
        oddities.note(Oddity::TypeBent);
    }
    for boundary in &mut boundaries {
        if boundary.starts_with(b"=?") {
            oddities.note(Oddity::TypeBent);
            *boundary = decode_words(boundary).into_bytes();
        }
        // None can be in a line; an encoded value may hold them.
        boundary.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        if boundary.trim_ascii().is_empty() {
            oddities.note(Oddity::BoundaryEmpty);
        }
        if boundary.len() > BOUNDARY_BYTES_MAX {
            oddities.note(Oddity::BoundaryTooLong);
        }
    }
    if boundaries.is_empty() {
        oddities.note(Oddity::BoundaryMissing);
    }
    boundaries.truncate(FIELDS_MAX);
    Shape::Multipart { boundaries, is_digest: sub == "digest" }
}

impl Shape {
    /// One of two that the same header gives.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Leaf, other) => other,
            (Self::Multipart { mut boundaries, is_digest }, Self::Multipart { boundaries: others, .. }) => {
                for boundary in others {
                    if boundaries.len() < BOUNDARIES_MAX && !boundaries.contains(&boundary) {
                        boundaries.push(boundary);
                    }
                }
                Self::Multipart { boundaries, is_digest }
            }
            (shape, _) => shape,
        }
    }
}

/// The first encoding that is known, else the first that can be guessed.
fn transfer(names: &[String], oddities: &mut Oddities) -> Transfer {
    if names.is_empty() {
        return Transfer::Identity;
    }
    let says = |encoding: &str| names.iter().any(|name| name.contains(encoding));
    if says("base64") && says("quoted") {
        oddities.note(Oddity::EncodingBent);
        return Transfer::Either;
    }
    if let Some(transfer) = names.iter().find_map(|name| known_transfer(name)) {
        return transfer;
    }
    match names.iter().find_map(|name| bent_transfer(name)) {
        Some(transfer) => {
            oddities.note(Oddity::EncodingBent);
            transfer
        }
        None => {
            oddities.note(Oddity::EncodingUnknown);
            Transfer::Identity
        }
    }
}

fn known_transfer(name: &str) -> Option<Transfer> {
    Some(match name {
        "7bit" | "8bit" | "binary" => Transfer::Identity,
        "base64" => Transfer::Base64(Base64::default()),
        "quoted-printable" => Transfer::Quoted(QuotedPrintable::default()),
        "x-uuencode" | "x-uue" | "x-uu" | "uuencode" | "uue" => Transfer::Uuencoded(Uuencoded::default()),
        _ => return None,
    })
}

/// Names that are nearly right, which some readers take for right; `gzip64` is base64 of a gzip file.
fn bent_transfer(name: &str) -> Option<Transfer> {
    if name.contains("64") {
        return known_transfer("base64");
    }
    if name.contains("quoted") { known_transfer("quoted-printable") } else { None }
}

fn name(fields: &Fields, oddities: &mut Oddities) -> Option<String> {
    let file_name = fields.dispositions.iter().find_map(|field| field.text("filename", oddities));
    let name = fields.media_types.iter().find_map(|field| field.text("name", oddities));
    if let (Some(a), Some(b)) = (&file_name, &name)
        && !extension(a).eq_ignore_ascii_case(extension(b))
    {
        oddities.note(Oddity::NamesDiffer);
    }
    file_name.or(name).map(|name| bounded(name, oddities))
}

fn field(fields: &Fields, oddities: &mut Oddities) -> Option<String> {
    let of_form = fields.dispositions.iter().find(|field| field.value == "form-data")?;
    let name = of_form.text("name", oddities).filter(|name| !name.is_empty())?;
    Some(bounded(name, oddities))
}

fn extension(name: &str) -> &str {
    name.trim_end().rsplit_once('.').map_or("", |(_, extension)| extension)
}
