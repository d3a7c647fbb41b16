//! The engine from database text to findings. Rule: every case is scanned whole, byte by byte and at each two-way cut.

use crate::layout::program_headers;
use crate::{Kind, Report, Sources};
use lockgate_model::{
    Buffer, Class, Database as _, Direction, FileType, Flow, Hit, Part, PartId, Protocol, Scanner, Sink,
    Transaction, TransactionId, Want,
};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Hits(pub Vec<Hit>);

impl Sink for Hits {
    fn hit(&mut self, hit: Hit) {
        self.0.push(hit);
    }
}

pub(crate) fn compile(files: &[(&str, &str)]) -> (Arc<crate::Database>, Report) {
    let mut sources = Sources::new();
    for (name, text) in files {
        sources.add(name, text.as_bytes());
    }
    let (database, report) = as_loaded(sources.compile());
    (Arc::new(database), report)
}

/// What is compiled, as it is when it comes from where it was stored: nothing may be lost on the way.
fn as_loaded((database, report): (crate::Database, Report)) -> (crate::Database, Report) {
    let mut bytes = Vec::new();
    database.store(&report, &mut bytes).unwrap();
    let (loaded, loaded_report) =
        crate::Database::load(&mut bytes.as_slice(), bytes.len() as u64).expect("what was stored loads");
    assert_eq!((&loaded_report, loaded.strategies()), (&report, database.strategies()));
    let mut again = Vec::new();
    loaded.store(&report, &mut again).unwrap();
    assert!(bytes == again, "what was loaded is stored as it was");
    (loaded, loaded_report)
}

