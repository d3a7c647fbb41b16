//! What a header block makes of the body that follows. Rule: every reading is listed here, and every doubt is noted.

use super::again::{Reading, Start};
use super::base64::Base64;
use super::field::{Parameterised, bounded};
use super::header::Fields;
use super::limits::{BOUNDARIES_MAX, BOUNDARY_BYTES_MAX, FIELDS_MAX};
use super::names::Names;
use super::oddity::{Oddities, Oddity};
use super::quoted_printable::QuotedPrintable;
use super::transfer::Transfer;
use super::uuencoded::Uuencoded;
use super::words::decode_words;
use super::yenc;

/// How a body is read.
#[derive(Debug)]
pub(super) struct Plan {
    pub shape: Shape,
    pub transfer: Transfer,
    /// How other readers read it.
    pub readings: Vec<Reading>,
    /// The media type as the child's entry gives it.
    pub declared: Option<String>,
    /// The file name, and others that it may have.
    pub names: Names,
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
        let mut transfers = transfers(fields, oddities);
        let transfer = transfers.remove(0);
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
        let readings = readings(fields, transfers, declared.as_deref());
        let names = Names::of(fields, oddities);
        Self { shape, transfer, readings, declared, names, field: field(fields, oddities) }
    }
}

/// The readings beside the first: by other encodings, by another type, from another line on.
fn readings(fields: &Fields, others: Vec<Transfer>, declared: Option<&str>) -> Vec<Reading> {
    let words = |transfer: &Transfer| match transfer {
        Transfer::Identity => "as-it-stands",
        Transfer::Base64(_) => "as-base64",
        Transfer::Quoted(_) => "as-quoted",
        Transfer::Uuencoded(_) => "as-uuencoded",
        Transfer::Yenc(_) => "as-yenc",
    };
    let mut readings: Vec<Reading> =
        others.into_iter().map(|transfer| Reading::new(words(&transfer), transfer)).collect();
    let main = || transfers(fields, &mut Oddities::default()).remove(0);
    let is_message = |name: &str| matches!(name, MESSAGE | "message/global" | "message/news");
    if declared != Some(MESSAGE) && fields.media_types.iter().any(|other| is_message(&other.value)) {
        readings.push(Reading { declared: Some(MESSAGE.to_owned()), ..Reading::new("as-message", main()) });
    }
    if fields.is_body_line {
        for (words, start) in
            [("behind-line", Start::BehindFirstLine), ("behind-blank-line", Start::BehindBlankLine)]
        {
            readings.push(Reading { start, ..Reading::new(words, main()) });
        }
    }
    readings
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
        if let Some(nul) = memchr::memchr(0, boundary) {
            // Some readers end there, and those that do not find parts that no header announces.
            oddities.note(Oddity::TypeBent);
            boundary.truncate(nul);
        }
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

/// How the body may be encoded, the likeliest first: by what is known among the words of the fields, else by what can
/// be guessed.
fn transfers(fields: &Fields, oddities: &mut Oddities) -> Vec<Transfer> {
    let mut transfers: Vec<Transfer> = Vec::new();
    let mut add = |transfer: Transfer| {
        let is_new = |other: &Transfer| std::mem::discriminant(other) != std::mem::discriminant(&transfer);
        if transfers.iter().all(is_new) {
            transfers.push(transfer);
        }
    };
    let names = &fields.encodings;
    for name in names {
        if let Some(transfer) = known_transfer(name) {
            add(transfer);
            continue;
        }
        let words = || name.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let known: Vec<Transfer> = words().filter_map(known_transfer).collect();
        let guessed = if known.is_empty() { words().find_map(bent_transfer) } else { None };
        oddities.note(match known.is_empty() && guessed.is_none() {
            true => Oddity::EncodingUnknown,
            false => Oddity::EncodingBent,
        });
        known.into_iter().chain(guessed).for_each(&mut add);
    }
    // Readers that do not unfold see a field that others do not.
    if names.is_empty() || fields.is_encoding_folded {
        add(Transfer::Identity);
    }
    if transfers.is_empty() {
        transfers.push(Transfer::Identity);
    }
    transfers
}

fn known_transfer(name: &str) -> Option<Transfer> {
    Some(match name {
        "7bit" | "8bit" | "binary" => Transfer::Identity,
        "base64" => Transfer::Base64(Base64::default()),
        "quoted-printable" => Transfer::Quoted(QuotedPrintable::default()),
        // Of BinHex the line before it and both forks are read in the text that it is.
        "mac-binhex40" | "mac-binhex" | "binhex" | "x-binhex" | "x-mac-binhex40" => Transfer::Identity,
        "x-yencode" | "x-yenc" | "yencode" | "yenc" => Transfer::Yenc(yenc::Body::default()),
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

fn field(fields: &Fields, oddities: &mut Oddities) -> Option<String> {
    let of_form = fields.dispositions.iter().find(|field| field.value == "form-data")?;
    let name = of_form.text("name", oddities).filter(|name| !name.is_empty())?;
    Some(bounded(name, oddities))
}
