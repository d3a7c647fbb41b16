//! Makes what the fuzz targets begin with: `fuzz-seeds DIRECTORY` writes `DIRECTORY/TARGET/NAME`. Rule: made here, not collected.
//!
//! Compressed seeds come from the programs that everybody compresses with: gzip, bzip2, zip, 7zz, tar, zstd, brotli, gcab …

mod archivers;
mod carriers;
mod dialogues;
mod documents;
mod http;
mod packers;
mod packets;
mod perl;
mod programs;
mod rules;
mod settings;
mod signatures;
mod spectators;
mod tls;
mod weblists;
mod websocket;

use lockgate_tests::Directory;
use lockgate_tests::mail;
use lockgate_tests::process::run;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where the content of a seed begins: what comes before says how it is cut.
const CUTS: &[u8; 8] = b"\x00\x03\x10\x01\x7f\x02\x90\x05";

fn main() {
    let directory = std::env::args_os().nth(1).map(PathBuf::from).expect("fuzz-seeds DIRECTORY");
    let corpus = Corpus { directory };
    let samples = Samples::make();
    mime(&corpus, &samples);
    embedded(&corpus);
    mailboxes(&corpus);
    archives(&corpus, &samples);
    archivers::seeds(&corpus);
    packers::seeds(&corpus);
    carriers::seeds(&corpus);
    documents::seeds(&corpus);
    filetypes(&corpus, &samples);
    dialogues::smtp(&corpus);
    dialogues::pop3(&corpus);
    dialogues::socks(&corpus);
    http::seeds(&corpus);
    websocket::seeds(&corpus);
    dialogues::proxy_protocol(&corpus);
    tls::seeds(&corpus);
    spectators::seeds(&corpus);
    packets::seeds(&corpus);
    patterns(&corpus);
    signatures::seeds(&corpus);
    waist(&corpus, &samples);
    settings::seeds(&corpus);
    weblists::seeds(&corpus);
    perl::seeds(&corpus);
    rules::seeds(&corpus);
}

struct Corpus {
    directory: PathBuf,
}

impl Corpus {
    fn put(&self, target: &str, name: &str, bytes: &[u8]) {
        let directory = self.directory.join(target);
        fs::create_dir_all(&directory).expect("the corpus can be written");
        fs::write(directory.join(name), bytes).expect("the corpus can be written");
    }

    /// Content that is cut.
    fn put_cut(&self, target: &str, name: &str, content: &[u8]) {
        self.put(target, name, &[CUTS, content].concat());
    }
}

/// A file with holes, in each way to tell of them.
const SPARSE: &str = "for at in 1 9 17 30 40 60; do printf x | dd of=in/sparse bs=4096 seek=$at conv=notrunc 2> log; done; rm log
     tar -S --format=gnu -cf sparse-gnu.tar in/sparse
     for v in 0.0 0.1 1.0; do tar -S --format=posix --sparse-version=$v -cf sparse-$v.tar in/sparse; done";

/// A zip by each method; and models of PPMd whose memory is used up, of which one begins anew and one forgets.
const ZIP_METHODS: &str = "for m in Deflate64 LZMA PPMd xz; do 7zz a -tzip -mm=$m $m.zip in/text.txt > log; done
     seq 40000 > more/numbers.txt
     for x in 5 9; do 7zz a -tzip -mm=PPMd -mx=$x -mo=16 -mmem=1m numbers$x.zip more/numbers.txt > log; done; rm log";

/// Archives of the usual programs, small.
struct Samples {
    all: Vec<(String, Vec<u8>)>,
}

