//! Whole rules. Rule: each way of writing is here once, and each fault has its place.

use super::content::{Amount, Place};
use super::network::Variables;
use super::parse;
use super::rule::{Rule, Test};
use super::sticky::Sticky;

fn read(text: &str) -> Rule {
    parse(text, &Variables::default()).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

fn contents(rule: &Rule, sticky: Sticky) -> Vec<(String, Place)> {
    let list = rule.lists.iter().filter(|list| list.sticky == sticky);
    let tests = list.flat_map(|list| &list.tests).filter_map(|test| match test {
        Test::Content(content) => Some((String::from_utf8_lossy(&content.bytes).into_owned(), content.place)),
        _ => None,
    });
    tests.collect()
}

#[test]
fn modifiers_buffers_of_old_and_snort_3_come_to_the_same() {
    let place = Place::Relative { distance: Amount::Number(1), within: Some(Amount::Number(9)) };
    let want = [("a".to_owned(), Place::ANYWHERE), ("b".to_owned(), place)];
    for text in [
        r#"alert http any any -> any any (content:"a"; http_uri; content:"b"; distance:1; within:9; http_uri; sid:1;)"#,
        r#"alert http any any -> any any (http.uri; content:"a"; content:"b"; distance:1; within:9; sid:1;)"#,
        r#"alert http (http_uri; content:"a",fast_pattern; content:"b",distance 1,within 9; sid:1;)"#,
    ] {
        let rule = read(text);
        assert_eq!(contents(&rule, Sticky::HttpUri), want, "{text}");
        assert_eq!(contents(&rule, Sticky::Payload), [], "{text}");
    }
}

#[test]
fn what_a_rule_says_of_itself() {
    let text = r#"drop tcp any any -> any 80 (msg:"a\; b"; reference:url,x.example/?a,b; metadata:k v, l; classtype:c; priority:2; gid:3; sid:4; rev:5;)"#;
    let rule = read(text);
    assert_eq!((&*rule.message, rule.generator, rule.id, rule.revision), ("a; b", 3, 4, 5));
    assert_eq!((rule.references.len(), rule.metadata.len(), rule.priority), (1, 2, Some(2)));
    assert_eq!(rule.class.as_deref(), Some("c"));
}

#[test]
fn faults_have_their_place() {
    for (options, word) in [
        (r#"content:"a|0g|";"#, "g|"),
        ("depth:3;", "depth"),
        (r#"content:"abc"; depth:2;"#, "2;"),
        (r#"content:"abc"; offset:1; distance:1;"#, "1; sid"),
        (r#"content:"abc"; startswith; offset:1; within:3;"#, "3;"),
        (r#"pcre:"/(/";"#, "\"/("),
        ("byte_test:2,~,1,0;", "2,~"),
        ("flow:sideways;", "sideways"),
        ("nonsense:1;", "nonsense"),
        ("dns.query; content:\"a\"; http.uri; content:\"b\";", ""),
    ] {
        let text = format!("alert http any any -> any any ({options} sid:1;)");
        let fault = parse(&text, &Variables::default()).expect_err(&text);
        let at =
            if word.is_empty() { text.len() } else { text.find(word).unwrap_or_else(|| panic!("{text}")) };
        assert_eq!(fault.at, at, "{text}: {fault:?}");
    }
    assert!(
        parse("alert tcp any any -> any any (content:\"a\";)", &Variables::default()).is_err(),
        "no number"
    );
}
