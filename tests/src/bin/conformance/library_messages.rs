//! The test messages of MIME libraries, against what each library expects of them. Rule: a difference has a reason, or it is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate_content::{Decoder, Event, Means, More, open};
use lockgate_model::{FileType, Pool};
use serde_json::Value;

use crate::{files_below, name_of};

/// Differences that are right, or that only the library can help: message and reason.
const KNOWN: &[(&str, &str)] = &[
    ("mimetools-testmsgs/frag.msg", CUT),
    ("mimetools-testmsgs/hdr-fakeout.msg", "a header ends at a line of white space that no field follows"),
    ("mimetools-testmsgs/multi-frag.msg", CUT),
    (
        "mimetools-testmsgs/x-gzip64.msg",
        "base64 of a gzip file, which the library leaves: here both are undone",
    ),
    ("testmsgs/malformedHeader-noheader.msg", BODY),
    ("testmsgs/malformedHeaderStartsBody-noheader.msg", BODY),
    ("testmsgs/malformedHeaderStartsBody-nocrlfcrlf.msg", JUNK),
    (
        "testmsgs/missing-inner-boundary.msg",
        "an empty part, where here is the preamble of a multipart without parts",
    ),
    ("testmsgs/very-long-boundary.msg", SPACE),
    ("testmsgs/very-very-long-boundary.msg", SPACE),
    ("testmsgs/weird-boundary.msg", SPACE),
    ("testmsgs/uu-zeegee.msg", "the size is that of another encoding; the files are there by name"),
    ("legacy/001.eml", CHARSET),
    ("legacy/005.eml", CHARSET),
    ("legacy/034.eml", CHARSET),
    ("thirdparty/005.eml", CHARSET),
    ("legacy/017.eml", UUENCODED),
    ("legacy/026.eml", UUENCODED),
    ("legacy/048.eml", UUENCODED),
    ("malformed/009.eml", OUTER),
    ("malformed/011.eml", OUTER),
    ("malformed/012.eml", OUTER),
    ("malformed/019.eml", "fuzzed: delimiters in another case are none here"),
    ("malformed/020.eml", TWO_TYPES),
    ("malformed/021.eml", TWO_TYPES),
    ("data/msg_15.txt", EMPTY),
    ("error_emails/bad_date_header2.eml", EMPTY),
    ("error_emails/missing_body.eml", EMPTY),
    ("mime_emails/raw_email4.eml", EMPTY),
    ("data/msg_25.txt", UNANNOUNCED),
    ("data/msg_31.txt", UNANNOUNCED),
    ("data/msg_38.txt", "delimiters of inner multiparts that have no end divide the text that they stand in"),
    ("data/msg_36.txt", "the header within message/external-body is content here"),
    (
        "multipart_report_emails/multipart_report_multiple_status.eml",
        "the blocks of a delivery status are one part here",
    ),
    ("plain_emails/raw_email_incorrect_header.eml", JUNK),
];

const BODY: &str = "a first line that is no header is the body, all of it";
const CHARSET: &str = "the library turns the charset into another; here the bytes are compared";
const CUT: &str = "a part that is cut off: what follows is decoded with it here, as far as it goes";
const EMPTY: &str = "an empty part, or a delimiter in it, where the multipart has no end";
const JUNK: &str =
    "a line that is none of a header: what follows is read as header, and given as content beside the body";
const OUTER: &str =
    "the outer multipart's delimiter divides, though the inner one has no end (RFC 2046 section 5.1.2)";
const SPACE: &str = "white space at the end of a boundary does not count (RFC 2046 section 5.1.1)";
const TWO_TYPES: &str = "a multipart with a second Content-Type is divided";
const UNANNOUNCED: &str = "the parts are divided, though the header announces another boundary or none";
const UUENCODED: &str = "uuencode is undone";

/// The type of what says none.
const ANY: &str = "*";
/// How deep messages within messages are followed.
const DEPTH_MAX: u8 = 20;