impl Samples {
    fn make() -> Self {
        let directory = Directory::new("seeds");
        directory.write("in/text.txt", "text ".repeat(300));
        directory.write("in/deep/er/noise.bin", mail::noise(1, 3000));
        directory.write(&format!("in/{}/long.txt", "n".repeat(90)), "a long name");
        directory.write("in/empty", "");
        let line = |command: &str| {
            run(Command::new("sh").args(["-ec", command]).current_dir(directory.path()));
        };
        line("ln -s text.txt in/link");
        line(
            "tar --format=ustar -cf ustar.tar in; tar --format=gnu -cf gnu.tar in; tar --format=pax -cf pax.tar in",
        );
        line(
            "tar --format=v7 -cf v7.tar in/text.txt; truncate -s 1M in/sparse; tar -S -cf sparse.tar in/sparse",
        );
        line(SPARSE);
        line("rm in/sparse; tar --format=oldgnu -cf old.tar in; tar -czf tar.tar.gz in");
        for level in [1, 6, 9] {
            line(&format!(
                "gzip -{level} -c in/text.txt > text{level}.gz; bzip2 -{level} -c in/text.txt > text{level}.bz2"
            ));
        }
        line("gzip -c in/deep/er/noise.bin > noise.gz; bzip2 -c in/deep/er/noise.bin > noise.bz2");
        line(
            "cat text1.gz noise.gz > two.gz; cat text1.bz2 noise.bz2 > two.bz2; bzip2 -c in/empty > empty.bz2",
        );
        line(
            "head -c 400000 /dev/zero | bzip2 -c > zeros.bz2; head -c 400000 /dev/zero | gzip -c > zeros.gz",
        );
        line("for l in 1 6 19; do zstd -q -$l -c in/text.txt > text$l.zst; done");
        line("for l in 1 19; do cat /etc/passwd *.gz | zstd -q --check -$l -c > mix$l.zst; done");
        // Literals with a code of their own, blocks of one byte, and a window that content comes round in.
        directory.write("more/words.txt", words(150_000));
        line(
            "cd more; for l in 1 3 19; do head -c 9000 words.txt | zstd -q -$l -c > ../words$l.zst; done
             zstd -q -1 --zstd=wlog=10 -c words.txt > ../window.zst; head -c 400000 /dev/zero | zstd -q -c > ../zeros.zst
             head -c 300 words.txt | zstd -q -19 -c > ../short.zst; head -c 2000 words.txt | brotli -q 11 -c > ../words.br
             yes 'one two three' | head -c 3000 | zstd -q -19 -c > ../again.zst",
        );
        line(
            "for q in 0 5 9 11; do brotli -q $q -c in/text.txt > text$q.br; brotli -q $q -w 10 -c in/deep/er/noise.bin > noise$q.br; done",
        );
        line(
            "brotli -c in/empty > empty.br; cat text5.br text9.br > two.br; head -c 400000 /dev/zero | brotli -c > zeros.br",
        );
        line("zip -qr deflate.zip in; zip -q0r stored.zip in; zip -qr - in < /dev/null > stream.zip");
        line(
            "zip -q -P secret encrypted.zip in/text.txt; zip -q -Z bzip2 bzip2.zip in/text.txt; zip -qr nested.zip *.zip *.gz",
        );
        line(
            "cat in/text.txt | zip -q -fd - - > descriptor.zip; zip -q -fz- zip32.zip in/text.txt; zip -q -fz zip64.zip in/text.txt",
        );
        line(ZIP_METHODS);
        line(
            "compress -c in/text.txt > text.Z; compress -b 10 -c more/words.txt > words.Z; gcab -c stored.cab in/text.txt
             gcab -c -z mszip.cab in/text.txt more/words.txt; cp in/text.txt a.txt; mscompress a.txt; mv a.tx*_ a.szdd
             printf '[OPTIONS]\\nCompatibility=1.1\\nCompiled file=a.chm\\nDefault topic=a.txt\\n[FILES]\\na.txt\\n' > a.hhp
             chmcmd a.hhp > log; rm a.hhp a.txt log",
        );
        line(
            "cp deflate.zip comment.zip; echo 'a comment' | zip -qz comment.zip; cat text1.gz deflate.zip > behind.zip",
        );
        old_archivers(&directory);
        let files = fs::read_dir(directory.path()).expect("it was made").flatten();
        let all = files.filter(|entry| entry.path().is_file()).map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("it was made"))
        });
        Self { all: all.collect() }
    }

    /// Those whose names end so.
    fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let is_one = move |name: &&(String, Vec<u8>)| name.0.ends_with(end);
        self.all.iter().filter(is_one).map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

