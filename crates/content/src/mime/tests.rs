//! Whole messages. Rule: each case is tried at every cut.

use super::MimeDecoder;
use super::limits::{
    BOUNDARY_BYTES_MAX, HEADER_FIELDS_BYTES_MAX, HEADER_NAME_BYTES_MAX, MULTIPART_DEPTH_MAX, NAME_CHARS_MAX,
    PARAMETERS_MAX,
};
use crate::trace::{Said, assert_cut_invariant, trace};
use lockgate_model::{Buffer, Pool, Reason};
use std::sync::Arc;

/// What is said of a message, its header block apart, with LF and with CRLF as line ends.
fn said(message: &str) -> String {
    let unix = assert_cut_invariant(&|| Box::new(MimeDecoder::new(&Pool::new(1 << 26))), message.as_bytes());
    let wire = assert_cut_invariant(
        &|| Box::new(MimeDecoder::new(&Pool::new(1 << 26))),
        message.replace('\n', "\r\n").as_bytes(),
    );
    let (unix, wire) = (written(&unix), written(&wire).replace("\\r\\n", "\\n"));
    assert_eq!(unix, wire, "{message}");
    unix
}

/// One line for each thing said.
fn written(said: &[Said]) -> String {
    let lines = said.iter().filter_map(|said| {
        Some(match said {
            Said::Open(entry) => {
                let name = entry.name.as_deref().map(|name| format!(" {name:?}")).unwrap_or_default();
                let declared = entry.declared.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
                format!("open {}{declared}{name}", entry.label)
            }
            Said::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
            Said::Name(name) => format!("also {name:?}"),
            Said::Side(..) | Said::End => return None,
            Said::Close => "close".to_owned(),
            Said::Broken(reason) => format!("broken {reason}"),
            Said::Incomplete(reason) => format!("incomplete {reason}"),
            Said::Anomaly(words) => words.to_string(),
        })
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn shapes() {
    for (message, expected) in [
        ("", "open 1; close"),
        ("Subject: x\n\nbody\n", r#"open 1; "body\n"; close"#),
        ("Subject: x\n", "open 1; close"),
        ("\nbody\n--x\n", r#"open 1; "body\n--x\n"; close"#),
        (
            "Subject: x\njunk\nX: y\nContent-Transfer-Encoding: base64\n\nYQ==\n",
            r#"open 1.header; "junk\nX: y\nContent-Transfer-Encoding: base64\n\n"; close; MIME: a header line without a name; open 1; "a"; close"#,
        ),
        (
            "Subject: x\njunk\n-- \nmore",
            r#"open 1.header; "junk\n-- \nmore"; close; MIME: a header line without a name; open 1; close"#,
        ),
        ("no header", r#"open 1; "no header"; close"#),
        (
            "no header at all\n\nbody\n",
            r#"MIME: a body begins without a blank line after its header; open 1; "no header at all\n\nbody\n"; close"#,
        ),
        (
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\nContent-Type: text/html\n\ntwo\n\n--b--\n",
            r#"open 1; "one"; close; open 2 text/html; "two\n"; close"#,
        ),
        (
            "Content-Type: multipart/mixed; boundary=\"b\"\n\npre\n\n--b  \n\none\n--b--\nepi\n",
            r#"open preamble; "pre\n"; close; open 1; "one"; close; open epilogue; "epi\n"; close"#,
        ),
        (
            concat!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n",
                "Content-Type: multipart/alternative; boundary=bc\n\n--bc\n\none\n--bc\n\ntwo\n--bc--\n\n--b\n",
                "Content-Type: message/rfc822\n\nSubject: x\n\n--c\n--b--\n"
            ),
            r#"open 1.1; "one"; close; open 1.2; "two"; close; open 2 message/rfc822; "Subject: x\n\n--c"; close"#,
        ),
        (
            "Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n\nLS1iCgpY",
            r#"MIME: a multipart with a Content-Transfer-Encoding; open preamble message/rfc822; "--b\n\nX"; close; incomplete truncated"#,
        ),
        (
            "Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: x\n\n--b--",
            r#"open 1 message/rfc822; "Subject: x\n"; close"#,
        ),
        (
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n",
            r#"open 1; "one\n"; close; incomplete truncated"#,
        ),
        (
            "Content-Type: message/partial; id=x; number=1\n\nhalf",
            r#"open 1 message/partial; incomplete partial; "half"; close"#,
        ),
    ] {
        assert_eq!(said(message), expected, "{message}");
    }
}

#[test]
fn boundaries_that_readers_disagree_on() {
    let unannounced = "MIME: parts are divided by a boundary that the header does not announce";
    let two = |boundary: &str| {
        format!("\n--{boundary}\nContent-Type: a/b\n\none\n--{boundary}\n\ntwo\n--{boundary}--\n")
    };
    let parts = r#"open 1 a/b; "one"; close; open 2; "two"; close"#;
    for (header, boundary, expected) in [
        ("multipart/mixed; boundary=x", "y", format!("{unannounced}; {parts}")),
        ("multipart/mixed; boundary=\"x \"", "x", parts.to_owned()),
        ("multipart/mixed; boundary=\"\"", "", format!("MIME: a multipart with an empty boundary; {parts}")),
        (
            "multipart/mixed; boundary=x; boundary=y",
            "y",
            format!("MIME: a parameter is given more than once; {parts}"),
        ),
        (
            "multipart/mixed; boundary=x\nContent-Type: multipart/mixed; boundary=y",
            "y",
            format!("MIME: Content-Type is given more than once; {parts}"),
        ),
        (
            "text/plain\nContent-Type: multipart/mixed; boundary=y",
            "y",
            format!("MIME: Content-Type is given more than once; {parts}"),
        ),
        (
            "multipart/mixed",
            "y",
            format!(
                "MIME: a multipart without a boundary; open 1 multipart/mixed; {unannounced}; close; {}",
                r#"open 2 a/b; "one"; close; open 3; "two"; close"#
            ),
        ),
        ("multi/mixed; boundary=y", "y", format!("MIME: a Content-Type that has to be guessed; {parts}")),
    ] {
        let message = format!("Content-Type: {header}\n{}", two(boundary));
        assert_eq!(said(&message), expected, "{header}");
    }
}

#[test]
fn delimiter_lines() {
    let junk = "MIME: more than a boundary in a delimiter line";
    let long = format!("--b{}", "x".repeat(3000));
    for (body, expected) in [
        ("--b\n\n--x\n\n--\n--b--", r#"open 1; "--x\n\n--"; close"#.to_owned()),
        ("--b\n\na\n--b c\n\nd\n--b--", format!(r#"open 1; "a"; close; {junk}; open 2; "d"; close"#)),
        (&format!("--b\n\na\n{long}\n\nd\n--b--"), format!(r#"open 1; "a"; close; {junk}; open 2; "d"; close"#)),
        ("--b\nContent-Type: a/b\n--b\n\nc\n--b--", "MIME: a boundary within a header block; open 1 a/b; close; open 2; \"c\"; close".to_owned()),
        ("--b\n\na\n--b--\n\n--b\n\nc\n--b--", "open 1; \"a\"; close; MIME: a part follows the end of its multipart; open 2; \"c\"; close".to_owned()),
        ("--b\nx: y\njunk\n--c\n--b--", "open 1.header; \"junk\\n--c\\n\"; close; MIME: a header line without a name; MIME: a boundary within a header block; open 1; close".to_owned()),
        ("--b\njunk\n--b--", "MIME: a body begins without a blank line after its header; open 1; \"junk\"; close".to_owned()),
        ("--b\n\na\n\r--b--", "open 1; \"a\\n\"; close; MIME: a boundary that only a bare CR puts at the beginning of a line".to_owned()),
        ("--c\n--cc\nx: y\n--b\n\na\n--b--\n--d\n\n", "open preamble; \"--c\\n--cc\\nx: y\"; close; open 1; \"a\"; close; open epilogue; \"--d\\n\\n\"; close".to_owned()),
    ] {
        let message = format!("Content-Type: multipart/mixed; boundary=b\n\n{body}");
        assert_eq!(said(&message), expected, "{body}");
    }
}

#[test]
fn transfers_and_names() {
    for (header, body, expected) in [
        ("Content-Transfer-Encoding: base64", "YWJj\nZGVm\nZw==\n", r#"open 1; "abcdefg"; close"#),
        ("Content-Transfer-Encoding: BASE64 ", "YWJ", r#"open 1; "ab"; close"#),
        ("Content-Transfer-Encoding: quoted-printable", "a=3D=\nb =\n ", r#"open 1; "a=b "; close"#),
        (
            "Content-Transfer-Encoding: x-none",
            "a",
            r#"MIME: an unknown Content-Transfer-Encoding; open 1; "a"; close"#,
        ),
        (
            "Content-Transfer-Encoding: base64",
            "YW.Jj",
            r#"open 1; "abc"; MIME: base64 with characters that do not belong to it; close; open 1.as-quoted; "YW.Jj"; close"#,
        ),
        (
            "Content-Type: application/x; name=\"=?utf-8?Q?a=2Eexe?=\"\nContent-Disposition: attachment",
            "",
            r#"open 1 application/x "a.exe"; close"#,
        ),
        (
            "content-disposition: attachment;\n\tfilename*0*=utf-8''%41;\n filename*1=.exe",
            "",
            r#"open 1 "A.exe"; close"#,
        ),
    ] {
        let single = format!("{header}\n\n{body}");
        assert_eq!(said(&single), expected, "{header}");
        let multipart = format!("Content-Type: multipart/x; boundary=\"=_\"\n\n--=_\n{single}\n--=_--\n");
        assert_eq!(said(&multipart), expected, "{header}");
    }
}

#[test]
fn bodies_with_two_readings_are_read_in_both() {
    let encoding = |value: &str, body: &str| format!("Content-Transfer-Encoding: {value}\n\n{body}");
    let broken = "MIME: base64 whose lines end within a group of characters";
    let malformed = "MIME: malformed quoted-printable";
    let line = "YWJj".repeat(10);
    for (message, expected) in [
        (
            encoding("base64\nContent-Transfer-Encoding: 7bit", "YWJj"),
            r#"MIME: Content-Transfer-Encoding is given more than once; open 1; "abc"; close; open 1.as-it-stands; "YWJj"; close"#.to_owned(),
        ),
        (
            encoding("base64, quoted-printable", "YWJj"),
            r#"MIME: a Content-Transfer-Encoding that has to be guessed; open 1; "abc"; close; open 1.as-quoted; "YWJj"; close"#.to_owned(),
        ),
        (
            encoding("base64", "A\n\nYWJj"),
            format!(r#"open 1; "\x01\x85\x89c"; {broken}; close; open 1.by-line; "abc"; close"#).replace(r"\x01\x85\x89c", r"\x01\x85\x89"),
        ),
        (
            encoding("quoted-printable", "=P=3D"),
            format!(r#"open 1; "=P="; {malformed}; close; open 1.marks-dropped; "P="; close; open 1.escapes-dropped; "="; close"#),
        ),
        (
            encoding("quoted-printable", &format!("{line}\n")),
            format!(
                r#"open 1; "{line}\n"; MIME: base64 that is said to be quoted-printable; close; open 1.as-base64; "{}"; close"#,
                "abc".repeat(10)
            ),
        ),
        (
            "Subject: x\n Content-Transfer-Encoding: base64\n\nYWJj".to_owned(),
            r#"MIME: a header field that is folded into the one before it; open 1; "abc"; close; open 1.as-it-stands; "YWJj"; close"#.to_owned(),
        ),
        (
            "Content-Transfer-Encoding: base64\nABCD\n\nYWJj".to_owned(),
            r#"MIME: a body begins without a blank line after its header; open 1; "\x00\x10\x83abc"; close; open 1.behind-line; "abc"; close; open 1.behind-blank-line; "abc"; close"#.to_owned(),
        ),
        (
            "Content-Transfer-Encoding: quoted-printable\n \t\n=41=42\n\n=43".to_owned(),
            r#"MIME: a body begins without a blank line after its header; open 1; "AB\n\nC"; close; open 1.behind-line; "\nC"; close; open 1.behind-blank-line; "C"; close"#.to_owned(),
        ),
        (
            "Content-Type: text/plain\nContent-Type: message/rfc822\n\nx".to_owned(),
            r#"MIME: Content-Type is given more than once; open 1 text/plain; "x"; close; open 1.as-message message/rfc822; "x"; close"#.to_owned(),
        ),
    ] {
        assert_eq!(said(&message), expected, "{message}");
        let part = format!("Content-Type: multipart/mixed; boundary=\"?\"\n\n--?\n{message}\n--?--");
        if !message.ends_with('\n') {
            assert_eq!(said(&part), expected, "{part}");
        }
    }
}

#[test]
fn an_inner_multipart_that_is_cut_goes_on_for_some() {
    let head = "Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: multipart/mixed; boundary=i\n\n--i\n";
    for (body, expected) in [
        (
            "Content-Transfer-Encoding: base64\n\n--o\nYWJj\n--i--\n--o--\n",
            r#"open 1.1; close; MIME: a body begins without a blank line after its header; MIME: a multipart within a multipart has no end; open 2; "YWJj"; close; open 2.as-before; "abc"; close"#,
        ),
        (
            "\none\n--o\n\ntwo\n--i\n\nthree\n--o--\n",
            r#"open 1.1; "one"; close; MIME: a multipart within a multipart has no end; open 2; "two"; close; open 3; "three"; close"#,
        ),
    ] {
        assert_eq!(said(&format!("{head}{body}")), expected, "{body}");
    }
}

#[test]
fn a_second_reading_that_cannot_be_held_is_said() {
    let head = "Content-Transfer-Encoding: base64\n\n";
    let late = format!("{head}{}A\nYWJj", "YWJj".repeat(20_000));
    let early = format!("{head}A\nYWJj{}", "YWJj".repeat(20_000));
    let read = |message: &str, pool: &Arc<Pool>| {
        let whole = trace(&mut MimeDecoder::new(pool), [message.as_bytes()]);
        assert_eq!(trace(&mut MimeDecoder::new(pool), message.as_bytes().chunks(7)), whole);
        assert_eq!(pool.bytes_taken(), 0, "all is given back");
        whole
    };
    let pool = Pool::new(1 << 20);
    let children = |said: &[Said]| said.iter().filter(|said| matches!(said, Said::Open(_))).count();
    let said = read(&late, &pool);
    assert!(said.contains(&Said::Incomplete(Reason::Held)) && children(&said) == 1);
    let said = read(&early, &pool);
    assert!(!said.contains(&Said::Incomplete(Reason::Held)) && children(&said) == 2);
    let said = read(&early, &Pool::new(70_000));
    assert!(said.contains(&Said::Incomplete(Reason::Budget)) && children(&said) == 1);
    let clean = format!("{head}{}", "YWJj".repeat(20_000));
    assert_eq!(read(&clean, &Pool::new(1_000)).len(), 5, "nothing is said of a body without a doubt");
}

#[test]
fn every_name_that_some_reader_sees() {
    let differ = "MIME: two file names of different kind for one part; ";
    for (header, expected) in [
        ("Content-Disposition: attachment; filename=a.exe", r#" "a.exe""#.to_owned()),
        (
            "Content-Type: a/b; name=\"x.exe\"\nContent-Disposition: x; filename=a.exe",
            r#" a/b "a.exe"; also "x.exe""#.to_owned(),
        ),
        (
            "Content-Type: a/b; name=x.exe\nContent-Disposition: x; filename=a.png",
            r#" a/b "a.png"; also "x.exe""#.to_owned(),
        ),
        (
            "Content-Disposition: x; filename*1=exe; filename*0=a.",
            r#" "a.exe"; also "exea."; also "exea""#.to_owned(),
        ),
        (
            "Content-Disposition: x; filename*0=a.\nContent-Type: a/b; filename*1=exe",
            r#" a/b "a."; also "exe"; also "a.exe"; also "a""#.to_owned(),
        ),
        ("Content-Disposition: x; filename=\"a.exe. \"", r#" "a.exe. "; also "a.exe""#.to_owned()),
        ("Content-Disposition: x; filename*=''a.exe%00.txt", r#" "a.exe\0.txt"; also "a.exe""#.to_owned()),
        ("Content-Type: a/b; name=x;.exe", r#" a/b "x"; also "x;.exe""#.to_owned()),
        ("Content-Disposition: x; filename=a.z(.gif)ip", r#" "a.z(.gif)ip"; also "a.zip""#.to_owned()),
    ] {
        let said = said(&format!("{header}\n\n"));
        let said = said.strip_prefix(differ).unwrap_or(&said);
        let said = said.strip_prefix("open 1").and_then(|said| said.strip_suffix("; close"));
        assert_eq!(said, Some(expected.as_str()), "{header}");
    }
}

#[test]
fn the_header_block_is_given_as_it_came() {
    let message = b"Received: from x\r\n\tby y\r\nSubject: z\r\n\r\nbody";
    let said = assert_cut_invariant(&|| Box::new(MimeDecoder::new(&Pool::new(1 << 26))), message);
    assert_eq!(said[0], Said::Side(Buffer::MailHeader, message[..message.len() - 4].to_vec()));
}

#[test]
fn a_first_line_too_long_for_a_name_is_the_body_at_every_cut() {
    let message = b"no field at all ".repeat(200);
    assert_cut_invariant(&|| Box::new(MimeDecoder::new(&Pool::new(1 << 26))), &message);
}

#[test]
fn what_is_beyond_a_limit_is_said() {
    let nested = |boundary: &str, levels: usize| {
        let level = |n| format!("Content-Type: multipart/mixed; boundary={n}{boundary}\n\n--{n}{boundary}\n");
        (0..levels).map(level).collect::<String>()
    };
    for (message, expected) in [
        (nested("x", MULTIPART_DEPTH_MAX + 1), Said::Incomplete(Reason::Depth)),
        (nested(&"x".repeat(900), 10), Said::Incomplete(Reason::Depth)),
        (nested(&"x".repeat(BOUNDARY_BYTES_MAX), 1), Said::Anomaly("MIME: a boundary is too long")),
        (
            format!("Content-Type: a/b; name={}\n\n", "x".repeat(HEADER_FIELDS_BYTES_MAX)),
            Said::Incomplete(Reason::Held),
        ),
        (format!("A: {}\n", "x".repeat(1 << 20)), Said::Anomaly("MIME: a header block is too long")),
        (
            format!("A: b\n{}: x\n", "x".repeat(HEADER_NAME_BYTES_MAX + 1)),
            Said::Anomaly("MIME: a header field's name is too long"),
        ),
        (
            format!("Content-Type: a/b{}\n", ";c=d".repeat(PARAMETERS_MAX + 1)),
            Said::Anomaly("MIME: too many parameters"),
        ),
        (
            format!("Content-Type: a/b; name={}\n", "x".repeat(NAME_CHARS_MAX + 1)),
            Said::Anomaly("MIME: a file name is too long"),
        ),
    ] {
        let said = trace(&mut MimeDecoder::new(&Pool::new(1 << 26)), [message.as_bytes()]);
        assert!(said.contains(&expected), "{expected:?} is missing: {:.200}", written(&said));
        assert_eq!(trace(&mut MimeDecoder::new(&Pool::new(1 << 26)), message.as_bytes().chunks(7)), said);
    }
}

#[test]
fn forms() {
    let form = |content_types: &[&str], body: &str| {
        let types: Vec<Vec<u8>> = content_types.iter().map(|value| value.as_bytes().to_vec()).collect();
        let said = assert_cut_invariant(
            &|| Box::new(MimeDecoder::of_form(&types, &Pool::new(1 << 26))),
            body.as_bytes(),
        );
        written(&said)
    };
    let field = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n";
    let file = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.zip\"\r\nContent-Type: application/zip\r\n\r\nPK\r\n";
    let bare = "--b\r\n\r\nbare\r\n";
    let coded =
        "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n";
    for (content_types, body, expected) in [
        (
            &["multipart/form-data; boundary=b"][..],
            format!("{field}{file}--b--\r\n"),
            "open a; \"one\"; close; open f application/zip \"x.zip\"; \"PK\"; close",
        ),
        (
            &["Multipart/Form-Data; charset=x; BOUNDARY=\"b\""],
            format!("{bare}--b--"),
            "open 1; \"bare\"; close",
        ),
        (
            &["multipart/form-data; boundary=b"],
            field.to_owned(),
            "open a; \"one\\r\\n\"; close; incomplete truncated",
        ),
        (
            &["multipart/form-data; boundary=b"],
            format!("{coded}--b--\r\n"),
            "open a; incomplete unsupported; \"YQ==\"; close",
        ),
        (
            &["multipart/form-data; boundary=x", "multipart/form-data; boundary=b"],
            format!("{bare}--b--"),
            "MIME: Content-Type is given more than once; open 1; \"bare\"; close",
        ),
        (
            &["multipart/form-data; boundary=x"],
            "raw content".to_owned(),
            "open preamble; \"raw content\"; close; incomplete truncated",
        ),
        (
            &["multipart/form-data"],
            "anything".to_owned(),
            "MIME: a multipart without a boundary; open 1 multipart/form-data; \"anything\"; close",
        ),
    ] {
        let said = form(content_types, &body);
        assert_eq!(said, expected, "{body}");
    }
}
