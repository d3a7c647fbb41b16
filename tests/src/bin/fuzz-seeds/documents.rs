//! Documents with something in them. Rule: one seed for each thing that a document may carry, and each again cut short.

use crate::{CUTS, Corpus};
use lockgate_tests::Directory;
use lockgate_tests::process::run;
use std::process::Command;

/// The numbers of the types in the target.
const OLE2: u8 = 0;
const RTF: u8 = 1;
const PDF: u8 = 2;
const TNEF: u8 = 3;
const HTML: u8 = 4;
const ONENOTE: u8 = 5;

pub(crate) fn seeds(corpus: &Corpus) {
    let put = |name: &str, which: u8, content: &[u8]| {
        corpus.put("documents", name, &[&[which], &CUTS[..], content].concat());
        let half = &content[..content.len() * 2 / 3];
        corpus.put("documents", &format!("{name}.truncated"), &[&[which], &CUTS[..], half].concat());
    };
    for (name, bytes) in compound_files() {
        put(&name, OLE2, &bytes);
    }
    let object = object("Package", &package());
    for (index, text) in rtf(&object).into_iter().enumerate() {
        put(&format!("rtf{index}"), RTF, text.as_bytes());
    }
    for (index, file) in pdf().into_iter().enumerate() {
        put(&format!("pdf{index}"), PDF, &file);
    }
    put("tnef", TNEF, &tnef());
    for (index, page) in PAGES.iter().enumerate() {
        put(&format!("html{index}"), HTML, page.as_bytes());
    }
    // A program in a string, whole and in pieces.
    let string = format!("f0VMRgIBAQAAAAAAAAAAAAMAPgABAAAA{}", "QUJDRA+/".repeat(60));
    put("string", HTML, format!("<script>save(atob(\"{string}\"), 'a')</script> 'data:,x'").as_bytes());
    let pieces = string.replace("QUJDRA+/QUJDRA+/", "QUJDRA+\\/QUJDRA\" +\n \"=+/");
    put("pieces", HTML, format!("f = \"{pieces}\"; f += \"QQ==\"").as_bytes());
    let guid = b"\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac";
    let file = |content: &[u8]| {
        [&guid[..], &(content.len() as u64).to_le_bytes(), &[0; 12], content, b"footer"].concat()
    };
    put("onenote", ONENOTE, &[b"before".to_vec(), file(b"one"), guid[..9].to_vec(), file(b"")].concat());
}

const PAGES: &[&str] = &[
    "<a href=\"data:text/plain;base64,YWJj\"> url(data:image/gif;charset=x;base64,YW I%3D) data:,a%20b%zz ",
    "'data:text/html,<img src=\"data:a/b,in\">' data:x, data:data:a/b;base64,YQ",
    "<script>#@~^EAAAAA==7/L4K6,J4+sVKJ@#@&@!@*@$oAUAAA==^#~@ #@~^////fw==x 'data:,y' #@~^!!!!!!!!",
];

/// A packaged file, as the Object Packager stores it.
fn package() -> Vec<u8> {
    let place = b"C:\\T\\a.exe\0";
    let head = [b"\x02\0a.exe\0C:\\a.exe\0\0\0\x03\0".to_vec(), (place.len() as u32).to_le_bytes().to_vec()]
        .concat();
    [&head[..], place, b"\x07\0\0\0programrest"].concat()
}

/// An object in OLE 1.0's form.
fn object(class: &str, native: &[u8]) -> Vec<u8> {
    let class_bytes = (class.len() as u32 + 1).to_le_bytes();
    let head =
        [b"\x01\x05\0\0\x02\0\0\0".to_vec(), class_bytes.to_vec(), class.as_bytes().to_vec(), vec![0; 9]]
            .concat();
    [&head[..], &(native.len() as u32).to_le_bytes(), native, b"picture"].concat()
}

