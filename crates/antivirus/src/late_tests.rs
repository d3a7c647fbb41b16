//! What only the end of a file decides: expressions, comparisons, macros, rules, digests of parts of a program. Rule: each
//! case at every cut.

use crate::layout::program_headers;
use crate::tests::{Hits, compile, hex, names, part, scanner};
use lockgate_model::{Buffer, FileType, PartId, Pool, Reason, Sink};

#[test]
fn expressions_follow_their_triggers() {
    // Subsignatures behind `616161`, the expression, the file, whether it is found.
    let cases: &[(&str, &str, &[u8], bool)] = &[
        ("0/b+c/", "1", b"aaa.bbc", true),
        ("0/b+c/", "1", b"bbc.aaa", true),
        ("0/b+c/", "1", b"aab.bbc", false),
        ("0/B+c/i", "0&1", b"aaabbc", true),
        ("0/(.)x\\1/", "1", b"aaa bxb", true),
        ("0/(.)x\\1/", "1", b"aaa bxc", false),
        ("0/b/g", "1=2", b"aaa.b.b", true),
        ("0/b/", "1=2", b"aaa.b.b", false),
        ("0/b/g", "1=2", b"aaa.b.b.b", false),
        ("0>1/b/", "1", b"aaa.aaa.b", true),
        ("0>1/b/", "1", b"aaa.b", false),
        ("4:0/b/", "1", b"aaa.b", true),
        ("3:0/b/", "1", b"aaa.b", false),
        ("3:0/b/r", "1", b"aaa.b", true),
        ("3,1:0/b/", "1", b"aaa.b", true),
        ("2,1:0/b/", "1", b"aaa.b", false),
        ("2,3:0/b/e", "1", b"aaa.b", true),
        ("2,2:0/b/e", "1", b"aaa.b", false),
        ("EOF-2:0/b/", "1", b"aaa.b.", true),
        ("EOF-2:0/b/", "1", b"aaa.b..", false),
        ("0/^aaa/", "1", b"aaa", true),
        ("0/^aaa/", "1", b".aaa", false),
    ];
    for (subsignature, expression, file, want) in cases {
        let line = format!("Test.A;Engine:81-255,Target:0;{expression};616161;{subsignature}");
        let (database, report) = compile(&[("t.ldb", &line)]);
        assert_eq!(report.failures, [], "{line}");
        assert_eq!(names(&database, FileType::Data, file) == ["Test.A"], *want, "{line} {file:?}");
    }
}

#[test]
fn numbers_near_a_match_are_compared() {
    let cases: &[(&str, &[u8], bool)] = &[
        ("0(>>4#ib2#=258)", b".aaa.\x01\x02", true),
        ("0(>>4#il2#=513)", b".aaa.\x01\x02", true),
        ("0(>>4#il2#>513)", b".aaa.\x01\x02", false),
        ("0(>>4#il2#>500,<600)", b".aaa.\x01\x02", true),
        ("0(<<2#ib1#=0x41)", b"..A.aaa", true),
        ("0(>>4#hb4#=0x1f)", b"..aaa. 1f;", true),
        ("0(>>4#hbe4#=0x1f)", b"..aaa. 1f;", false),
        ("0(>>4#db2#=42)", b"..aaa.42", true),
        ("0(>>4#db2#=42)", b"..aaa.4", false),
        ("0(>>4#ab4#=31)", b"..aaa.0x1f", true),
        ("0(>>4#hl4#=0x2010)", b"..aaa.1020", true),
    ];
    for (subsignature, file, want) in cases {
        let line = format!("Test.A;Engine:81-255,Target:0;0&1;616161;{subsignature}");
        let (database, report) = compile(&[("t.ldb", &line)]);
        assert_eq!(report.failures, [], "{line}");
        assert_eq!(names(&database, FileType::Data, file) == ["Test.A"], *want, "{line} {file:?}");
    }
}

#[test]
fn macros_join_signatures() {
    let group = "D1:0:$12:626262\nD2:0:$12:636363\nD3:0:$30:626264";
    let files = [("t.ldb", "Test.A;Engine:51-255,Target:0;0&1;616161;${6-7}12$"), ("t.ndb", group)];
    let (database, report) = compile(&files);
    assert_eq!(report.failures, []);
    let cases: [(&[u8], bool); 5] = [
        (b"aaa...bbb", true),
        (b"aaa....ccc", true),
        (b"aaa..bbb", false),
        (b"aaa...bbd", false),
        (b"aaa aaa...ccc", true),
    ];
    for (file, want) in cases {
        assert_eq!(names(&database, FileType::Data, file) == ["Test.A"], want, "{file:?}");
    }
}