/// Reads messages with Python's own library: a line of JSON for each part.
const PYTHON: &str = r#"
import email, email.policy, hashlib, json, sys
for path in sys.argv[1:]:
    parts = []
    try:
        message = email.message_from_bytes(open(path, 'rb').read(), policy=email.policy.compat32)
        for part in message.walk():
            if part.is_multipart():
                continue
            body = part.get_payload(decode=True)
            if body is not None:
                parts.append({'type': part.get_content_type(), 'body': list(body)})
    except Exception as error:
        print(json.dumps({'path': path, 'error': str(error)}))
        continue
    print(json.dumps({'path': path, 'parts': parts}))
"#;

/// One part without parts of its own.
struct Leaf {
    declared: Option<String>,
    names: Vec<String>,
    bytes: Vec<u8>,
}

/// Messages, each with what is expected of it.
type Messages = Vec<(PathBuf, Vec<Expected>)>;

/// Finds the messages of a library.
type Reader = fn(&Path) -> Messages;

/// What is expected of a part.
enum Expected {
    /// These bytes, line ends apart.
    Bytes(Vec<u8>),
    /// This text, characters beyond ASCII apart: they are in charsets that the gateway has no need to undo.
    Text(String),
    /// So many bytes of a type.
    Size(String, usize),
    /// A file's name.
    Name(String),
    /// So many parts of a type.
    Count(String, usize),
}

/// Each expectation that is written down beside the messages.
pub fn check(directory: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let libraries: [(&str, Reader); 5] = [
        ("mime4j", mime4j),
        ("mime-tools", mime_tools),
        ("mail-parser", mail_parser),
        ("mimekit", mimekit),
        ("python", python),
    ];
    for (library, read) in libraries {
        let (mut messages, mut held, mut others) = (0, 0, Vec::new());
        let place = if library == "python" { directory.to_owned() } else { directory.join(library) };
        for (path, expected) in read(&place) {
            messages += 1;
            let Ok(bytes) = fs::read(&path) else { continue };
            let mut leaves = Vec::new();
            collect(&bytes, DEPTH_MAX, &mut leaves);
            for expected in expected {
                match is_met(&expected, &leaves) {
                    true => held += 1,
                    false => others.push((short(&path), describe(&expected))),
                }
            }
        }
        println!("mime: {library}: {messages} messages, {held} expectations hold, {} do not", others.len());
        for (message, what) in others {
            match KNOWN.iter().find(|(known, _)| *known == message) {
                Some((_, reason)) => println!("  {message}: {what}: {reason}"),
                None => wrong.push(format!("{library}: {message}: {what}")),
            }
        }
    }
    wrong
}

fn is_met(expected: &Expected, leaves: &[Leaf]) -> bool {
    let is_of =
        |leaf: &Leaf, media_type: &str| leaf.declared.as_deref().unwrap_or("text/plain") == media_type;
    match expected {
        Expected::Bytes(bytes) => leaves.iter().any(|leaf| lines(&leaf.bytes) == lines(bytes)),
        Expected::Text(text) => leaves.iter().any(|leaf| letters(&leaf.bytes) == letters(text.as_bytes())),
        // Whether the last line end is the part's or the delimiter's, and whether a line end is one byte or two, differs.
        Expected::Size(media_type, size) => leaves.iter().any(|leaf| {
            let line_ends = leaf.bytes.iter().filter(|byte| **byte == b'\n').count();
            is_of(leaf, media_type) && leaf.bytes.len().abs_diff(*size) <= line_ends.max(1)
        }),
        Expected::Name(name) => leaves.iter().any(|leaf| leaf.names.contains(name)),
        Expected::Count(media_type, count) => {
            leaves.iter().filter(|leaf| is_of(leaf, media_type)).count() >= *count
        }
    }
}

/// The file with the directory that it lies in.
fn short(path: &Path) -> String {
    let directory = path.parent().map(name_of).unwrap_or_default();
    format!("{directory}/{}", name_of(path))
}