fn rtf(object: &[u8]) -> Vec<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let whole = hex(object);
    let (left, right) = whole.split_at(31);
    vec![
        format!("{{\\rtf1{{\\object\\objemb{{\\*\\objclass Package}}{{\\*\\objdata {whole}}}}}text}}"),
        format!("{{\\rt{{\\objdata {left}\r\n {{\\*\\junk abcdef {{01}}}}\\x-12 g\\'ab{right}}}"),
        format!(
            "{{\\rtf1{{\\pict{{\\*\\picprop{{\\sn 1}}}}\\pngblip 8950}}{{\\*\\objdata 0105{{\\object{{\\objdata {}}}}}}}}}",
            hex(b"raw")
        ),
        "{\\rtf1{\\*\\objdata \\bin9 \u{1}\u{5}raw}\\\\}\\bin3 {\\pict 00}}}".to_owned(),
        format!("{{\\rtf1{{\\*\\objdata {}}}}}", hex(&object[..8])),
    ]
}

/// A container that says each byte for itself (MS-OVBA, section 2.4.1).
fn compressed(source: &[u8]) -> Vec<u8> {
    let data: Vec<u8> = source.chunks(8).flat_map(|group| [&[0], group].concat()).collect();
    [&[1], &(0xb000 | (data.len() as u16 - 1)).to_le_bytes()[..], &data].concat()
}

fn compound_files() -> Vec<(String, Vec<u8>)> {
    let directory = Directory::new("compound");
    let module = [&b"cache"[..], &compressed(b"Attribute VB_Name = \"M\"\r\nSub A()\r\n")].concat();
    let copied = b"\x01\x03\xb0\x02a\x45\x00";
    let record = |version: u16, kind: u16, data: &[u8]| {
        let head = [version.to_le_bytes(), kind.to_le_bytes()].concat();
        [&head[..], &(data.len() as u32).to_le_bytes(), data].concat()
    };
    let zlib = b"\x05\0\0\0\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15";
    let slides = [record(0, 4000, b"text"), record(0, 0x1011, b"plain"), record(0x10, 0x1011, zlib)].concat();
    let native = package();
    let files: [(&str, Vec<u8>); 10] = [
        ("VBA/dir", compressed(b"\x09\0\x04\0\0\0\x01\0\0\0\x02\0\x1a\0\x01\0\0\0M\x32\0\x02\0\0\0M\0\x31\0\x04\0\0\0\x05\0\0\0")),
        ("VBA/M", module.clone()),
        ("VBA/N", module),
        ("VBA/O", copied.to_vec()),
        ("\u{1}Ole10Native", [&(native.len() as u32).to_le_bytes(), &native[..]].concat()),
        ("PowerPoint Document", [record(0x0f, 1000, &slides), record(0, 1, b"")].concat()),
        ("Workbook", b"\x09\x08\x02\0\0\0\x2f\0\x02\0\0\0".to_vec()),
        ("WordDocument", vec![1; 5000]),
        ("__substg1.0_10090102", compressed_rtf()),
        ("Current User", vec![0xdf; 20]),
    ];
    for (name, content) in &files {
        directory.write(name, content);
    }
    let streams: Vec<&str> = files[4..].iter().map(|(name, _)| *name).chain(["VBA"]).collect();
    let mut made = Vec::new();
    let all: Vec<Vec<&str>> = streams.iter().map(|stream| vec![*stream]).chain([streams.clone()]).collect();
    for (index, streams) in all.iter().enumerate() {
        let name = format!("compound{index}");
        run(Command::new("gsf").args(["createole", &name]).args(streams).current_dir(directory.path()));
        made.push((name.clone(), std::fs::read(directory.path().join(&name)).expect("gsf made it")));
    }
    made
}

/// The manual's example (MS-OXRTFCP, section 4.1).
fn compressed_rtf() -> Vec<u8> {
    b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125\x422\x0a\xf3 hel\x09\0 bw\x05\xb0ld}\x0a\x80\x0f\xa0".to_vec()
}