/// What was packed with before zip.
fn old_archivers(directory: &Directory) {
    let lines = "for l in 0 1 2; do jlha a$l level$l.lzh in/text.txt; done
        for o in 5 6 7; do jlha ao$o o$o.lzh in/text.txt in/deep/er/noise.bin; done; jlha az stored.lzh in/text.txt
        for m in 0 1 4; do arj a -m$m m$m.arj in/text.txt; done; arj a -gpass garbled.arj in/text.txt";
    run(Command::new("sh").args(["-ec", lines]).current_dir(directory.path()));
}

/// So many bytes of made-up words, whose letters are as uneven as those of a language.
fn words(bytes: usize) -> Vec<u8> {
    let letters = b"  eettaoinshrdlu";
    mail::noise(7, bytes)
        .iter()
        .map(|byte| letters[(usize::from(*byte) * usize::from(*byte)) >> 12])
        .collect()
}

fn archives(corpus: &Corpus, samples: &Samples) {
    gzip_headers(corpus, samples);
    deflated(corpus, samples);
    for (target, first, end) in [
        ("cabinets", 0, ".Z"),
        ("cabinets", 1, ".cab"),
        ("cabinets", 2, ".chm"),
        ("cabinets", 3, ".szdd"),
        ("archivers", 0, ".rar"),
        ("archivers", 1, ".lzh"),
        ("archivers", 2, ".arj"),
    ] {
        for (name, bytes) in samples.ending(end) {
            let put = |name: &str, content: &[u8]| {
                corpus.put(target, name, &[&[first], CUTS.as_slice(), content].concat());
            };
            put(name, bytes);
            put(&format!("{name}.truncated"), &bytes[..bytes.len() * 2 / 3]);
            for at in [9, 13, 30, bytes.len() / 3, bytes.len() / 2] {
                let mut damaged = bytes.to_vec();
                damaged.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x55);
                put(&format!("{name}.damaged{at}"), &damaged);
            }
        }
    }
    for (target, end) in [
        ("zip", ".zip"),
        ("gzip", ".gz"),
        ("bzip2", ".bz2"),
        ("tar", ".tar"),
        ("zstd", ".zst"),
        ("brotli", ".br"),
    ] {
        for (name, bytes) in samples.ending(end) {
            corpus.put_cut(target, name, bytes);
            let (half, _) = bytes.split_at(bytes.len() * 2 / 3);
            corpus.put_cut(target, &format!("{name}.truncated"), half);
            for at in [3, bytes.len() / 3, bytes.len() / 2, bytes.len() - bytes.len().min(30)] {
                let mut damaged = bytes.to_vec();
                if let Some(byte) = damaged.get_mut(at) {
                    *byte ^= 0x55;
                    corpus.put_cut(target, &format!("{name}.damaged{at}"), &damaged);
                }
            }
        }
    }
}

fn mime(corpus: &Corpus, samples: &Samples) {
    let zip = samples.ending("stored.zip").next().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
    let mut mails = vec![
        mail::plain("plain", "hello"),
        mail::with_attachment("attachment", "a.zip", &zip),
        mail::infected("virus"),
        b"From: a\r\n\r\nno MIME\r\n".to_vec(),
        Vec::new(),
        b"\r\nno header".to_vec(),
        b"garbage line\r\nFrom: a\r\n\r\nbody".to_vec(),
    ];
    for (header, body) in bodies() {
        mails.push(format!("MIME-Version: 1.0\r\n{header}\r\n\r\n{body}").into_bytes());
        mails.push(
            format!(
                "Subject: outer\r\nContent-Type: multipart/mixed;\r\n boundary=\"between\"\r\n\r\npreamble\r\n\
                 --between\r\n{header}\r\n\r\n{body}\r\n--between \t\r\n\r\nsecond\n--between--\r\nepilogue\r\n"
            )
            .into_bytes(),
        );
        // The line ends that mails should not have.
        mails.push(format!("Content-Type: multipart/mixed; boundary=between\n\n--between\n{header}\n\n{body}\n--between--\n").replace("\r\n", "\n").into_bytes());
        mails.push(format!("{header}\r\r\n\r\r{body}").into_bytes());
    }
    for (index, content) in mails.iter().enumerate() {
        corpus.put_cut("mime", &format!("mail{index}"), content);
        corpus.put_cut("inspect_layers", &format!("mail{index}"), content);
    }
}

