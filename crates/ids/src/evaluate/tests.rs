//! Lists of tests over small buffers. Rule: what the manual shows is here, and what backtracking has to find.

use super::{Answer, Piece, holds};
use crate::ruleset::network::Variables;
use crate::ruleset::rule::Test;
use crate::ruleset::{self, sticky::Sticky};

/// Whether the options hold for the bytes as a payload.
fn matches(options: &str, bytes: &[u8]) -> bool {
    let rule = format!("alert tcp any any -> any any ({options} sid:1;)");
    let rule =
        ruleset::parse(&rule, &Variables::default()).unwrap_or_else(|fault| panic!("{options}: {fault:?}"));
    let of = |sticky| rule.lists.iter().find(|list| list.sticky == sticky).map(|list| list.tests.clone());
    let tests: Vec<Test> = of(Sticky::Payload).unwrap_or_default();
    let of_decoded = of(Sticky::Base64Data).unwrap_or_default();
    matches!(holds(&tests, &of_decoded, Piece::whole(bytes), &mut 100_000), Answer::Yes { .. })
}

fn each(bytes: &[u8], yes: &[&str], no: &[&str]) {
    for options in yes {
        assert!(matches(options, bytes), "{options} holds for {:?}", String::from_utf8_lossy(bytes));
    }
    for options in no {
        assert!(!matches(options, bytes), "{options} does not hold for {:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn contents_and_their_places() {
    each(
        b"abcdefgh abc",
        &[
            r#"content:"abc"; startswith;"#,
            r#"content:"abc"; endswith;"#,
            r#"content:"ABC"; nocase; offset:1;"#,
            r#"content:"def"; offset:3; depth:3;"#,
            r#"content:"abc"; content:"def"; distance:0; within:3;"#,
            r#"content:"def"; content:"abc"; distance:-6; within:3;"#,
            r#"content:"abc"; content:!"xyz";"#,
            r#"content:"abc"; content:!"abc"; distance:9;"#,
            r#"content:"abc"; offset:9; isdataat:!1,relative;"#,
        ],
        &[
            r#"content:"ABC";"#,
            r#"content:"def"; offset:3; depth:3; content:"h"; distance:0; within:1;"#,
            r#"content:"def"; depth:5;"#,
            r#"content:"bcd"; startswith;"#,
            r#"content:"abcd"; endswith;"#,
            r#"content:!"abc";"#,
            r#"content:"abc"; depth:3; content:!"def"; distance:0;"#,
        ],
    );
}

#[test]
fn an_earlier_match_is_given_up_for_a_later_one() {
    each(
        b"user=a;user=b;user=cc;end",
        &[
            r#"content:"user="; content:"cc"; distance:0; within:2;"#,
            r#"content:"user="; content:"c"; distance:0; within:1; content:"c"; distance:0; within:1; content:"\;end"; distance:0; within:4;"#,
            r#"content:"user="; pcre:"/^cc/R";"#,
            r#"pcre:"/user=/"; content:"cc"; distance:0; within:2;"#,
            r#"content:"user="; byte_test:1,=,0x63,0,relative;"#,
        ],
        &[r#"content:"user="; content:"d"; distance:0; within:1;"#, r#"content:"user="; pcre:"/^dd/R";"#],
    );
}

#[test]
fn data_at_a_place() {
    // The manual's own example ("isdataat").
    each(
        b"abcdefgh",
        &[
            "isdataat:7;",
            "isdataat:8,relative;",
            r#"content:"c"; isdataat:5,relative;"#,
            "isdataat:!8;",
            r#"content:"h"; isdataat:!1,relative;"#,
            "bsize:8;",
            "bsize:7<>9;",
        ],
        &["isdataat:8;", "isdataat:9,relative;", r#"content:"c"; isdataat:6,relative;"#, "bsize:>8;"],
    );
}

#[test]
fn numbers_in_the_buffer() {
    each(
        b"\x00\x01\x00\x02len=10;\x04\x05ABCDxyz",
        &[
            "byte_test:2,=,1,0;",
            "byte_test:2,=,512,2,little;",
            "byte_test:2,!=,6,0;",
            r#"content:"len="; byte_test:2,=,10,0,relative,string,dec;"#,
            r#"content:"len="; byte_test:2,>,15,0,relative,string,hex;"#,
            "byte_test:1,&,1,1;",
            "byte_test:1,!&,2,1;",
            "byte_test:2,=,1,0,bitmask 0x0001;",
            r#"content:"\;"; byte_jump:1,0,relative; content:"CDx"; distance:-1; within:3;"#,
            r#"content:"\;"; byte_extract:1,0,n,relative; content:"x"; distance:n; within:2;"#,
            r#"byte_math:bytes 1, offset 3, oper +, rvalue 3, result sum; byte_test:1,=,sum,12;"#,
            r#"byte_jump:0,0,from_end,post_offset -3; content:"xyz"; distance:0; within:3;"#,
            r#"byte_jump:1,1,from_beginning,post_offset 3; content:"len"; distance:0; within:3;"#,
        ],
        &[
            "byte_test:4,=,1,0;",
            "byte_test:2,=,1,100;",
            r#"content:"len="; byte_test:2,=,10,0,string,dec;"#,
            "byte_jump:2,4; content:\"l\";",
        ],
    );
}

#[test]
fn base64_is_decoded_once_and_looked_into() {
    each(
        b"Authorization: Basic dXNlcjpzZWNyZXQ= more",
        &[
            r#"content:"Basic "; base64_decode:relative; base64_data; content:"user:secret";"#,
            r#"base64_decode:bytes 4, offset 21; base64_data; content:"use"; bsize:3;"#,
        ],
        &[
            r#"content:"Basic "; base64_decode:relative; base64_data; content:"other";"#,
            r#"base64_data; content:"user"; content:"Basic"; pkt_data; content:"none";"#,
        ],
    );
}

#[test]
fn what_costs_too_much_is_said() {
    let options =
        r#"content:"a"; content:"a"; distance:0; content:"a"; distance:0; content:"b"; distance:0;"#;
    let rule = format!("alert tcp any any -> any any ({options} sid:1;)");
    let rule = ruleset::parse(&rule, &Variables::default()).unwrap();
    let answer = holds(&rule.lists[0].tests, &[], Piece::whole(&[b'a'; 20_000]), &mut 100_000);
    assert_eq!(answer, Answer::Spent);
}