fn pdf() -> Vec<Vec<u8>> {
    let directory = Directory::new("pdf");
    directory.write("a.txt", "attached ".repeat(20));
    let mut made = Vec::new();
    for options in [
        &["--stream-data=compress"][..],
        &["--object-streams=generate"],
        &["--encrypt", "", "x", "256", "--"],
    ] {
        let mut command = Command::new("qpdf");
        command.args(options).args(["--empty", "--add-attachment", "a.txt", "--", "made.pdf"]);
        run(command.current_dir(directory.path()));
        made.push(std::fs::read(directory.path().join("made.pdf")).expect("qpdf made it"));
    }
    let streams: [(&str, &[u8]); 8] = [
        ("/Filter/AHx/Length 9", b"61 62 6>"),
        ("/Filter[/A85/RL]", b"!<N?+\"T~>"),
        (
            "/Filter/LZWDecode/DecodeParms<</EarlyChange 1/Predictor 12/Columns 3>>",
            b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01",
        ),
        ("/Length 900", b"endstream 9 0 obj<<>>"),
        ("/Type/ObjStm", b"1 0 <</JS(a\\(\\101)/EF<</F 2 0 R>>/F(n.exe)>>"),
        ("/Filter/Crypt", b"x"),
        ("/Filter/DCTDecode/Length 1 0 R", b"\xff\xd8"),
        (
            "/Filter[/Fl/Unknown]/DecodeParms<</Predictor 2/Colors 2/Columns 2>>",
            b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15",
        ),
    ];
    let mut file = b"%PDF-1.4\n%(\n".to_vec();
    for (index, (dictionary, content)) in streams.iter().enumerate() {
        let head = format!("{} 0 obj<<{dictionary}>>stream\r\n", index + 1);
        file.extend([head.as_bytes(), content, b"\nendstream endobj\n"].concat());
    }
    file.extend_from_slice(b"20 0 obj<</#4aS<fEFF0061>/UF(b/c.txt)/EF<</UF 1 0 R>>>>endobj (never ");
    file.extend_from_slice(b"21 0 obj(unclosed\nendobj trailer<</Root 1 0 R/Encrypt 3 0 R>>");
    made.push(file);
    made
}

fn tnef() -> Vec<u8> {
    let attribute = |id: u16, content: &[u8]| {
        let sum = content.iter().fold(0u16, |sum, byte| sum.wrapping_add((*byte).into()));
        let head = [&[2], &id.to_le_bytes()[..], &[6, 0], &(content.len() as u32).to_le_bytes()].concat();
        [&head[..], content, &sum.to_le_bytes()].concat()
    };
    let property = |kind: u16, id: u16, value: &[u8]| {
        let mut bytes = [kind.to_le_bytes(), id.to_le_bytes()].concat();
        if id >= 0x8000 {
            bytes.extend_from_slice(&[7; 16]);
            bytes.extend_from_slice(b"\x01\0\0\0\x06\0\0\0a\0b\0\0\0\0\0");
        }
        bytes.extend([&1u32.to_le_bytes(), &(value.len() as u32).to_le_bytes()[..], value].concat());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let list = |all: &[Vec<u8>]| [(all.len() as u32).to_le_bytes().to_vec(), all.concat()].concat();
    let message = list(&[
        property(0x001e, 0x8123, b"named"),
        b"\x03\0\x15\x0c\x01\0\0\0".to_vec(),
        b"\x02\x10\x16\x0c\x03\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0".to_vec(),
        property(0x0102, 0x1009, &compressed_rtf()),
        property(0x0102, 0x1013, b"<p>html"),
    ]);
    let object = [&[9; 16][..], b"an object"].concat();
    let attachment = list(&[property(0x001f, 0x3707, b"l\0.\0e\0\0\0"), property(0x000d, 0x3701, &object)]);
    let attributes = [
        attribute(0x9006, &[0; 4]),
        attribute(0x800c, b"body"),
        attribute(0x9003, &message),
        attribute(0x9002, &[0; 14]),
        attribute(0x8010, b"a.exe\0"),
        attribute(0x800f, b"first"),
        attribute(0x9002, &[0; 14]),
        attribute(0x9005, &attachment),
        attribute(0x800f, b"second"),
        attribute(0x8010, b"late.exe\0"),
    ];
    [b"\x78\x9f\x3e\x22\x01\0".to_vec(), attributes.concat()].concat()
}
