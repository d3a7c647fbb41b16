//! cpio in each form, at every cut. Rule: the writer writes what it is told.

use super::CpioDecoder;
use super::header::Form;
use crate::decoder::{Decoder, Entry};
use crate::samples::{children, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::Reason;

const FORMS: [Form; 5] = [Form::New, Form::NewWithSum, Form::Odc, Form::BinaryLittle, Form::BinaryBig];

fn open() -> Box<dyn Decoder> {
    Box::new(CpioDecoder::new())
}

fn entry(form: Form, mode: u32, name: &str, content: &[u8]) -> Vec<u8> {
    let (name_bytes, size) = (name.len() + 1, content.len());
    let sum: u32 = content.iter().map(|b| u32::from(*b)).sum();
    let mut out = match form {
        Form::New | Form::NewWithSum => {
            let (magic, sum) = if form == Form::New { ("070701", 0) } else { ("070702", sum) };
            let head = format!(
                "{magic}{:08x}{mode:08x}{}{size:08x}{}",
                1,
                "00000000".repeat(4),
                "00000000".repeat(4)
            );
            format!("{head}{name_bytes:08x}{sum:08x}").into_bytes()
        }
        Form::Odc => {
            let head = format!("070707{:06o}{:06o}{mode:06o}{}", 1, 2, "000000".repeat(4));
            format!("{head}{:011o}{name_bytes:06o}{size:011o}", 0).into_bytes()
        }
        Form::BinaryLittle | Form::BinaryBig => {
            let words = [
                0x71c7,
                1,
                2,
                mode as u16,
                0,
                0,
                1,
                0,
                0,
                0,
                name_bytes as u16,
                (size >> 16) as u16,
                size as u16,
            ];
            let big = form == Form::BinaryBig;
            words.iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
        }
    };
    let alignment = match form {
        Form::Odc => 1,
        Form::BinaryLittle | Form::BinaryBig => 2,
        _ => 4,
    };
    let pad = |out: &mut Vec<u8>| out.resize(out.len().next_multiple_of(alignment), 0);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    pad(&mut out);
    let mut content = content.to_vec();
    pad(&mut content);
    out.extend_from_slice(&content);
    out
}

fn trailer(form: Form) -> Vec<u8> {
    entry(form, 0, "TRAILER!!!", b"")
}

fn open_said(name: &str) -> Said {
    Said::Open(Entry { label: name.into(), name: Some(name.into()), declared: None })
}

#[test]
fn each_form_is_read_at_every_cut() {
    for form in FORMS {
        let (one, two) = (prose(1, 301), noise(2, 64));
        let mut file = [
            entry(form, 0o040_755, "folder", b""),
            entry(form, 0o100_644, "folder/one", &one),
            entry(form, 0o100_644, "two.", &two),
            entry(form, 0o100_644, "empty", b""),
            trailer(form),
        ]
        .concat();
        let expected = [
            open_said("folder/one"),
            Said::Bytes(one),
            Said::Close,
            open_said("two."),
            Said::Bytes(two),
            Said::Close,
            open_said("empty"),
            Said::Close,
            Said::End,
        ];
        assert_eq!(assert_cut_invariant(&open, &file), expected, "{form:?}");
        file.resize(file.len().next_multiple_of(512), 0);
        assert_eq!(assert_cut_invariant(&open, &file), expected, "{form:?}, filled up");
    }
}

#[test]
fn what_is_no_entry_is_said_and_the_next_one_found() {
    let file = [
        entry(Form::New, 0o100_644, "a", b"one"),
        b"junk".to_vec(),
        entry(Form::Odc, 0o100_644, "b", b"two"),
    ];
    let said = assert_cut_invariant(&open, &[file.concat(), trailer(Form::New)].concat());
    assert!(said.contains(&Said::Incomplete(Reason::Damaged)));
    assert_eq!(children(&said), [("a".to_string(), b"one".to_vec()), ("b".to_string(), b"two".to_vec())]);
    for behind in [entry(Form::New, 0o100_644, "b", b"two"), b"text".to_vec(), b"text and more".to_vec()] {
        let said = assert_cut_invariant(&open, &[trailer(Form::New), vec![0; 9], behind.clone()].concat());
        let is_entry = behind.len() > 100;
        assert_eq!(children(&said).len(), usize::from(is_entry));
        assert_eq!(said.iter().any(|s| matches!(s, Said::Anomaly(_))), !is_entry, "{said:?}");
    }
    let mut wrong = entry(Form::NewWithSum, 0o100_644, "a", b"one");
    let last = wrong.len() - 2;
    wrong[last] ^= 1;
    assert!(complains(&assert_cut_invariant(&open, &[wrong, trailer(Form::New)].concat())));
}

#[test]
fn nothing_is_cut_short_without_a_word() {
    for form in FORMS {
        let whole = [entry(form, 0o100_644, "name", b"content"), trailer(form)].concat();
        for length in 0..whole.len() {
            let said = trace(&mut *open(), [&whole[..length]]);
            let is_padding = whole[length..].iter().all(|b| *b == 0) && whole.len() - length < 4;
            assert!(complains(&said) || is_padding, "{form:?} cut off at {length}: {said:?}");
        }
        for at in 0..whole.len() {
            for byte in [0, b'9', 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                assert_eq!(trace(&mut *open(), [&damaged[..]]), trace(&mut *open(), damaged.chunks(1)));
            }
        }
    }
}
