//! xz at every cut. Rule: what is packed is another library's making.

use super::{Streams, Xz, decoder};
use crate::codec::Outcome;
use crate::codec::stream::Undo;
use crate::decoder::{Decoder, Entry, More};
use crate::samples::lzma::{xz, xz_with};
use crate::samples::{LONG, assert_flips_told, assert_truncation_told, complains, noise, prose};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::Pool;
use lzma_rust2::{CheckType, FilterConfig};

fn open() -> Box<dyn Decoder> {
    Box::new(decoder(&Pool::new(64 << 20)))
}

fn child(content: &[u8]) -> Vec<Said> {
    let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
    let open = Said::Open(Entry { label: "1".into(), ..Entry::default() });
    [open].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect()
}

#[test]
fn streams_are_read_at_every_cut() {
    for check in [CheckType::None, CheckType::Crc32, CheckType::Crc64, CheckType::Sha256] {
        for content in [vec![], b"a".to_vec(), prose(1, LONG), noise(2, 3000)] {
            let stream = xz_with(check, 0, Vec::new(), &content);
            assert_eq!(assert_cut_invariant(&open, &stream), child(&content), "{check:?}");
        }
    }
    let content = prose(3, 9000);
    let blocks = xz_with(CheckType::Crc32, 4096, Vec::new(), &content);
    let two = [&blocks[..], &[0; 8], &xz(b"more"), &[0; 4]].concat();
    assert_eq!(assert_cut_invariant(&open, &two), child(&[&content[..], b"more"].concat()));
}

#[test]
fn filters_are_undone() {
    let calls: Vec<u8> =
        noise(4, 9000).chunks(9).flat_map(|nine| [&[0xe8][..], nine, &[0xe9, 0xff]].concat()).collect();
    let chains = [
        vec![FilterConfig::new_delta(1)],
        vec![FilterConfig::new_delta(256)],
        vec![FilterConfig::new_bcj_x86(0)],
        vec![FilterConfig::new_bcj_arm(0)],
        vec![FilterConfig::new_bcj_arm_thumb(0)],
        vec![FilterConfig::new_bcj_arm64(0)],
        vec![FilterConfig::new_bcj_sparc(0)],
        vec![FilterConfig::new_bcj_ppc(0)],
        vec![FilterConfig::new_bcj_ia64(0)],
        vec![FilterConfig::new_bcj_x86(4096), FilterConfig::new_delta(4), FilterConfig::new_bcj_arm(64)],
    ];
    for chain in chains {
        for content in [&calls[..], b"", b"e", &noise(5, 9001), &[0xeb; 50], &[0xe8; 33]] {
            let stream = xz_with(CheckType::Crc64, 0, chain.clone(), content);
            for piece in [stream.len(), 1, 100] {
                assert!(trace(&mut *open(), stream.chunks(piece)) == child(content), "{chain:?}");
            }
        }
    }
}

#[test]
fn nothing_is_damaged_or_cut_short_without_a_word() {
    let stream = xz(&prose(6, 300));
    assert_truncation_told(&open, &stream, stream.len());
    assert_flips_told(&open, &stream);
    let filtered = xz_with(CheckType::Sha256, 0, vec![FilterConfig::new_bcj_x86(0)], &noise(7, 60));
    assert_truncation_told(&open, &filtered, filtered.len());
    assert_flips_told(&open, &filtered);
    for behind in [&b"x"[..], b"\0\0", b"\0\0\0\0garbage", b"\xfd7z", b"\xfd7zabc"] {
        let said = assert_cut_invariant(&open, &[&stream[..], behind].concat());
        assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{behind:?}: {said:?}");
    }
    assert!(complains(&assert_cut_invariant(&open, b"no such thing")));
}

#[test]
fn one_stream_of_a_zip_file_ends_by_itself() {
    let stream = [&xz(b"content")[..], b"PK"].concat();
    let mut one = Xz::new(&Pool::new(1 << 20), Streams::One);
    let (mut at, mut made, mut output) = (0, 0, [0; 100]);
    let outcome = loop {
        let run = one.run(&stream[at..stream.len().min(at + 1)], More::Follows, &mut output);
        (at, made) = (at + run.used, made + run.made);
        if run.outcome != Outcome::Going {
            break run.outcome;
        }
    };
    assert_eq!((outcome, made, stream.len() - at), (Outcome::Ended, 7, 2));
}