fn describe(expected: &Expected) -> String {
    let start = |bytes: &[u8]| bytes[..bytes.len().min(24)].escape_ascii().to_string();
    match expected {
        Expected::Bytes(bytes) => format!("no part of these {} bytes: {}", bytes.len(), start(bytes)),
        Expected::Text(text) => format!("no part of this text: {}", start(text.as_bytes())),
        Expected::Size(media_type, size) => format!("no {media_type} of {size} bytes"),
        Expected::Name(name) => format!("no name {name}"),
        Expected::Count(media_type, count) => format!("less than {count} of {media_type}"),
    }
}

/// Without carriage returns and what is blank at the end.
fn lines(bytes: &[u8]) -> Vec<u8> {
    let plain: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'\r').collect();
    plain.trim_ascii_end().to_vec()
}

/// The letters and digits of ASCII alone.
fn letters(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(u8::is_ascii_alphanumeric).collect()
}

/// The parts of a message, those of messages in it included.
fn collect(message: &[u8], depth: u8, leaves: &mut Vec<Leaf>) {
    let means = Means { pool: Pool::new(64 << 20) };
    let is_mailbox = message.starts_with(b"From ");
    let file_type = if is_mailbox { FileType::Mbox } else { FileType::Mail };
    let Ok(Some(decoder)) = open(file_type, &means) else { return };
    for leaf in children(decoder, message) {
        let is_message = matches!(leaf.declared.as_deref(), Some("message/rfc822" | "message/global"));
        if depth > 0 && is_message {
            collect(&leaf.bytes, depth - 1, leaves);
        }
        if let Ok(Some(decoder)) = open(FileType::Text, &means) {
            // What is found in text has no type but the one that the library sees in its name.
            let found = children(decoder, &leaf.bytes).into_iter();
            leaves.extend(found.map(|found| Leaf { declared: Some(String::from(ANY)), ..found }));
        }
        leaves.push(leaf);
    }
}

fn children(mut decoder: Box<dyn Decoder>, bytes: &[u8]) -> Vec<Leaf> {
    let mut scratch = vec![0; 64 << 10];
    let (mut rest, mut leaves) = (bytes, Vec::<Leaf>::new());
    loop {
        let step = decoder.step(rest, More::Ended, &mut scratch);
        let (used, after) = rest.split_at(step.consumed);
        rest = after;
        match (step.event, leaves.last_mut()) {
            (Event::End, _) => return leaves,
            (Event::Open(entry), _) => {
                let names = entry.name.into_iter().collect();
                leaves.push(Leaf { declared: entry.declared, names, bytes: Vec::new() });
            }
            (Event::Name(name), Some(leaf)) => leaf.names.push(name),
            (Event::Input(range), Some(leaf)) => leaf.bytes.extend_from_slice(&used[range]),
            (Event::Output(made), Some(leaf)) => leaf.bytes.extend_from_slice(&scratch[..made]),
            _ => {}
        }
    }
}

/// `X.msg` with `X_decoded_1_1.txt` and the like: what each part decodes to.
fn mime4j(directory: &Path) -> Messages {
    let files = files_below(directory);
    let messages = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "msg"));
    let bodies = |message: &Path| {
        let prefix = format!("{}_decoded_", message.with_extension("").display());
        let is_body = |path: &&PathBuf| path.to_string_lossy().starts_with(&prefix);
        files.iter().filter(is_body).filter_map(|path| fs::read(path).ok()).map(Expected::Bytes).collect()
    };
    messages.map(|message| (message.clone(), bodies(message))).collect()
}

/// `X.msg` with `X.ref`: lines of Perl, of which type, size and file name of each part are read.
fn mime_tools(directory: &Path) -> Messages {
    let files = files_below(directory);
    let references = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "ref"));
    references.filter_map(|path| Some((path.with_extension("msg"), reference(path)?))).collect()
}

