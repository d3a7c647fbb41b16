//! Perl's expressions, each with a text. Rule: every kind of group, verb and escape stands in one of them.

use super::Corpus;

/// Letters (as bits), expression, text.
const EXPRESSIONS: [(u8, &str, &str); 28] = [
    (0, r"(a|ab)(c|bcd)(d*)x{2,3}?y++z{,4}", "abcdxxyyzz"),
    (1, r"\bfoo\B.[^a-c\d]\w\S\H\V\N\R\x41\x{42}\101\o{103}\cA\e\Q.*\Eq", "FOOx.z1 \r\n"),
    (4, r"^(?=a.*b)(?!ab)(?<=x|)(?<!yy)[[:alpha:]\]-]+$", "axb\nacb"),
    (0, r"(\((?:[^()]++|(?1))*+\))", "((a)(b(c)))"),
    (0, r"^((.)(?1)\2|.?)$", "abcba"),
    (8, r"(?(DEFINE)(?<d>25[0-5]|\d\d?)) (?&d)(?:\.(?P>d)){3} # four", "10.0.0.255"),
    (0, r"(?<n>a)?(?(<n>)b|c)(?(1)d|e)(?('n')f|g)(?(R)h|i)", "abdfi ceg"),
    (0, r"(?|(a)(b)|(?<x>c))\1\g{-1}\k<x>(?(?=d)de|f)(?(?<!d)g|h)", "abaabde"),
    (0, r"a+(*COMMIT)b|c(*PRUNE)d|e(*SKIP)f|(*MARK:m)g(*SKIP:m)h|i(*THEN)j|k(*FAIL)", "aac cd eef ggh ik"),
    (0, r"(a(*ACCEPT)b)c|(?=x(*ACCEPT)y)x|(?!z(*COMMIT)q)z", "ac xz"),
    (0, r"foo\Kbar\Gx|(?>a+)b|(?i:Q)(?-i)q(?^)(?s).", "foobarx aab Qq\n"),
    (0, r"(?[ [a-z] - [aeiou] + \d & [0-5] ^ !( \w | [:punct:] ) ])+", "bcd345 \x01"),
    (0, r"(?xx)[ a - z ](?n)(x)(?<y>y)\g<y>\g'1'\g{y}(?+1)(z)(?-1)", "axyyyzzz"),
    (0, r"(?<=ab?c{1,3}d|efg).(?<=(?1))(x)", "abccdxx"),
    (0, r"(*NO_START_OPT)(*atomic:a+)(*pla:b)(*nlb:c)b", "aab"),
    (32, r"(a*)(b*?)(?:c*)+\X\C", "aabbcc\r\n"),
    (16, r"(?:(?:a?)*)*$|\A\z|\Z", "aaab\n"),
    (0, r"(?R)?a|(b(?R)?)", "bbba"),
    (0, r"(x(?2)?)(y(?1)?)", "xyxyxy"),
    (0, r"(?:(a)|b)*\1", "abab"),
    (0, r"(a\1?){4}", "aaaaaaaaaa"),
    (0, r"(?(R1)a|(?1)b)((?(R&q)c|d))(?<q>e)", "dbde"),
    (0, r"[\Qa-]\E][\b\n][^]]{3,}[\w-z]", "a\nabc-"),
    (0, r"(?#comment)a(?#b)+", "aaa"),
    (0, r"(?:(?:(?:(?:a{0,3}){0,3}){0,3}){0,3})b", "aaaaaaaaaaaaac"),
    (0, r"(?=(\w+))\1:(?P<l>.)(?P=l)", "abc:dd"),
    (2, r"(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)\11\12", "abcdefghijkk\n"),
    (0, r"(?:x(?=(y))|(?=z)){2,}?|(?<!a(*THEN)b|c)d", "xyz d"),
];

/// Writes them.
pub fn seeds(corpus: &Corpus) {
    for (number, (letters, expression, text)) in EXPRESSIONS.iter().enumerate() {
        let input = [&[*letters][..], expression.as_bytes(), b"\n", text.as_bytes()].concat();
        corpus.put("perl", &format!("expression{number}"), &input);
    }
}