/// Files within text: uuencode, yEnc, BinHex.
fn embedded(corpus: &Corpus) {
    let pasted = [
        "Look:\r\n",
        UUENCODED,
        "more\r\n",
        "begin 755 two\r\n",
        "#86)C\r\n",
        "not data \u{1}\r\n",
        "end\r\n",
    ]
    .concat();
    for (index, text) in
        [&pasted, UUENCODED, "begin 644 x\n$broken", "begin-base64 644 y\naGk=\n====\n", "beginning 1"]
            .iter()
            .enumerate()
    {
        corpus.put_cut("embedded", &format!("text{index}"), text.as_bytes());
        corpus.put_cut("embedded", &format!("text{index}.lf"), text.replace("\r\n", "\n").as_bytes());
    }
    corpus.put_cut("embedded", "long-line", format!("begin 644 {}\r\n", "n".repeat(2000)).as_bytes());
    let yenc = b"text\n=ybegin part=1 line=128 size=3 name=a b.zip\r\n=ypart begin=1 end=3\r\n\x8b\x8c=\x6a\r\n=yend size=3\r\nmore";
    corpus.put_cut("embedded", "yenc", yenc);
    corpus.put_cut("embedded", "binhex", BINHEX.as_bytes());
    corpus.put_cut("embedded", "binhex.cut", &BINHEX.as_bytes()[..BINHEX.len() / 2]);
}

fn mailboxes(corpus: &Corpus) {
    for (index, mailbox) in [
        "From a@b Sat Nov 21 12:00:00 2026\nA: b\n\none\n\nFrom me to you\nFrom - \n\ntwo\n",
        "From - \r\nA: b\r\n\r\nFrom 12:00\r\n\r\nFrom x 12:00\r\n\r\nFrom",
        "From no time\n\n\n\nFrom b Sat Nov 21 12:00:00 2026",
    ]
    .iter()
    .enumerate()
    {
        corpus.put_cut("mbox", &format!("mailbox{index}"), mailbox.as_bytes());
    }
}

/// Every field that a gzip header may have (RFC 1952), and what stands behind a gzip file.
fn gzip_headers(corpus: &Corpus, samples: &Samples) {
    let Some((_, plain)) = samples.ending("text6.gz").next() else { return };
    // Behind the ten bytes that are always there gzip itself puts the name.
    let name_end = 11 + plain[10..].iter().position(|byte| *byte == 0).unwrap_or(0);
    let data = &plain[name_end..];
    for flags in 0..=0xff_u8 {
        let mut file = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
        if flags & 4 != 0 {
            file.extend_from_slice(b"\x05\0extra");
        }
        if flags & 8 != 0 {
            file.extend_from_slice(b"name\0");
        }
        if flags & 16 != 0 {
            file.extend_from_slice(b"a comment\0");
        }
        if flags & 2 != 0 {
            file.extend_from_slice(&(mail::crc32(&file) as u16).to_le_bytes());
        }
        file.extend_from_slice(data);
        corpus.put_cut("gzip", &format!("flags{flags}"), &file);
        if flags < 4 {
            corpus.put_cut("gzip", &format!("padded{flags}"), &[&file[..], &[0; 700]].concat());
            corpus.put_cut("gzip", &format!("behind{flags}"), &[&file[..], b"\0\0more"].concat());
            corpus.put_cut("gzip", &format!("again{flags}"), &[&file[..], &file].concat());
            let end = file.len();
            file[end - 2] ^= 1;
            corpus.put_cut("gzip", &format!("length{flags}"), &file);
            file[end - 7] ^= 1;
            corpus.put_cut("gzip", &format!("checksum{flags}"), &file);
            file[2] = 7;
            corpus.put_cut("gzip", &format!("method{flags}"), &file);
        }
    }
}