fn reference(path: &Path) -> Option<Vec<Expected>> {
    let text = fs::read_to_string(path).ok()?;
    let mut expected = Vec::new();
    for block in text.split("\n  },") {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.trim().strip_prefix(&format!("\"{key}\" => ")))?;
            let value = line.trim_end_matches(',').trim_matches('"');
            let value = value.strip_prefix("qq{").and_then(|value| value.strip_suffix('}')).unwrap_or(value);
            Some(value.replace("\\@", "@"))
        };
        if !block.contains("\"Part_") {
            continue;
        }
        if let (Some(media_type), Some(Ok(size))) = (value("Type"), value("Size").map(|size| size.parse())) {
            expected.push(Expected::Size(media_type.to_ascii_lowercase(), size));
        }
        expected.extend(value("Filename").map(Expected::Name));
    }
    Some(expected)
}

/// `X.eml` with `X.json`: the text or bytes of each part.
fn mail_parser(directory: &Path) -> Messages {
    let files = files_below(directory);
    let objects = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut messages = Vec::new();
    for path in objects {
        // Where the line ends of the file were changed, the message is the same.
        let name = name_of(path).replace(".crlf.json", ".eml").replace(".json", ".eml");
        let message = path.with_file_name(name);
        let object = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let (Some(object), true) = (object, message.is_file()) else { continue };
        let mut expected = Vec::new();
        parts_of(&object, &mut expected);
        messages.push((message, expected));
    }
    messages
}

fn parts_of(message: &Value, expected: &mut Vec<Expected>) {
    for part in message["parts"].as_array().into_iter().flatten() {
        for (kind, body) in part["body"].as_object().into_iter().flatten() {
            match (kind.as_str(), body) {
                ("Text" | "Html", Value::String(text)) => expected.push(Expected::Text(text.clone())),
                ("Binary" | "InlineBinary", Value::Array(bytes)) => {
                    expected.push(Expected::Bytes(bytes_of(bytes)));
                }
                ("Message", message) => parts_of(message, expected),
                _ => {}
            }
        }
    }
}

fn bytes_of(numbers: &[Value]) -> Vec<u8> {
    numbers.iter().filter_map(|number| u8::try_from(number.as_u64()?).ok()).collect()
}

/// Mailboxes with a summary of their types, and yEnc with the picture that is in it.
fn mimekit(directory: &Path) -> Messages {
    let mut messages = Vec::new();
    for path in files_below(&directory.join("mbox")) {
        let name = name_of(&path);
        let Some(mailbox) = name.strip_suffix("-summary.txt") else { continue };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for line in fs::read_to_string(&path).unwrap_or_default().lines() {
            let Some(media_type) = line.trim().strip_prefix("Content-Type: ") else { continue };
            if !media_type.starts_with("multipart/") {
                *counts.entry(media_type.to_ascii_lowercase()).or_default() += 1;
            }
        }
        let expected = counts.into_iter().map(|(media_type, count)| Expected::Count(media_type, count));
        messages.push((path.with_file_name(format!("{mailbox}.mbox.txt")), expected.collect()));
    }
    let yenc = directory.join("yenc");
    let simple = Expected::Name(String::from("testfile.txt"));
    messages.push((yenc.join("simple.msg"), vec![simple]));
    messages
}

/// The messages of libraries that have no expectation beside them, as Python's library reads them.
fn python(directory: &Path) -> Messages {
    let places = ["cpython", "ruby-mail/emails", "email-mime/Mail"];
    let paths: Vec<PathBuf> = places.iter().flat_map(|place| files_below(&directory.join(place))).collect();
    let is_message = |path: &&PathBuf| {
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        !matches!(extension.as_str(), "gif" | "au" | "jpg" | "png" | "pdf" | "zip")
    };
    let output = Command::new("python3").args(["-c", PYTHON]).args(paths.iter().filter(is_message)).output();
    let printed = output.map(|output| output.stdout).unwrap_or_default();
    let objects = String::from_utf8_lossy(&printed).into_owned();
    let objects = objects.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut messages = Vec::new();
    for object in objects {
        let path = PathBuf::from(object["path"].as_str().unwrap_or_default());
        let parts = object["parts"].as_array().cloned().unwrap_or_default();
        let bodies = parts.iter().filter_map(|part| part["body"].as_array()).map(|body| bytes_of(body));
        messages.push((path, bodies.filter(|body| !body.is_empty()).map(Expected::Bytes).collect()));
    }
    messages
}
