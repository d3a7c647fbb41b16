//! Messages and texts put together at random. Rule: the same children at every cut, and no panic.

use super::{EmbeddedDecoder, MboxDecoder, MimeDecoder};
use crate::decoder::Decoder;
use crate::trace::trace;
use lockgate_model::Pool;

/// What messages are made of, and what breaks them.
const FRAGMENTS: &[&str] = &[
    "Content-Type: multipart/mixed; boundary=b",
    "Content-Type: multipart/mixed; boundary=\"bb\"",
    "Content-Type: multipart/mixed",
    "Content-Type: multipart/digest; boundary*0=b; boundary*1=b",
    "Content-Type: message/rfc822",
    "Content-Type: text/plain; name=\"=?utf-8?B?w6Q=?= x.exe\"",
    "Content-Disposition: attachment; filename*=utf-8''%41.exe",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: quoted-printable",
    "Content-Transfer-Encoding: x-uuencode",
    "Content-Transfer-Encoding: base64, quoted",
    "Subject",
    ": ",
    "junk",
    " folded",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "\r",
    "\r\r",
    "--b",
    "--b\r\n",
    "\r\n--b",
    "\n--b--",
    "--bb",
    "--bb--\r\n",
    "--c",
    "\r\n--other\r\nContent-Type: a/b\r\n",
    "--",
    "-",
    "YWJj",
    "YWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJjYWJj",
    "YQ==",
    "=",
    "=3D",
    "=0a",
    "=P=K",
    "QU=B",
    "A\n",
    "Content-Transfer-Encoding: base64 quoted-printable\n",
    "=\r\n",
    " ",
    "\t",
    "begin 644 x\n",
    "=ybegin line=8 size=9 name=x\n",
    "=yend\n",
    "=y",
    "(This file must be converted with BinHex 4.0)\n",
    ":",
    "#86)C",
    "$f*TEQKPH#jdCA-`!",
    "Content-Transfer-Encoding: 7bit",
    " Content-Transfer-Encoding: base64\n",
    "Content-Transfer-Encoding: x-yenc",
    "From a@b 12:00\n",
    "\n\nFrom ",
    "From ",
    "begin-base64 644 y\n",
    "#86)C",
    "\nend\n",
    "\0",
    "\u{e4}",
];

/// A small generator of numbers: the rounds are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn cut<'a>(&mut self, input: &'a [u8]) -> Vec<&'a [u8]> {
        let mut chunks = Vec::new();
        let mut rest = input;
        while !rest.is_empty() {
            let length = 1 + self.below(rest.len().min(40));
            let (chunk, tail) = rest.split_at(length);
            chunks.push(chunk);
            rest = tail;
        }
        chunks
    }
}

#[test]
fn random_messages_at_random_cuts() {
    for seed in 0..3_000 {
        let mut numbers = Numbers(seed);
        let count = 1 + numbers.below(60);
        let input: String = (0..count).map(|_| FRAGMENTS[numbers.below(FRAGMENTS.len())]).collect();
        check(&|| Box::new(MimeDecoder::new(&Pool::new(1 << 26))), &mut numbers, &input, seed);
        check(&|| Box::new(EmbeddedDecoder::new()), &mut numbers, &input, seed);
        check(&|| Box::new(MboxDecoder::new()), &mut numbers, &input, seed);
    }
}

fn check(open: &dyn Fn() -> Box<dyn Decoder>, numbers: &mut Numbers, input: &str, seed: u64) {
    let input = input.as_bytes();
    let whole = trace(&mut *open(), [input]);
    assert_eq!(
        trace(&mut *open(), input.chunks(1)),
        whole,
        "seed {seed}, byte by byte: {}",
        input.escape_ascii()
    );
    for _ in 0..4 {
        let chunks = numbers.cut(input);
        assert_eq!(trace(&mut *open(), chunks.clone()), whole, "seed {seed}: {chunks:?}");
    }
}