/// What gzip made without its header and trailer, raw and within zlib's wrapping (RFC 1950).
fn deflated(corpus: &Corpus, samples: &Samples) {
    for (name, bytes) in samples.ending(".gz").filter(|(name, _)| name.starts_with("text")) {
        let name_end = 11 + bytes[10..].iter().position(|byte| *byte == 0).unwrap_or(0);
        let raw = &bytes[name_end..bytes.len() - 8];
        // The check sum is not right, which is said where the stream ends.
        let wrapped = [b"\x78\x9c", raw, b"\0\0\0\x01"].concat();
        for (kind, stream) in [("raw", raw), ("wrapped", &wrapped)] {
            corpus.put_cut("deflate", &format!("{name}.{kind}"), stream);
            corpus.put_cut("deflate", &format!("{name}.{kind}.behind"), &[stream, b"more"].concat());
            corpus.put_cut("deflate", &format!("{name}.{kind}.truncated"), &stream[..stream.len() / 2]);
        }
    }
    for (name, stream) in [
        ("empty", &b"\x78\x9c\x03\0\0\0\0\x01"[..]),
        ("empty.raw", b"\x03\0"),
        ("empty.behind", b"\x03\0xyz"),
        ("two-things", b"\x78\x9c\x01\x63\xfe"),
        ("dictionary", b"\x78\xbb\0\0\0\0\0"),
    ] {
        corpus.put_cut("deflate", name, stream);
    }
}