#[test]
fn rules_without_modules() {
    let cases: &[(&str, &[u8], bool)] = &[
        ("$a and $b", b"..abc \x01\x09\x03", true),
        ("$a and $b", b"..abc", false),
        ("$r", b"x12y", true),
        ("#r == 2 and @r[2] == 4", b"x1y.x2y", true),
        ("#a == 2", b"abcABC", true),
        ("$a at 2", b"..abc", true),
        ("$a in (0..1)", b"..abc", false),
        ("2 of them", b"abc x1y", true),
        ("any of them and filesize < 5", b"abc x1y", false),
        ("$a and uint16be(0) == 0x6162", b"abc", true),
        ("not $r", b"abc", true),
    ];
    for (condition, file, want) in cases {
        let text = format!(
            "rule A {{ strings: $a = \"abc\" nocase $b = {{ 01 ?? 03 }} $r = /x\\d+y/ condition: {condition} }}"
        );
        let (database, report) = compile(&[("t.yar", &text)]);
        assert_eq!(report.failures, [], "{text}");
        assert_eq!(names(&database, FileType::Data, file) == ["YARA.A"], *want, "{text} {file:?}");
    }
}

#[test]
fn sections_are_known_by_their_digests() {
    let mut file = program_headers(0x1010, &[(0x1000, 0x200, 0x400), (0x2000, 0x200, 0x600)]);
    file.resize(0x800, b'.');
    let md5 = |bytes: &[u8]| hex(&crate::hashes::md5_of(bytes));
    let section = md5(&[b'.'; 0x200]);
    for (line, want) in [
        (format!("512:{section}:Test.A"), true),
        (format!("*:{section}:Test.A:73"), true),
        (format!("511:{section}:Test.A"), false),
        (format!("512:{}:Test.A", md5(b"")), false),
    ] {
        let (database, report) = compile(&[("t.mdb", &line)]);
        assert_eq!(report.failures, []);
        assert_eq!(names(&database, FileType::Pe, &file) == ["Test.A"], want, "{line}");
    }
}

#[test]
fn files_are_known_by_what_their_container_says() {
    let cases = [
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:0:*:*:*", true),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:3:0:1:*:*", true),
        ("Test.A:*:*:*:*:3-9:*:*:*:*", true),
        ("Test.A:CL_TYPE_RAR:*:\\.exe$:*:*:0:*:*:*", false),
        ("Test.A:*:*:\\.com$:*:*:0:*:*:*", false),
        ("Test.A:*:*:*:*:4-9:*:*:*:*", false),
        ("Test.A:*:*:*:*:*:*:2:*:*", false),
    ];
    for (line, want) in cases {
        let (database, report) = compile(&[("t.cdb", line)]);
        assert_eq!(report.failures, []);
        let (mut scanner, mut hits) = (scanner(&database), Hits::default());
        scanner.open(&part(0, None, FileType::Zip));
        let mut inner = part(1, Some(0), FileType::Data);
        inner.name = Some("a.exe".into());
        scanner.open(&inner);
        scanner.push(PartId(1), Buffer::FileData, b"abc", &mut hits);
        scanner.finish(&mut hits);
        assert_eq!(hits.0.len(), usize::from(want), "{line}");
    }
}

