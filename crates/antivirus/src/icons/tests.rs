//! Icons of programs made here, and the looks that `clamscan --debug` says they have. Rule: every depth, every way to scale.

use super::look::Look;
use super::looks;
use super::writer::{ADDRESS, picture, resources};
use crate::layout::{Layout, Needs, program_headers};
use crate::ruleset::hash::from_hex;
use crate::tests::{compile, scan};
use lockgate_model::FileType;

/// Width, height and bits of a point of each picture, and the look of it.
const PICTURES: [(usize, usize, usize, &str); 10] = [
    (
        16,
        16,
        4,
        "10d4e0009b920605b37040b4780a065710801785000bfa000beb0001e50a0b940a06b20701c203007a0a0a67070159010a06030614050b23030224122e52",
    ),
    (
        32,
        32,
        8,
        "20dae140ecf50100c080c0763016006f30f1798c0009e81611e10100dd0017a31500af0e17c2000c5e16015a111541130b050a0c0b07040e020e2d0b2b5c",
    ),
    (
        24,
        24,
        24,
        "18be5000fb9d1000a310b112ee05003f30b044200406f51003f40011e90a00c8100dc80100cc02086910035e0111410a010904000b05060c100c31260d3e",
    ),
    (
        48,
        48,
        32,
        "185c80f1052b0e00354090f0eb04051020a0413b000bf70011f60e00f20e0fe5030ce61009e70306590f103910052f0a010d00000e040f17060043051c0d",
    ),
    (
        32,
        32,
        1,
        "20fe80000fe80800fe81000deb0017fe80000fe80800ff0000ff0800ff1000ff0000ff0800ff100041021740150f3c160100040700090f02151764000062",
    ),
    (
        32,
        32,
        16,
        "209ff10169bc160b95d16014eb090e53f07046640616d81211d20000d21301af1309b1020ab4041565100360101455160b100809180711230009291c1f4f",
    ),
    (
        64,
        64,
        24,
        "20b460600ae016009ef0f171f7020d3200a0d4d10615e90a08e91600e6120bce0011d11213d90c0066070159150255161007080e08000f1706172a1d1d3b",
    ),
    (
        40,
        38,
        32,
        "20606161446d140c44402000ef06040f200170fb000cfb0017f80000f71614e31503e4050ce60b145116152e150d2c16010505140c000c0e0d174903180b",
    ),
    (
        20,
        22,
        8,
        "18ddf1000c2e0a00bdf000f4200e0e4fb00028fe0011ea1000e60011d80a009d0d0ea40003b90f08700d0d5c01024f0e0705060908000b11060f290b3055",
    ),
    (
        28,
        28,
        24,
        "180570a0f048010204501100260a0f042010204d0110e00b07d3100dd2060d2a0c014500105710076910025c100f580a010505091905031f040f00000000",
    ),
];

/// A program with these pictures as its one icon.
fn program(pictures: &[Vec<u8>]) -> Vec<u8> {
    let out = resources(pictures);
    let mut program = program_headers(ADDRESS, &[(ADDRESS, out.len() as u32, 0x400)]);
    program[0x98 + 92] = 16;
    program[0x98 + 96 + 16..][..4].copy_from_slice(&ADDRESS.to_le_bytes());
    program[0x98 + 96 + 20..][..4].copy_from_slice(&(out.len() as u32).to_le_bytes());
    program.resize(0x400, 0);
    program.extend(out);
    program
}

fn looks_of(bytes: &[u8]) -> Vec<Look> {
    let mut layout = Layout::of(FileType::Pe, Needs { places: true, version: false });
    layout.push(bytes);
    looks(layout.program().unwrap(), bytes)
}

fn pictures() -> Vec<Vec<u8>> {
    PICTURES.iter().map(|(width, height, depth, _)| picture(*width, *height, *depth)).collect()
}

#[test]
fn pictures_look_as_clamscan_sees_them() {
    let found: Vec<String> = looks_of(&program(&pictures())).iter().map(Look::digits).collect();
    assert_eq!(found, PICTURES.map(|(.., look)| look));
    for look in found {
        assert_eq!(Look::listed(&from_hex(&look).unwrap()).unwrap().digits(), look);
    }
}

#[test]
fn a_look_is_like_itself_and_unlike_another() {
    let looks = looks_of(&program(&pictures()));
    for (at, look) in looks.iter().enumerate() {
        let like: Vec<usize> = (0..looks.len()).filter(|other| looks[*other].is_like(look)).collect();
        assert_eq!(like, [at]);
    }
}

#[test]
fn signatures_name_icons_by_their_groups() {
    let icons = format!("Icon.A:ONE:TWO:{}\nIcon.B:THREE:FOUR:{}\n", PICTURES[3].3, PICTURES[1].3);
    let (own, other) = (program(&pictures()[2..5]), program(&pictures()[5..]));
    // What is asked, whether the icons are there, and whether it is found in the one program and in the other.
    let cases = [
        ("IconGroup1:ONE", true, [true, false]),
        ("IconGroup2:TWO", true, [true, false]),
        ("IconGroup1:ONE,IconGroup2:TWO", true, [true, false]),
        ("IconGroup1:ONE,IconGroup2:FOUR", true, [false, false]),
        ("IconGroup1:TWO", true, [false, false]),
        ("IconGroup1:THREE", true, [false, false]),
        ("IconGroup1:ONE", false, [false, false]),
    ];
    for (asked, has_icons, want) in cases {
        let line = format!("Test.A;Engine:51-255,{asked},Target:1;0;0:4d5a\n");
        let files = [("t.ldb", line.as_str()), ("t.idb", if has_icons { &icons } else { "" })];
        let (database, report) = compile(&files);
        assert_eq!(report.failures, [], "{asked}");
        for (program, want) in [&own, &other].into_iter().zip(want) {
            let chunks: Vec<&[u8]> = program.chunks(1000).collect();
            assert_eq!(!scan(&database, FileType::Pe, &chunks).is_empty(), want, "{asked}");
        }
    }
}

#[test]
fn damaged_programs_have_other_icons_or_none() {
    let whole = program(&pictures()[..2]);
    for cut in (0x400..whole.len()).step_by(37) {
        assert!(looks_of(&whole[..cut]).len() <= 2);
    }
    for at in (0x400..0x600).chain((0x600..whole.len()).step_by(61)) {
        for bits in [1, 0x80, 0xff] {
            let mut bent = whole.clone();
            bent[at] ^= bits;
            assert!(looks_of(&bent).len() <= 100);
        }
    }
}
