//! What is asked for only once the rest has matched. Rule: found as if it had been searched for from the start.

use crate::tests::{Hits, compile, hex, names, part, scanner};
use lockgate_model::{Buffer, FileType, PartId, Pool};

/// The rarest first, then what is asked for: its bytes are common.
const RARE: &str = "93d71ce5b2a84fc9e16a";
const COMMON: [&[u8]; 3] = [b"kernel32", b"This program", b"\x8b\x45\xfc\x83"];

fn rare() -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    RARE.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn signature(name: &str, expression: &str) -> String {
    let [one, two, three] = COMMON.map(hex);
    format!("{name};Engine:51-255,Target:1;{expression};{RARE};{one};{two};{three}\n")
}

#[test]
fn in_each_order_and_number() {
    let lines: String = [
        ("All", "0&1&2&3"),
        ("Either", "0&(1|2)&3"),
        ("Often", "0&(1>2)"),
        ("Several", "(0|1|2|3)>4,3"),
        ("None", "0&(1=0)"),
        ("Some", "(0&1)|(2&3)"),
    ]
    .map(|(name, expression)| signature(name, expression))
    .concat();
    let (database, report) = compile(&[("a.ldb", &lines)]);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert!(!database.groups[1].as_ref().unwrap().asks.is_empty(), "something is asked for");
    let [one, two, three] = COMMON;
    let rare = rare();
    let cases: [(&[&[u8]], &[&str]); 9] = [
        (&[&rare, one, two, three], &["All", "Either", "Some"]),
        (&[three, two, one, &rare], &["All", "Either", "Some"]),
        (&[three, one, &rare, two], &["All", "Either", "Some"]),
        (&[one, &rare, three], &["Either", "Some"]),
        (&[one, one, &rare, one], &["Often", "Some"]),
        (&[one, one, &rare, one, two], &["Often", "Several", "Some"]),
        (&[&rare], &["None"]),
        (&[two, three], &["Some"]),
        (&[one, two, two, one, one], &[]),
    ];
    for (pieces, want) in cases {
        let file = pieces.join(&b"-- "[..]);
        assert_eq!(names(&database, FileType::Pe, &file), want, "{pieces:?}");
    }
}

#[test]
fn of_many_signatures_at_once() {
    let line = |number: u8| {
        let (rare, common) = (format!("93d71ce5{number:02x}b2a84fc9"), format!("61{number:02x}62"));
        format!("S{number:02};Engine:51-255,Target:1;0&1&2;{rare};{common};{common}63\n")
    };
    let (database, _) = compile(&[("a.ldb", &(0..30).map(line).collect::<String>())]);
    let mut file = Vec::new();
    for number in 0..30_u8 {
        file.extend([b'a', number, b'b', b'c']);
        file.extend([0x93, 0xd7, 0x1c, 0xe5, number, 0xb2, 0xa8, 0x4f, 0xc9]);
    }
    let want: Vec<String> = (0..30).map(|number| format!("S{number:02}")).collect();
    assert_eq!(names(&database, FileType::Pe, &file), want);
}

#[test]
fn where_nothing_is_held() {
    let (database, _) =
        compile(&[("a.ldb", &(signature("All", "0&1&2&3") + &signature("Often", "0&(1>2)")))]);
    let [one, two, three] = COMMON;
    let rare = rare();
    let gap = [0_u8; 30_000];
    let file = [one, &gap, &rare, two, one, &gap, three, &gap, one].concat();
    for (bytes, chunk) in [(0, 7000), (20_000, 1000), (40_000, 7000), (70_000, 100), (1 << 20, 7000)] {
        let mut scanner = scanner(&database);
        scanner.draw_from(&Pool::new(bytes));
        scanner.open(&part(0, None, FileType::Pe));
        let mut hits = Hits::default();
        file.chunks(chunk).for_each(|chunk| {
            scanner.push(PartId::ROOT, Buffer::FileData, chunk, &mut hits);
        });
        scanner.end(PartId::ROOT, Buffer::FileData, &mut hits);
        scanner.close(PartId::ROOT, &mut hits);
        let mut found: Vec<String> = hits.0.iter().map(|hit| hit.name.to_string()).collect();
        found.sort();
        assert_eq!(found, ["All", "Often"], "{bytes} bytes");
    }
}