#[test]
fn what_is_known_of_a_file_only_at_its_end_or_its_containers() {
    // CRC-32 of "abc": ISO 3309.
    let cases = [
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:*:*:352441c2:*", "abc", None, 1),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:*:*:352441c3:*", "abc", None, 0),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:1:*:*:*", "", Some(Reason::Encrypted), 1),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:1:*:*:*", "", Some(Reason::Damaged), 0),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:1:*:*:*", "abc", None, 0),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:0:*:*:*", "abc", None, 1),
        ("Test.A:CL_TYPE_ZIP:*:\\.exe$:*:*:0:*:*:*", "", Some(Reason::Encrypted), 0),
        ("Test.A:CL_TYPE_ZIP:9-10:\\.exe$:*:*:*:*:*:*", "abc", None, 1),
        ("Test.A:CL_TYPE_ZIP:9-10:\\.exe$:*:4:*:*:*:*", "abc", None, 0),
        ("Test.A:CL_TYPE_ZIP:11:\\.exe$:*:*:*:*:*:*", "abc", None, 0),
        ("Test.A:CL_TYPE_ZIP:10:\\.exe$:*:3:1:*:*:*", "abc", None, 9),
    ];
    for (line, text, broken, want) in cases {
        let (database, report) = compile(&[("t.cdb", line)]);
        assert_eq!(report.failures.is_empty(), want != 9, "{line}: {:?}", report.failures);
        let (mut scanner, mut hits) = (scanner(&database), Hits::default());
        scanner.open(&part(0, None, FileType::Zip));
        scanner.push(PartId(0), Buffer::FileData, b"PK...", &mut hits);
        for id in 1..3 {
            let mut inner = part(id, Some(0), FileType::Data);
            inner.name = Some("a.exe".into());
            scanner.open(&inner);
            scanner.push(PartId(id), Buffer::FileData, text.as_bytes(), &mut hits);
            if let Some(reason) = broken {
                scanner.broken(PartId(id), reason);
            }
            scanner.end(PartId(id), Buffer::FileData, &mut hits);
            scanner.close(PartId(id), &mut hits);
        }
        scanner.push(PartId(0), Buffer::FileData, b"more.", &mut hits);
        scanner.end(PartId(0), Buffer::FileData, &mut hits);
        scanner.finish(&mut hits);
        // What the container decides is told of the container, once.
        let times = if line.contains(":9-10:") { want } else { want % 9 * 2 };
        assert_eq!(hits.0.len(), times, "{line}");
    }
}

#[derive(Default)]
struct Told(Hits, Vec<Reason>);

impl Sink for Told {
    fn hit(&mut self, hit: lockgate_model::Hit) {
        self.0.hit(hit);
    }

    fn incomplete(&mut self, _part: PartId, reason: Reason) {
        self.1.push(reason);
    }
}

#[test]
fn what_is_not_held_is_undecided_only_where_its_trigger_matched() {
    let (database, _) = compile(&[("t.ldb", "Test.A;Engine:81-255,Target:0;1;616161;0/b+c/")]);
    for (file, want) in [(&b"aaa bbc"[..], &[Reason::Budget][..]), (b"bbb bbc", &[])] {
        let pool = Pool::new(1000);
        let (mut scanner, mut told) = (scanner(&database), Told::default());
        scanner.draw_from(&pool);
        scanner.open(&part(0, None, FileType::Data));
        scanner.push(PartId::ROOT, Buffer::FileData, file, &mut told);
        scanner.push(PartId::ROOT, Buffer::FileData, &[0; 2000], &mut told);
        scanner.end(PartId::ROOT, Buffer::FileData, &mut told);
        scanner.finish(&mut told);
        assert_eq!((told.0.0.len(), told.1.as_slice()), (0, want));
        assert_eq!(pool.bytes_taken(), 0);
    }
}

#[test]
fn signatures_of_several_patterns_are_found_in_texts_beside_expressions() {
    for target in [0, 3, 7] {
        let both = format!(
            "Test.A;Engine:81-255,Target:{target};0&1;6162636465666768;7172737475767778\n\
             Test.B;Engine:81-255,Target:{target};1;6b6c6d6e6f70;0/klm+/\n"
        );
        let (database, _) = compile(&[("t.ldb", &both)]);
        let file_type = if target == 3 { FileType::Html } else { FileType::Text };
        for file in [&b"<p>abcdefgh qrstuvwx</p>"[..], b"<p>qrstuvwx abcdefgh</p>"] {
            assert_eq!(names(&database, file_type, file), ["Test.A"], "target {target}");
            assert_eq!(
                names(&database, FileType::Text, &[b"<html>", file].concat()),
                ["Test.A"],
                "target {target}"
            );
        }
    }
}