/// Headers of MIME parts with what they head.
fn bodies() -> Vec<(&'static str, String)> {
    let inner =
        String::from_utf8_lossy(&mail::with_attachment("inner", "=?utf-8?B?w6QuZXhl?=", b"MZ")).into_owned();
    let quoted = "caf=C3=A9 =\r\nsoft=20\r\nbad =ZZ =4\r\ntrailing \t\r\n=";
    let bodies: &[(&'static str, &str)] = &[
        ("Content-Transfer-Encoding: quoted-printable", quoted),
        ("Content-Transfer-Encoding: x-uuencode", UUENCODED),
        ("Content-Transfer-Encoding: x-unknown", "?"),
        ("Content-Transfer-Encoding: x-yenc", "=ybegin line=9 size=2 name=x\r\nab=}\r\n=yend\r\n"),
        ("Content-Transfer-Encoding: mac-binhex40", BINHEX),
        ("Subject: x\r\n Content-Transfer-Encoding: base64", "A\r\n\r\nYWJjX\r\nYWJj\r\nQU=BQUE="),
        ("Content-Transfer-Encoding: base64 quoted-printable", "=0a=50=\r\n=0a=4B=P=K==03= =41"),
        ("Content-Transfer-Encoding: base64\r\nABCD", "YWJj"),
        ("Content-Disposition: x; filename*1=exe; filename*0=a.\r\nContent-Type: a/b; name=x;.exe", "x"),
        ("Content-Transfer-Encoding: BASE64 (comment)", "aGVs\r\nbG8=\r\ntrailing"),
        ("Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: 7bit", "aGVsbG8"),
        ("Content-Transfer-Encoding: base64", "a!G@V#s$b%G^8=====aGVsbG8="),
        ("Content-Type: message/rfc822", &inner),
        ("Content-Type: message/partial; id=x; number=1", &inner),
        ("Content-Type: text/plain; name*0=\"long\"; name*1*=%20na%6de; name*=utf-8''a%C3%A4.exe", "x"),
        ("Content-Disposition: attachment; filename=\"=?iso-8859-1?Q?=E4_b?= =?utf-8?q?c?=.exe\"", "x"),
        ("Content-Type: text/html;\r\n\tcharset = \"utf\\-8\" (a (nested) comment)", "<p>"),
        ("Content-Type: multipart/digest; boundary=two", "--two\r\n\r\nSubject: x\r\n\r\ny\r\n--two--\r\n"),
        ("Content-Type: multipart/mixed", "--guess\r\n\r\nx\r\n--guess--\r\n"),
        (
            "Content-Type: multipart/mixed; boundary=between",
            "--between\r\n\r\nsame as outside\r\n--between--",
        ),
        (
            "Content-Type: multipart/mixed; boundary=a; boundary=b",
            "--a\r\n\r\nx\r\n--b\r\n\r\ny\r\n--a--\r\n--b--\r\n",
        ),
        ("Content-Type: application/ms-tnef; name=winmail.dat", "x"),
        ("Content-Type: broken/", UUENCODED),
        ("Content-Transfer-Encoding: uuencode", "%:&5L;&\\\r\n%:&5L;&\\\r\nend\r\nmore"),
        ("Content-Transfer-Encoding: x-uue", "text before\r\nbegin 644 a\r\n\u{1}broken\r\n%:&5L;&\\"),
        ("Content-Transfer-Encoding: quoted-printable", "=\n=3d=3D==\r\n=\t \r\n=3\r\n=E4=F6\r\nlast="),
        ("Content-Transfer-Encoding: 8bit, base64", "x"),
        ("Content-Transfer-Encoding: yenc\r\nContent-Disposition: attachment; filename=a; filename=b", "x"),
        (
            "Content-Type: text/plain; charset=utf-16; name*1=b; name*0=a; name*3=d; title*=us-ascii'en'x%",
            "x",
        ),
        ("Content-Type: text/plain; name=\"un\\\"closed", "x"),
        ("Content-Type: a/b; name=\"=?utf-16?B?AGEAYg==?=\"; x=(comment) y; ;; =z", "x"),
        (
            "Content-Type: message/external-body; access-type=x\r\nContent-Type: message/global",
            "Subject: x\r\n\r\ny",
        ),
        (
            "Content-Type: multipart/alternative; boundary=\"=_ x\"",
            "--=_ x\r\nContent-Type: multipart/related; boundary=y\r\n\r\n--y\r\n\r\n1\r\n--y--\r\n--=_ x--",
        ),
    ];
    bodies.iter().map(|(header, body)| (*header, (*body).to_owned())).collect()
}

const BINHEX: &str = concat!(
    "(This file must be converted with BinHex 4.0)\r\n",
    r##":"@%ZHQP`!&4&@&4dG(Kd!!!!!!!*!!!!!Q0MBC!)BQ0MFR*MB`:"##,
    "\r\nmore\r\n"
);
const UUENCODED: &str = "begin 644 a.txt\r\n%:&5L;&\\\r\n`\r\nend\r\n";

fn filetypes(corpus: &Corpus, samples: &Samples) {
    for (name, bytes) in &samples.all {
        corpus.put_cut("filetype", name, &bytes[..bytes.len().min(1500)]);
    }
    for (index, bytes) in BEGINNINGS.iter().enumerate() {
        corpus.put_cut("filetype", &format!("beginning{index}"), &[bytes, &[0; 40][..]].concat());
        corpus.put_cut(
            "filetype",
            &format!("beginning{index}.text"),
            &[bytes, &b" and some text\n".repeat(3)[..]].concat(),
        );
    }
    let mut iso = vec![0; 0x8000];
    iso.extend_from_slice(b"\x01CD001");
    corpus.put_cut("filetype", "iso", &iso);
}

fn patterns(corpus: &Corpus) {
    let patterns = [
        "6162636465",
        "I4142434445",
        "W616263",
        "Z6162",
        "61??63",
        "6?6263",
        "?16263",
        "616263*646566",
        "616263{2}6465",
        "616263{1-3}6465",
        "616263{-3}6465",
        "616263{2-}6465",
        "6162(63|64)65",
        "6162!(63|64)65",
        "6162(6364|6566)67",
        "6162(63|6465)66",
        "616263[1-2]64",
        "64[2-1]616263",
        "(B)616263",
        "616263(B)",
        "(L)616263",
        "616263(L)",
        "(W)616263(W)",
        "616263{200-300}646566",
        "616263646566676869",
        "2020202020",
        "0000000000",
        "zz",
        "6",
        "(61",
        "{1-2}",
        "*",
        "61{3-1}62",
        "616263!(6465|66)67",
        "I6162(63|44)65",
        "61626364??????65666768",
        "(616263|646566)67686970",
        "X6162{1-30}6364",
        "X61{0-9}626364*61{1-2}63",
    ];
    let stream = b"abcde ABCDE abXcde abc123def abcddef\0\0\0\0\0\0 abcdefghi word abc\nabc\r\nabc abcabc dabc ghip      abcde".repeat(3);
    for (index, pattern) in patterns.iter().enumerate() {
        corpus.put("matcher", &format!("one{index}"), &[pattern.as_bytes(), b"\n\n", CUTS, &stream].concat());
    }
    corpus.put("matcher", "all", &[patterns.join("\n").as_bytes(), b"\n\n", CUTS, &stream].concat());
    let many: Vec<String> = (0..49_u64)
        .map(|seed| mail::noise(seed, 12).iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let planted: Vec<u8> = (0..49_u64).flat_map(|seed| mail::noise(seed, 12)).collect();
    corpus.put("matcher", "many", &[many.join("\n").as_bytes(), b"\n\n", CUTS, &planted].concat());
    corpus.put(
        "matcher",
        "long",
        &[format!("616263{}", "??64".repeat(300)).as_bytes(), b"\n\n", CUTS, b"abc", &b"xd".repeat(600)[..]]
            .concat(),
    );
}

fn waist(corpus: &Corpus, samples: &Samples) {
    for (name, bytes) in samples.all.iter().filter(|(_, bytes)| bytes.len() < 30_000) {
        corpus.put_cut("inspect_layers", name, bytes);
        corpus.put_cut("inspect_layers", &format!("{name}.mail"), &mail::with_attachment("x", name, bytes));
    }
    corpus.put_cut(
        "inspect_layers",
        "hit",
        &mail::with_attachment("x", "a.zip", &mail::zip("b.txt", b"abcde")),
    );
    let nested =
        (0..20).fold(b"bottom".to_vec(), |content, level| mail::zip(&format!("{level}.zip"), &content));
    corpus.put_cut("inspect_layers", "deep", &nested);
}

/// What files begin with.
const BEGINNINGS: &[&[u8]] = &[
    b"",
    b"a",
    b"plain text\n",
    b"\xef\xbb\xbfutf-8",
    b"\xff\xfea\0b\0",
    b"<!DOCTYPE html><p>",
    b"  <html>",
    b"<?xml version=\"1.0\"?>",
    b"#!/bin/sh\n",
    b"MZ\x90\0",
    b"\x7fELF\x02\x01\x01",
    b"%PDF-1.7",
    b"{\\rtf1",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"Rar!\x1a\x07\0",
    b"Rar!\x1a\x07\x01\0",
    b"7z\xbc\xaf\x27\x1c",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"]\0\0\x80\0\xff\xff",
    b"\x60\xea",
    b"MSCF\0\0\0\0",
    b"\x89PNG\r\n\x1a\n",
    b"GIF89a",
    b"\xff\xd8\xff\xe0",
    b"RIFF\0\0\0\0WAVE",
    b"RIFF\0\0\0\0WEBP",
    b"OggS",
    b"ID3",
    b"\0\0\0\x18ftypmp42",
    b"\x78\x9f\x3e\x22",
    b"\xca\xfe\xba\xbe\0\0\0\x32",
    b"\xfe\xed\xfa\xce",
    b"From: a\r\nTo: b\r\nSubject: c\r\n\r\nd",
    b"Received: from x",
    b"begin 644 a\n",
    b"ITSF\x03\0\0\0",
    b"!<arch>\n",
    b"CWS\x09",
    b"\x1f\x9d\x90",
    b"PK\x05\x06",
    b"PK\x03\x04\x14\0\x06\0",
    b"-lh5-",
    b"  -lh5-",
    b"ANI ",
    b"\0asm",
    b"L\0\0\0\x01\x14\x02\0",
    b"BM\x36\0\0\0",
    b"II*\0",
    b"\x1bLua",
    b"fLaC",
    b"wOFF",
    b"\xed\xab\xee\xdb",
    b"070701",
    b"<script>",
    b"<?php",
];