pub(crate) fn scanner(database: &Arc<crate::Database>) -> Box<dyn Scanner> {
    let address = ([127, 0, 0, 1], 25).into();
    let flow = Flow {
        security: lockgate_model::Security::Clear,
        id: 1,
        protocol: Protocol::File,
        client: address,
        server: address,
        listener: String::new(),
    };
    let about = Transaction {
        id: TransactionId(1),
        direction: Direction::ToServer,
        group: String::new(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    };
    Arc::clone(database).open_flow(&flow).open(&about)
}

pub(crate) fn part(id: u32, parent: Option<u32>, detected: FileType) -> Part {
    Part {
        id: PartId(id),
        parent: parent.map(PartId),
        depth: u16::from(parent.is_some()),
        path: "".into(),
        name: None,
        declared: None,
        detected,
    }
}

/// One file as root, in these chunks: names and offsets.
pub(crate) fn scan(
    database: &Arc<crate::Database>,
    detected: FileType,
    chunks: &[&[u8]],
) -> Vec<(String, Option<u64>)> {
    let mut hits = Hits::default();
    let mut scanner = scanner(database);
    let mut want = scanner.open(&part(0, None, detected));
    for chunk in chunks {
        if want == Want::More {
            want = scanner.push(PartId::ROOT, Buffer::FileData, chunk, &mut hits);
        }
    }
    scanner.end(PartId::ROOT, Buffer::FileData, &mut hits);
    scanner.close(PartId::ROOT, &mut hits);
    scanner.finish(&mut hits);
    let mut found: Vec<_> = hits.0.into_iter().map(|hit| (hit.name.to_string(), hit.offset)).collect();
    found.sort();
    found
}

/// Scans a file at every cut and gives the names found.
pub(crate) fn names(database: &Arc<crate::Database>, detected: FileType, file: &[u8]) -> Vec<String> {
    let whole = scan(database, detected, &[file]);
    let bytes: Vec<&[u8]> = file.chunks(1).collect();
    assert_eq!(scan(database, detected, &bytes), whole, "byte by byte");
    for cut in 0..=file.len() {
        let (first, second) = file.split_at(cut);
        assert_eq!(scan(database, detected, &[first, second]), whole, "cut at {cut}");
    }
    whole.into_iter().map(|(name, _)| name).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn body_signatures_match_where_they_should() {
    use FileType::{Data, Html, Pdf, Script, Text};
    let abc = hex(b"abcdef");
    // Target, offset and text of a signature; type and bytes of a file; whether it is found.
    let cases: &[(&str, FileType, &[u8], bool)] = &[
        ("0:*:616263646566", Data, b"..abcdef..", true),
        ("0:*:616263646566", Data, b"..abcdeg..", false),
        ("0:0:616263646566", Data, b"abcdef..", true),
        ("0:0:616263646566", Data, b".abcdef..", false),
        ("0:2,3:616263646566", Data, b".....abcdef", true),
        ("0:2,3:616263646566", Data, b"......abcdef", false),
        ("0:2,3:616263646566", Data, b".abcdef", false),
        ("0:EOF-8:616263646566", Data, b"xxabcdef..", true),
        ("0:EOF-8:616263646566", Data, b"xxabcdef...", false),
        ("0:EOF-8:616263646566", Data, b"abcdefabcdefabcdef..", true),
        ("0:EOF-8,2:616263646566", Data, b"xxxxabcdef", true),
        ("0:EOF-8,1:616263646566", Data, b"xxxxabcdef", false),
        ("0:EOF-80:616263646566", Data, b"abcdef", false),
        ("10:*:616263646566", Pdf, b"%PDF abcdef", true),
        ("10:*:616263646566", Data, b"%PDF abcdef", false),
        ("7:*:616263646566", Text, b"hello ABCdef", true),
        ("7:*:6120626364", Text, b"A \r\n\tBCD", true),
        ("7:*:414243", Text, b"ABC", false),
        ("0:*:414243", Text, b"ABC", true),
        ("0:*:616263", Text, b"ABC", true),
        ("0:*:616263", Data, b"ABC", false),
        ("3:*:3c612062", Html, b"<A\n\nb", true),
        ("3:*:3c410a", Html, b"<A\n\nb", false),
        ("3:*:6263", Html, b"<p>A<!-- x -->bc", true),
        ("3:*:616263", Html, b"<p>a<b>b</b>C", false),
        ("3:*:20612062204320", Html, b"<p>a<b>b</b>", false),
        ("3:*:2061206220", Html, b"<p>a<b>b</b>", true),
        ("3:*:6e303030", Html, b"<script>var abc=1</script>", true),
        ("7:*:6e303030", Html, b"<script>var abc=1</script>", true),
        ("0:*:6e303030", Html, b"<script>var abc=1</script>", true),
        ("7:*:616263", Html, b"<p>abc", false),
        ("0:*:414220", Html, b"<P>AB <!-- c", true),
        ("0:*:2d2d2063", Html, b"<P>AB <!-- c", true),
        ("3:*:2d2d2063", Html, b"<P>AB <!-- c", false),
        ("3:EOF-3:3e6162", Html, b"<P>AB <!-- c -->", false),
        ("3:EOF-4:3e616220", Html, b"<P>AB <!-- c -->z", false),
        ("3:EOF-3:61627a", Html, b"<P>AB<!-- c --\n>z", true),
        ("3:*:62633c3e", Text, b"ABC<>\n<html><p>", true),
        ("3:*:6263", Text, b"text\n<TABLE>A<!-- x -->bc", true),
        ("3:*:6e303030", Script, b"#!\n<script>var abc=1</script>", true),
        ("3:*:616263", Text, b"abc <p><b><imag", false),
        ("3:*:616263", Data, b"abc <html>", false),
        ("0:*:616263(W)", Data, b"abc", true),
        ("0:*:(B)616263", Data, b"abc", true),
        ("0:*:(B)616263", Data, b"x/abc", true),
        ("0:*:(B)616263", Data, b"x+abc", false),
        ("0:*:616263(L)", Data, b"..abc", true),
        ("0:*:616263(L)", Data, b"..abc\r\n", true),
        ("0:*:616263(L)", Data, b"..abc.", false),
    ];
    for (signature, detected, file, want) in cases {
        let (database, report) = compile(&[("t.ndb", &format!("Test.A:{signature}\n"))]);
        assert_eq!(report.failures, [], "{signature}");
        let found = names(&database, *detected, file);
        assert_eq!(found == ["Test.A"], *want, "{signature} in {:?}", String::from_utf8_lossy(file));
    }
    assert_eq!(abc, "616263646566");
}

#[test]
fn wildcards_go_to_the_matcher() {
    let cases: &[(&str, &[u8], bool)] = &[
        ("616263*646566", b"abc.......def", true),
        ("616263*646566", b"def.......abc", false),
        ("616263{2-3}646566", b"abc..def", true),
        ("616263{2-3}646566", b"abc.def", false),
        ("616263??646566", b"abcxdef", true),
        ("616263(78|79)646566", b"abcydef", true),
        ("616263!(78|79)646566", b"abcydef", false),
    ];
    for (text, file, want) in cases {
        let (database, report) = compile(&[("t.ndb", &format!("Test.A:0:*:{text}"))]);
        assert_eq!(report.failures, [], "{text}");
        assert_eq!(names(&database, FileType::Data, file) == ["Test.A"], *want, "{text}");
    }
}

#[test]
fn programs_are_searched_from_entry_point_and_sections() {
    let mut file = program_headers(0x2010, &[(0x1000, 0x200, 0x400), (0x2000, 0x200, 0x600)]);
    file.resize(0x800, b'.');
    file[0x610..0x616].copy_from_slice(b"abcdef");
    let cases = [
        ("EP+0", true),
        ("EP-1", false),
        ("EP-1,1", true),
        ("S1+16", true),
        ("S1+15", false),
        ("S0+16", false),
        ("SL+16", true),
        ("SE1", true),
        ("SE0", false),
        ("S9+0", false),
    ];
    for (offset, want) in cases {
        let (database, report) = compile(&[("t.ndb", &format!("Test.A:1:{offset}:616263646566"))]);
        assert_eq!(report.failures, [], "{offset}");
        assert_eq!(names(&database, FileType::Pe, &file) == ["Test.A"], want, "{offset}");
        // What only calls itself a program has no entry point.
        assert_eq!(names(&database, FileType::Pe, b"MZ abcdef"), [""; 0]);
    }
}

#[test]
fn programs_are_told_by_entry_point_and_number_of_sections() {
    let mut file = program_headers(0x2010, &[(0x1000, 0x200, 0x400), (0x2000, 0x200, 0x600)]);
    file.resize(0x700, b'.');
    file.extend_from_slice(b"abcdef");
    let cases = [
        ("NumberOfSections:2-2", true),
        ("NumberOfSections:3-9", false),
        ("EntryPoint:1552-1552", true),
        ("EntryPoint:1553-1600", false),
        ("FileSize:1-9999,NumberOfSections:1-2", true),
    ];
    for (ranges, want) in cases {
        let (database, report) = compile(&[("t.ldb", &format!("Test.A;{ranges},Target:1;0;616263646566"))]);
        assert_eq!(report.failures, [], "{ranges}");
        assert_eq!(names(&database, FileType::Pe, &file) == ["Test.A"], want, "{ranges}");
        assert_eq!(names(&database, FileType::Pe, b"MZ abcdef"), [""; 0]);
    }
}

/// A small generator, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

#[test]
fn any_bytes_are_a_database() {
    let seeds = [
        ("t.ndb", "Test.A:1:EP+3,4:6162??(63|6465)*66{2-3}67[1-2]68!(69|70):10:255"),
        (
            "t.ldb",
            "Test.A;Engine:1-255,FileSize:1-9,Target:1;((0|1)>5,2)&(2=0);SL+1:6162::iwf;(B)6162(L);EOF-3,1:6364",
        ),
        ("t.hsb", "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f:68:Test.A:73"),
        ("t.ign2", "Test.A:44d88612fea8a8f36de82e1278abb02f"),
    ];
    let letters = b"0123456789abcdef:;,*?(){}[]!|&=<>-+$/#\xff\0EPSOFLW";
    let mut random = Random(0x1234_5678_9abc_def1);
    for round in 0..4000 {
        let (name, text) = seeds[round % seeds.len()];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = letters[random.below(letters.len())],
                1 => bytes.insert(at, letters[random.below(letters.len())]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut sources = Sources::new();
        sources.add(name, bytes.as_slice());
        let (database, report) = as_loaded(sources.compile());
        let empty = bytes.is_empty() || bytes.starts_with(b"#");
        let lines: u64 = report
            .counts
            .values()
            .map(|count| count.loaded + count.failed + count.ignored + count.other_engine)
            .sum();
        assert!(
            lines == 1 || empty || bytes.trim_ascii_end().is_empty(),
            "{:?}",
            String::from_utf8_lossy(&bytes)
        );
        scan(&Arc::new(database), FileType::Pe, &[b"MZabcdefgh", b"ijkl", b""]);
    }
}

#[test]
fn logical_signatures_are_decided_early_or_at_the_end() {
    let one = "616161;626262;636363";
    // Expression, subsignatures, file, whether it is found.
    let cases: &[(&str, &str, &[u8], bool)] = &[
        ("Target:0;0&1&2", one, b"aaa bbb ccc", true),
        ("Target:0;0&1&2", one, b"ccc..aaa", false),
        ("Target:0;(0|1)&2", one, b"bbbccc", true),
        ("Target:0;0&1&2=0", one, b"aaabbb", true),
        ("Target:0;0&1&2=0", one, b"aaabbbccc", false),
        ("Target:0;0=0&1=0&2=0", one, b"nothing", true),
        ("Target:0;0>1&1|2", one, b"aaa.aaa.ccc", true),
        ("Target:0;0>2&1|2", one, b"aaa.aaa.ccc", false),
        ("Target:0;0=2&1|2", one, b"aaa.aaa.aaa.ccc", false),
        ("Target:0;0=3&1|2", one, b"aaa.aaa.aaa.ccc", true),
        ("Target:0;(0|1|2)>3,2", one, b"aaa.aaa.aaa.ccc", true),
        ("Target:0;(0|1|2)>3,3", one, b"aaa.aaa.aaa.ccc", false),
        ("Target:0;(0|1|2)<3", one, b"aaa.bbb", true),
        ("Target:0,FileSize:4-7;0|1|2", one, b"aaa....", true),
        ("Target:0,FileSize:4-7;0|1|2", one, b"aaa.....", false),
        ("Target:0,Container:CL_TYPE_ANY;0|1|2", one, b"aaa", true),
        ("Target:0,Container:CL_TYPE_ZIP;0|1|2", one, b"aaa", false),
        ("Target:10;0|1|2", one, b"aaa", false),
        ("Target:0;0&1&2", "0:616161;626262::i;EOF-3:636363", b"aaa.BbB.ccc", true),
        ("Target:0;0&1&2", "0:616161;626262::i;EOF-3:636363", b".aaa.BbB.ccc", false),
        ("Target:0;0&1&2", "0:616161;626262::i;EOF-3:636363", b"aaa.BbB.cccc.", false),
        ("Target:0;0", "616263::w", b"..a\0b\0c\0", true),
        ("Target:0;0", "616263::w", b"..abc", false),
        ("Target:0;0", "616263::wa", b"..abc", true),
        ("Target:0;0", "616263::wai", b"..A\0b\0C\0", true),
        ("Target:0;0", "616263::f", b"..abc", true),
        ("Target:0;0", "616263::f", b"..abcd", false),
        ("Target:0;0", "616263::wf", b"a\0b\0c\0", true),
        ("Target:0;0", "616263::wf", b".\0a\0b\0c\0.\0", true),
        ("Target:0;0", "616263::wf", b"x\0a\0b\0c\0.\0", false),
        ("Target:0;0", "616263::wf", b".\0a\0b\0c\0x\0", false),
    ];
    for (head, subsignatures, file, want) in cases {
        let (database, report) = compile(&[("t.ldb", &format!("Test.A;{head};{subsignatures}"))]);
        assert_eq!(report.failures, [], "{head}");
        let found = names(&database, FileType::Data, file);
        assert_eq!(
            found == ["Test.A"],
            *want,
            "{head};{subsignatures} in {:?}",
            String::from_utf8_lossy(file)
        );
    }
}

/// What stands behind a gap of different widths is counted where it stands, however many beginnings lead there and however
/// many of it one leads to; the counts are those of `clamscan` 1.4.6.
#[test]
fn subsignatures_count_as_often_as_for_clamscan() {
    let many = [&[b'a'; 30][..], b".", &[b'b'; 30]].concat();
    let cases: [(&str, &[u8], usize); 28] = [
        ("6161", b"aaa.aa", 3),
        ("6161{2}6262", b"aaaaabbbbbb", 3),
        ("6161{2-2}6262", b"aaaaabbbbbb", 3),
        ("6161{1-3}6262", b"aa.bb", 1),
        ("6161{1-3}6262", b"aaa.bb", 1),
        ("6161{1-3}6262", b"aa.bb.bb", 1),
        ("6161{1-3}6262", b"aabbbbbb", 3),
        ("6161{1-3}6262", b"aaaaabbbbbb", 4),
        ("6161{1-3}6262", b"aa..bbb..aa.bb", 3),
        ("6161{1-3}6262", b"aabbcc aabccaabbbcc", 1),
        ("6161{1-3}6262", &many, 3),
        ("6161{1-3}6262", b"aaAA.bbBB", 1),
        ("6161{1-3}6262::i", b"aaAA.bbBB", 3),
        ("6161{1-3}6262::i", b"aa.bbbb.cc.cc.", 3),
        ("6161{-3}6262", b"aabbbbbb", 4),
        ("6161{-3}6262", b"aabbcc aabccaabbbcc", 3),
        ("6161{1-20}6262", b"aa.bb.bb", 2),
        ("6161{1-20}6262", b"aabbcc aabccaabbbcc", 2),
        ("6161{1-20}6262", &many, 20),
        ("616161{2-9}626262", b"aaaaabbbbbb", 4),
        ("6161{0-40}6161", b"aaaaabbbbbb", 2),
        ("6161{0-40}6161", &many, 27),
        ("6161{1-3}6262{1-3}6363", b"aaa.bbb..ccc", 2),
        ("6161{1-3}6262{1-3}6363", b"aa.bbbb.cc.cc.", 1),
        ("6161{1-}6262", b"aabbcc aabccaabbbcc", 2),
        ("6161*6262", b"aa..bbb..aa.bb", 3),
        ("6161[1-3]62", b"aaaaabbbbbb", 4),
        ("0,2:6161{1-3}6262", b"aabbbbbb", 3),
    ];
    for (text, file, want) in cases {
        let lines: Vec<String> =
            (0..33).map(|count| format!("{count};Engine:51-255,Target:0;0={count};{text}")).collect();
        let (database, report) = compile(&[("a.ldb", &lines.join("\n"))]);
        assert_eq!(report.failures, []);
        assert_eq!(names(&database, FileType::Data, file), [want.to_string()], "{text} {file:?}");
    }
}

#[test]
fn findings_come_as_soon_as_they_are_decided() {
    let text = "Test.A;Target:0;0&1;616161;626262\nTest.B;Target:0;0&1=0;616161;787878\n";
    let (database, _) = compile(&[("dir/t.ldb", text)]);
    let (mut scanner, mut hits) = (scanner(&database), Hits::default());
    scanner.open(&part(0, None, FileType::Data));
    scanner.push(PartId::ROOT, Buffer::FileData, b"aaa.bb", &mut hits);
    assert!(hits.0.is_empty());
    scanner.push(PartId::ROOT, Buffer::FileData, b"b. and on", &mut hits);
    let told: Vec<_> = hits.0.iter().map(|hit| (&*hit.name, &*hit.rule, hit.offset, hit.class)).collect();
    assert_eq!(told, [("Test.A", "t.ldb:1", Some(4), Class::Virus)]);
    scanner.end(PartId::ROOT, Buffer::FileData, &mut hits);
    scanner.close(PartId::ROOT, &mut hits);
    assert_eq!(hits.0.len(), 2);
    assert_eq!((&*hits.0[1].name, &*hits.0[1].rule), ("Test.B", "t.ldb:2"));
}

/// The standard antivirus test file.
fn eicar() -> Vec<u8> {
    [r"X5O!P%@AP[4\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!$H+H*"].concat().into_bytes()
}

#[test]
fn hashes_of_each_kind() {
    // Digests of the test file, as every antivirus engine lists them.
    let lists = [
        ("t.hdb", "44d88612fea8a8f36de82e1278abb02f"),
        ("t.hsb", "3395856ce81f2b7382dee72602f798b642f14140"),
        ("t.hsb", "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f"),
    ];
    for (file, digest) in lists {
        for (size, want) in [("68", true), ("*", true), ("69", false), ("67", false)] {
            let (database, report) = compile(&[(file, &format!("{digest}:{size}:Test.A:73"))]);
            assert_eq!(report.failures, []);
            assert_eq!(names(&database, FileType::Text, &eicar()) == ["Test.A"], want, "{digest}:{size}");
            assert_eq!(names(&database, FileType::Text, b"something else"), [""; 0]);
        }
    }
}

#[test]
fn ignored_signatures_are_left_out() {
    let databases =
        [("a.ndb", "Test.A:0:*:616263\nTest.B:0:*:616263\n"), ("a.ldb", "Test.C;Target:0;0;616263")];
    let md5 = |line: &str| hex(&crate::hashes::md5_of(line.as_bytes()));
    let cases = [
        ("x.ign2", "Test.A\nTest.C".to_owned(), vec!["Test.B"]),
        ("x.ign2", format!("Test.A:{}", md5("Test.A:0:*:616263")), vec!["Test.B", "Test.C"]),
        ("x.ign2", format!("Test.A:{}", md5("another line")), vec!["Test.A", "Test.B", "Test.C"]),
        ("x.ign", "a.ndb:2:Test.B".to_owned(), vec!["Test.A", "Test.C"]),
    ];
    for (name, list, want) in cases {
        let (database, report) = compile(&[databases[0], databases[1], (name, &list)]);
        assert_eq!(report.counts.values().map(|count| count.ignored).sum::<u64>(), 3 - want.len() as u64);
        assert_eq!(names(&database, FileType::Data, b"abc"), want, "{list}");
    }
}

#[test]
fn allowed_files_have_no_findings() {
    let md5 = |file: &[u8]| hex(&crate::hashes::md5_of(file));
    let (outer, inner) = (b"outer abc".as_slice(), b"inner abc".as_slice());
    // Which of the two is allowed; the findings' parts.
    let cases = [
        (format!("{}:9:x", md5(outer)), vec![]),
        (format!("{}:9:x", md5(inner)), vec![0]),
        (format!("{}:8:x", md5(outer)), vec![0, 1]),
        (format!("{}:*:x:73", md5(b"else")), vec![0, 1]),
        (String::new(), vec![0, 1]),
    ];
    for (allowed, want) in cases {
        for inner_ends in ["first", "last"] {
            let (database, _) = compile(&[("a.ndb", "Test.A:0:*:616263"), ("a.fp", &allowed)]);
            let (mut scanner, mut hits) = (scanner(&database), Hits::default());
            scanner.open(&part(0, None, FileType::Zip));
            scanner.push(PartId(0), Buffer::FileData, outer, &mut hits);
            // A file longer than any that is allowed need not wait.
            let waits = !allowed.is_empty() && !allowed.contains(":8:");
            assert_eq!(hits.0.is_empty(), waits, "{allowed}");
            scanner.open(&part(1, Some(0), FileType::Data));
            scanner.push(PartId(1), Buffer::FileData, inner, &mut hits);
            if inner_ends == "first" {
                scanner.end(PartId(1), Buffer::FileData, &mut hits);
                scanner.close(PartId(1), &mut hits);
            }
            scanner.end(PartId(0), Buffer::FileData, &mut hits);
            scanner.finish(&mut hits);
            let mut parts: Vec<u32> = hits.0.iter().map(|hit| hit.part.0).collect();
            parts.sort_unstable();
            assert_eq!(parts, want, "{allowed}, inner ends {inner_ends}");
        }
    }
}

#[test]
fn containers_are_known_by_their_type() {
    let (database, report) = compile(&[("a.ldb", "Test.A;Target:0,Container:CL_TYPE_ZIP;0;616263")]);
    assert_eq!(report.failures, []);
    for (outer, want) in [(FileType::Zip, 1), (FileType::Gzip, 0)] {
        let (mut scanner, mut hits) = (scanner(&database), Hits::default());
        scanner.open(&part(0, None, outer));
        scanner.open(&part(1, Some(0), FileType::Data));
        scanner.push(PartId(1), Buffer::FileData, b"abc", &mut hits);
        scanner.finish(&mut hits);
        assert_eq!(hits.0.len(), want);
    }
}

#[test]
fn findings_of_a_part_are_bounded_by_class() {
    let mut text = String::new();
    for number in 0..100 {
        text += &format!("PUA.Test.{number}:0:*:616263\nTest.{number}:0:*:646566\n");
    }
    let (database, _) = compile(&[("a.ndb", &text)]);
    let mut hits = Hits::default();
    let mut scanner = scanner(&database);
    scanner.open(&part(0, None, FileType::Data));
    for _ in 0..10 {
        scanner.push(PartId::ROOT, Buffer::FileData, b"abcdef", &mut hits);
    }
    scanner.finish(&mut hits);
    let viruses = hits.0.iter().filter(|hit| hit.class == Class::Virus).count();
    assert_eq!((viruses, hits.0.len()), (32, 64));
}

#[test]
fn a_flood_near_the_end_is_bounded() {
    let (database, _) = compile(&[("a.ndb", "Test.A:0:EOF-9:616161\nTest.B:0:EOF-3:616161")]);
    assert_eq!(names(&database, FileType::Data, &[b'a'; 300]), ["Test.A", "Test.B"]);
    assert_eq!(names(&database, FileType::Data, b"aaaaaaaaaaaaaaaaaaaab"), ["Test.A"]);
}

#[test]
fn bad_lines_are_reported_and_spoil_nothing() {
    let long = "a".repeat(70_000);
    let files = [
        (
            "a.ndb",
            format!("Good.A:0:*:616263\n{long}\nBad.B:0:*:6162zz\nBad.C:0:EP+0:616263\nGood.D:0:*:646566"),
        ),
        ("a.ldb", "Bad.A;Target:0;0&1;616263;0(x/\r\n# comment\r\nGood.B;Target:0;0;676869\r\n".to_owned()),
        ("a.hdb", "zz:1:Bad\n".to_owned()),
        ("dir/main.cvd", "ClamAV-VDB".to_owned()),
        ("x.cbc", "ClamBC".to_owned()),
    ];
    let mut sources = Sources::new();
    for (name, text) in &files {
        sources.add(name, text.as_bytes());
    }
    sources.add("latin.ndb", b"Na\xefve:0:*:6a6b6c\n\xff\xfe\x00\n");
    let (database, report) = sources.compile();
    let places: Vec<(&str, u32, Option<usize>)> =
        report.failures.iter().map(|f| (&*f.file, f.line, f.column)).collect();
    let want = [
        ("dir/main.cvd", 0, None),
        ("a.ndb", 2, None),
        ("a.ndb", 3, Some(15)),
        ("a.ndb", 4, Some(14)),
        ("a.ldb", 1, Some(30)),
        ("a.hdb", 1, Some(1)),
        ("latin.ndb", 2, None),
    ];
    assert_eq!(places, want);
    assert_eq!((report.counts[&Kind::Ndb].loaded, report.counts[&Kind::Ndb].failed), (3, 4));
    assert_eq!((report.signatures_loaded(), report.signatures_failed()), (4, 6));
    let unknown: Vec<(&str, &str)> = report.unknown.iter().map(|u| (&*u.file, u.kind.as_str())).collect();
    assert_eq!(unknown, [("x.cbc", "cbc")]);
    let found = names(&Arc::new(database), FileType::Data, b"abcdefghijkl");
    assert_eq!(found, ["Good.A", "Good.B", "Good.D", "Na\u{fffd}ve"]);
    assert!(report.failures[2].to_string().starts_with("a.ndb:3:15: "));
}

#[test]
fn a_handler_has_a_file_read_as_another_type_and_finds_nothing_itself() {
    let files = [
        ("t.ldb", "Handler.A;Engine:51-255,HandlerType:CL_TYPE_PDF,Target:0;0&1;616263646566;676869\n"),
        ("t.ndb", "Pdf.A:10:*:6b6c6d6e6f\nPdf.B:10:EOF-2:7879\nOther.A:9:*:6b6c6d6e6f\n"),
    ];
    let (database, report) = compile(&files);
    assert_eq!(report.failures, []);
    let cases: [(FileType, &[u8], &[&str]); 5] = [
        (FileType::Data, b"klmno abcdef ghi klmno xy", &["Pdf.A", "Pdf.B"]),
        (FileType::Text, b"klmno abcdef ghi", &["Pdf.A"]),
        (FileType::Pdf, b"klmno abcdef ghi", &["Pdf.A"]),
        (FileType::Data, b"klmno abcdef", &[]),
        (FileType::Data, b"abcdef ghi", &[]),
    ];
    for (detected, file, want) in cases {
        assert_eq!(names(&database, detected, file), want, "{:?}", String::from_utf8_lossy(file));
    }
    let (_, report) =
        compile(&[("t.ldb", "Handler.A;Engine:51-255,HandlerType:CL_TYPE_ANY,Target:0;0;616263\n")]);
    assert_eq!(report.failures.len(), 1);
}