#[test]
fn a_text_with_a_tag_too_late_is_read_as_a_page_from_there_on() {
    let (database, _) = compile(&[("t.ndb", "Test.A:3:*:61626320646566\n")]);
    for (pool_bytes, reasons) in [(1 << 20, &[][..]), (1000, &[Reason::Budget])] {
        let (mut scanner, mut told) = (scanner(&database), Told::default());
        scanner.draw_from(&Pool::new(pool_bytes));
        scanner.open(&part(0, None, FileType::Text));
        for chunk in [&b"words ".repeat(600)[..], b"<html>", b"abc\n\ndef"] {
            scanner.push(PartId::ROOT, Buffer::FileData, chunk, &mut told);
        }
        scanner.end(PartId::ROOT, Buffer::FileData, &mut told);
        scanner.finish(&mut told);
        assert_eq!((told.0.0.len(), told.1.as_slice()), (1, reasons));
    }
}

#[test]
fn of_many_expressions_those_whose_text_is_there_are_run() {
    let expressions = [
        "invoice[\\d]{2}\\.exe",
        "\\bname\\s\\-\\s[a-z]{2,4}\\.jar",
        "(?i)Photo\\.SCR",
        "[ab]\\d",
        "(?:one|two)\\.exe",
        "report_(\\d)\\1",
        "^aaa.*end$",
    ];
    let line =
        |(number, text): (usize, &&str)| format!("Test.{number};Engine:81-255,Target:0;1;616161;0/{text}/");
    let lines: Vec<String> = expressions.iter().enumerate().map(line).collect();
    let (database, report) = compile(&[("t.ldb", &lines.join("\n"))]);
    assert_eq!(report.failures, []);
    let cases: &[(&[u8], &[usize])] = &[
        (b"aaa nothing", &[]),
        (b"aaa invoice17.exe", &[0]),
        (b"aaa Invoice17.exe", &[]),
        (b"name - abc.jar aaa", &[1]),
        (b"aaa pHoTo.ScR two.exe a1", &[2, 3, 4]),
        (b"aaa report_33 report_34 end", &[5, 6]),
        (b"invoice17.exe name - abc.jar photo.scr b0 one.exe report_11", &[]),
    ];
    for (file, want) in cases {
        let want: Vec<String> = want.iter().map(|number| format!("Test.{number}")).collect();
        assert_eq!(names(&database, FileType::Data, file), want, "{}", file.escape_ascii());
        // As each of them finds alone.
        let alone = lines.iter().flat_map(|line| names(&compile(&[("t.ldb", line)]).0, FileType::Data, file));
        assert_eq!(alone.collect::<Vec<_>>(), want);
    }
}

#[test]
fn what_is_held_is_hashed_at_its_end_and_what_is_no_longer_held_as_it_comes() {
    let file: Vec<u8> = (0..5000u32).flat_map(u32::to_le_bytes).collect();
    let long: Vec<u8> = (0..600_000u32).flat_map(u32::to_le_bytes).collect();
    let md5 = |bytes: &[u8]| hex(&crate::hashes::md5_of(bytes));
    let list = format!("{}:{}:Test.A\n{}:{}:Test.B", md5(&file), file.len(), md5(&long), long.len());
    let expression = "Test.C;Engine:81-255,Target:0;1;616161;0/b+c/";
    let (database, report) = compile(&[("t.hdb", &list), ("t.ldb", expression)]);
    assert_eq!(report.failures, []);
    for (bytes, pool_bytes, want) in [
        (&file[..], 1 << 20, "Test.A"),
        (&file[..file.len() - 1], 1 << 20, ""),
        (&file[..], 40_000, "Test.A"),
        (&file[..], 100, "Test.A"),
        (&long[..], 32 << 20, "Test.B"),
        (&long[..], 1 << 20, "Test.B"),
        (&long[1..], 32 << 20, ""),
    ] {
        for piece in [1000, 4096, 65_536, usize::MAX] {
            let pool = Pool::new(pool_bytes);
            let (mut scanner, mut hits) = (scanner(&database), Hits::default());
            scanner.draw_from(&pool);
            scanner.open(&part(0, None, FileType::Data));
            for chunk in bytes.chunks(piece) {
                scanner.push(PartId::ROOT, Buffer::FileData, chunk, &mut hits);
            }
            scanner.end(PartId::ROOT, Buffer::FileData, &mut hits);
            scanner.finish(&mut hits);
            let names: Vec<&str> = hits.0.iter().map(|hit| &*hit.name).collect();
            assert_eq!(names.concat(), want, "{} bytes by {piece}, {pool_bytes}", bytes.len());
            assert_eq!(pool.bytes_taken(), 0);
        }
    }
}
