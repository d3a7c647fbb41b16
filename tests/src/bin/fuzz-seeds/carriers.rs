//! Seeds of what is read by LZMA, of 7z, cpio, ar and RPM, and of programs, scripts and discs that carry archives. Rule: small, by each
//! format's own program.

use crate::{CUTS, Corpus};
use lockgate_tests::Directory;
use lockgate_tests::mail;
use std::process::Command;

/// How each is made, and the first byte by which the target knows it.
const LINES: [(u8, &str, &str); 37] = [
    (0, "xz", "xz -c in/text.txt"),
    (0, "xz-x86", "xz -c --check=sha256 --x86 --lzma2 in/code.bin"),
    (0, "xz-delta", "xz -c --check=crc32 --delta=dist=3 --arm --lzma2 in/code.bin; xz -c in/text.txt"),
    (1, "lzma", "xz --format=lzma -c in/text.txt"),
    (2, "lzip", "lzip -c in/code.bin; lzip -c in/text.txt"),
    (3, "7z-lzma", "7zz a -bd -m0=lzma a.7z in > log; cat a.7z"),
    (3, "7z-plain", "7zz a -bd -mhc=off b.7z in > log; cat b.7z"),
    (
        3,
        "7z-bcj2",
        "7zz a -bd -m0=bcj2 -m1=lzma -m2=lzma -m3=lzma -mb0:1 -mb0s1:2 -mb0s2:3 c.7z in > log; cat c.7z",
    ),
    (
        3,
        "7z-others",
        "7zz a -bd -m0=ppmd d.7z in/text.txt > log; 7zz a -bd -m0=arm64 -m1=deflate d.7z in > log; cat d.7z",
    ),
    (3, "7z-ppmd", "7zz a -bd -m0=ppmd:mem=1m:o=6 g.7z in/text.txt in/code.bin > log; cat g.7z"),
    (
        3,
        "7z-ppmd-long",
        "seq 9000 > in/numbers; 7zz a -bd -m0=ppmd:mem=64k:o=4 h.7z in/numbers > log; cat h.7z; rm in/numbers",
    ),
    (3, "7z-arm", "7zz a -bd -m0=arm -m1=copy i.7z in/code.bin > log; cat i.7z"),
    (3, "7z-armt", "7zz a -bd -m0=armt -m1=copy j.7z in/code.bin > log; cat j.7z"),
    (3, "7z-ppc", "7zz a -bd -m0=ppc -m1=copy k.7z in/code.bin > log; cat k.7z"),
    (3, "7z-sparc", "7zz a -bd -m0=sparc -m1=copy l.7z in/code.bin > log; cat l.7z"),
    (3, "7z-ia64", "7zz a -bd -m0=ia64 -m1=copy m.7z in/code.bin > log; cat m.7z"),
    (3, "7z-copy", "7zz a -bd -m0=copy e.7z in > log; cat e.7z"),
    (4, "cpio-newc", "find in | cpio -o -H newc"),
    (4, "cpio-crc", "find in | cpio -o -H crc"),
    (4, "cpio-odc", "find in | cpio -o -H odc"),
    (4, "cpio-binary", "find in | cpio -o -H bin"),
    (5, "ar", "ar rc a.a in/text.txt in/a-name-that-is-long.txt; cat a.a"),
    (
        7,
        "program",
        "cat in/code.bin; 7zz a -bd f.7z in/text.txt > log; cat f.7z in/code.bin; printf 'Rar!\\032\\007\\000--s'",
    ),
    (8, "disc", "genisoimage -quiet -no-pad -o a.iso in; tail -c +32769 a.iso"),
    (8, "disc-joliet", "genisoimage -quiet -no-pad -J -r -o b.iso in; tail -c +32769 b.iso"),
    (8, "data", "head -c 300 in/code.bin"),
    (8, "zip-behind", "zip -qr n.zip in; cat in/text.txt n.zip; printf 'and more'"),
    (7, "lha-in-program", "jlha a p.lzh in/text.txt > log; cat in/code.bin p.lzh"),
    (7, "arj-in-program", "arj a q.arj in/text.txt > log; cat in/code.bin q.arj"),
    (7, "cab-in-program", "gcab -c r.cab in/text.txt > log; cat in/code.bin r.cab"),
    (9, "bzip2-in-script", "printf '#!/bin/sh\\n'; bzip2 -c in/text.txt"),
    (9, "gzip-in-script", "printf '#!/bin/sh\\n'; gzip -c in/text.txt"),
    (9, "xz-in-script", "printf '#!/bin/sh\\n'; xz -c in/text.txt"),
    (9, "lzma-in-script", "printf '#!/bin/sh\\n'; xz --format=lzma -c in/text.txt"),
    (9, "lzip-in-script", "printf '#!/bin/sh\\n'; lzip -c in/text.txt"),
    (9, "zstd-in-script", "printf '#!/bin/sh\\n'; zstd -q -c in/text.txt"),
    (7, "zip-in-program", "zip -qr o.zip in; cat in/code.bin o.zip"),
];

/// Writes all of them.
pub fn seeds(corpus: &Corpus) {
    let directory = Directory::new("carriers");
    directory.write("in/text.txt", "text ".repeat(200));
    directory.write("in/a-name-that-is-long.txt", "a long name");
    directory.write("in/empty", "");
    // Calls, with what stands between them.
    let code = |nine: &[u8]| [&[0xe8][..], nine, &[0, 0, 0xe9, 0x10, 0, 0, 0]].concat();
    directory.write("in/code.bin", mail::noise(2, 900).chunks(9).flat_map(code).collect::<Vec<u8>>());
    for (first, name, line) in LINES {
        let made = Command::new("sh").args(["-ec", line]).current_dir(directory.path()).output();
        let made = made.expect("sh runs");
        assert!(made.status.success(), "{line}: {}", String::from_utf8_lossy(&made.stderr));
        put(corpus, first, name, &made.stdout);
    }
    put(corpus, 6, "rpm", &package());
}

fn put(corpus: &Corpus, first: u8, name: &str, bytes: &[u8]) {
    let put = |name: &str, content: &[u8]| {
        corpus.put("carriers", name, &[&[first], CUTS.as_slice(), content].concat());
    };
    put(name, bytes);
    put(&format!("{name}.truncated"), &bytes[..bytes.len() * 2 / 3]);
    for at in [9, 30, bytes.len() / 3, bytes.len() / 2] {
        let mut damaged = bytes.to_vec();
        damaged.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x55);
        put(&format!("{name}.damaged{at}"), &damaged);
    }
}

/// A lead, two headers of one entry each, and a payload.
fn package() -> Vec<u8> {
    let header = |data: u8| {
        [&b"\x8e\xad\xe8\x01\0\0\0\0\0\0\0\x01\0\0\0"[..], &[data], &[1; 16], &vec![2; data.into()]].concat()
    };
    [&b"\xed\xab\xee\xdb\x03"[..], &[0; 91], &header(8), &header(5), b"payload"].concat()
}
