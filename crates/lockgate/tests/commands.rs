//! The commands as a person runs them: output and exit status. Rule: every file is made here, EICAR at run time.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as expected")]

mod common;

use common::{Scratch, eicar, lockgate, zip};
use std::process::Output;

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn scan_says_what_it_found_by_its_exit_status() {
    let scratch = Scratch::new("scan");
    scratch.write("clean.txt", "hello\n");
    scratch.write("eicar.com", eicar());
    scratch.write("nested/outer.zip", zip("inner.zip", &zip("eicar.com", &eicar())));
    for (paths, expected) in [
        (&["clean.txt"][..], 0),
        (&["eicar.com"], 1),
        (&["nested"], 1),
        (&["."], 1),
        (&["missing"], 2),
        (&["clean.txt", "missing"], 2),
        (&["missing", "eicar.com"], 1),
    ] {
        let output = lockgate(&[&["scan"], paths].concat(), scratch.path());
        assert_eq!(status(&output), Some(expected), "{paths:?}: {}{}", out(&output), err(&output));
    }
}

#[test]
fn scan_names_the_part_that_it_was_found_in() {
    let scratch = Scratch::new("scan-part");
    scratch.write("outer.zip", zip("inner.zip", &zip("eicar.com", &eicar())));
    scratch.write("clean.txt", "hello\n");
    let output = lockgate(&["scan", "--json", "outer.zip", "clean.txt"], scratch.path());
    let lines: Vec<serde_json::Value> =
        out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["path"], "outer.zip");
    assert_eq!(lines[0]["verdict"], "reject");
    // Nothing is packed, so that it is found in the archives' own bytes, too.
    let findings = lines[0]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["part"] == "inner.zip/eicar.com").unwrap();
    assert_eq!(finding["name"], "Demo.Eicar-Test-Signature");
    assert_eq!((&finding["engine"], &finding["buffer"]), (&"antivirus".into(), &"file.data".into()));
    assert_eq!((&lines[1]["verdict"], &lines[1]["findings"]), (&"pass".into(), &serde_json::json!([])));
}

/// With a list of allowed files a finding waits until the file around it is known not to be on it; it is still told where it is.
#[test]
fn a_finding_that_waited_is_told_where_it_is() {
    let scratch = Scratch::new("scan-waited");
    let hex: String = eicar().iter().map(|byte| format!("{byte:02x}")).collect();
    scratch.write("databases/own.ndb", format!("Own.Eicar:0:0:{hex}\n"));
    scratch.write("databases/own.fp", "00112233445566778899aabbccddeeff:1000000:Allowed.File\n");
    scratch.write("outer.zip", zip("inner.zip", &zip("eicar.com", &eicar())));
    let output = lockgate(&["scan", "--database", "databases", "outer.zip"], scratch.path());
    assert_eq!(status(&output), Some(1));
    assert!(out(&output).contains("Own.Eicar in inner.zip/eicar.com file.data at 0"), "{}", out(&output));
}

#[test]
fn scan_takes_other_databases() {
    let scratch = Scratch::new("scan-database");
    scratch.write("own.ndb", "Own.Signature:0:*:6d792d6f776e2d6d61726b6572\n");
    scratch.write("marked", "here is my-own-marker\n");
    scratch.write("eicar.com", eicar());
    let with_own = |path| status(&lockgate(&["scan", "--database", "own.ndb", path], scratch.path()));
    assert_eq!((with_own("marked"), with_own("eicar.com")), (Some(1), Some(0)));
    let missing = lockgate(&["scan", "--database", "none.ndb", "marked"], scratch.path());
    assert_eq!(status(&missing), Some(2));
    assert!(err(&missing).contains("none.ndb: cannot be read"), "{}", err(&missing));
}

#[test]
fn scan_understands_what_users_of_clamscan_type() {
    let scratch = Scratch::new("scan-words");
    scratch.write("dir/clean.txt", "hello\n");
    scratch.write("dir/below/eicar.com", eicar());
    scratch.write("list", "dir/clean.txt\r\n\ndir/below\n");
    let told = |arguments: &[&str]| {
        let output = lockgate(&[&["scan"], arguments].concat(), scratch.path());
        let names = out(&output).lines().filter(|line| !line.starts_with(' ')).count();
        (status(&output), names)
    };
    for (arguments, expected) in [
        (&["-r", "dir"][..], (Some(1), 2)),
        (&["--recursive", "--allmatch", "--no-summary", "dir"], (Some(1), 2)),
        (&["--recursive=yes", "-z", "-i", "dir"], (Some(1), 1)),
        (&["-rio", "dir"], (Some(1), 1)),
        (&["--suppress-ok-results", "--infected", "dir/clean.txt"], (Some(0), 0)),
        (&["--quiet", "dir"], (Some(1), 0)),
        (&["--file-list=list"], (Some(1), 2)),
        (&["-f", "list", "-i", "dir/clean.txt"], (Some(1), 1)),
        (&["-f", "missing"], (Some(2), 0)),
        (&["--recursive=no", "dir"], (Some(2), 0)),
        (&[], (Some(2), 0)),
    ] {
        assert_eq!(told(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn what_could_not_be_inspected_is_told_with_what_was_found() {
    let scratch = Scratch::new("scan-incomplete");
    let mut cut = zip("eicar.com", b"hello");
    cut.truncate(20);
    scratch.write("cut.zip", &cut);
    let output = lockgate(&["scan", "--infected", "cut.zip"], scratch.path());
    assert!(out(&output).contains("not inspected"), "{}", out(&output));
}

#[test]
fn check_counts_and_lists_what_was_not_loaded() {
    let scratch = Scratch::new("check");
    scratch.write("databases/a.ndb", "Good:0:*:6465616462656566\nBad:0:*:zz\n");
    scratch.write("databases/b.cbc", "of a kind that is not read");
    let config = "[[listen]]\nnext_hop = \"127.0.0.1:25\"\n[antivirus]\ndatabases = [\"databases\"]\n";
    let rules = "alert http any any -> any any (http.uri; content:\"a\"; sid:1;)\nalert tcp any any -> any (sid:2;)\n";
    scratch.write("rules/a.rules", rules);
    scratch.write("lockgate.toml", format!("{config}[webfilter]\nlists = []\n[ids]\nrules = [\"rules\"]\n"));

    let output = lockgate(&["check", "--config", "lockgate.toml", "--json"], scratch.path());
    assert_eq!(status(&output), Some(2));
    let text = out(&output);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["signatures_loaded"], &lines[0]["signatures_failed"]), (&1.into(), &1.into()));
    assert_eq!((&lines[0]["rules_loaded"], &lines[0]["rules_failed"]), (&1.into(), &1.into()));
    for zero in ["list_lines_loaded", "list_lines_failed"] {
        assert_eq!(lines[0][zero], 0, "{zero}");
    }
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["line"], &lines[2]["line"]), (&2.into(), &2.into()));
    assert!(lines[2]["file"].as_str().is_some_and(|file| file.ends_with("a.rules")), "{}", lines[2]);
    assert!(lines[1]["file"].as_str().is_some_and(|file| file.ends_with("a.ndb")), "{}", lines[1]);

    let output = lockgate(&["check", "--config", "lockgate.toml"], scratch.path());
    assert_eq!(status(&output), Some(2));
    for words in
        ["a.ndb:2:", "a.rules:2:1:", "not read: databases/b.cbc", "1 loaded, 1 not loaded", "relay_domains"]
    {
        assert!(out(&output).contains(words), "{words} in\n{}", out(&output));
    }
    assert_eq!(status(&lockgate(&["check"], scratch.path())), Some(0));
}

#[test]
fn url_says_which_list_decides() {
    let scratch = Scratch::new("url");
    scratch.write(
        "lists/group/bannedsitelist",
        "#listcategory: \"Games\"\n.Include<../games/domains>\nbad.example\n",
    );
    scratch.write("lists/group/exceptionurllist", "bad.example/about\n");
    scratch.write("lists/games/domains", "play.example\n");
    scratch.write("ads.txt", "||ads.example^\n||x.example^$third-party\n");
    let config = "[[listen]]\nnext_hop = \"127.0.0.1:25\"\n[webfilter]\nlists = [\"lists\", \"ads.txt\"]\n";
    scratch.write("lockgate.toml", config);
    let url = |urls: &[&str]| {
        let arguments = [&["url", "--config", "lockgate.toml", "--json"][..], urls].concat();
        let output = lockgate(&arguments, scratch.path());
        let lines = out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (status(&output), lines)
    };
    let (code, lines): (_, Vec<serde_json::Value>) =
        url(&["http://www.play.example/x", "ads.example", "bad.example/about"]);
    assert_eq!(code, Some(1));
    assert_eq!((&lines[0]["decision"], &lines[0]["line"]), (&"banned".into(), &1.into()));
    assert_eq!((&lines[0]["category"], &lines[0]["pattern"]), (&"games".into(), &"play.example".into()));
    assert!(lines[0]["file"].as_str().is_some_and(|file| file.ends_with("games/domains")), "{}", lines[0]);
    assert_eq!((&lines[1]["decision"], &lines[1]["file"]), (&"banned".into(), &"ads.txt".into()));
    assert_eq!(
        (&lines[2]["decision"], &lines[2]["also"][0]["decision"]),
        (&"exception".into(), &"banned".into())
    );
    assert_eq!(url(&["bad.example/about", "other.example"]).0, Some(0));
    assert_eq!(url(&["http://"]).0, Some(2));
    assert_eq!(status(&lockgate(&["url", "--lists", "missing", "a.example"], scratch.path())), Some(2));

    let output = lockgate(&["check", "--config", "lockgate.toml", "--json"], scratch.path());
    assert_eq!(status(&output), Some(2), "one filter is not understood");
    let text = out(&output);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["list_lines_loaded"], &lines[0]["list_lines_failed"]), (&5.into(), &1.into()));
    assert_eq!((&lines[1]["file"], &lines[1]["line"]), (&"ads.txt".into(), &2.into()));
}

#[test]
fn url_names_every_line_that_has_it() {
    let scratch = Scratch::new("url-every-line");
    let repeated = "bad.example\n".repeat(30);
    scratch.write("lists/a/bannedsitelist", format!("{repeated}www.bad.example\n"));
    scratch.write("lists/b/bannedsitelist", "bad.example\n");
    let phrases = "<dice><40>\n<card table><30>\n<DICE><10>\n<dice><-5>\n";
    scratch.write("lists/weightedphraselist", phrases);
    scratch.write("lists/exceptionphraselist", "<about safety>\n");
    scratch.write("page", "Dice, a card table, about safety");
    let json = |urls: &[&str]| {
        let output = lockgate(&[&["url", "-l", "lists", "--json"][..], urls].concat(), scratch.path());
        serde_json::from_str::<serde_json::Value>(&out(&output)).unwrap()
    };
    let said = json(&["www.bad.example"]);
    assert_eq!((&said["line"], &said["also_count"]), (&31.into(), &31.into()), "{said}");
    let also = said["also"].as_array().unwrap();
    let of_b = also
        .iter()
        .filter(|line| line["file"].as_str().is_some_and(|file| file.ends_with("b/bannedsitelist")));
    assert_eq!((also.len(), of_b.count()), (31, 1), "{said}");
    let text = out(&lockgate(&["url", "-l", "lists", "www.bad.example"], scratch.path()));
    assert_eq!(text.matches("also banned").count(), 20, "{text}");
    assert!(text.contains("and 11 more lines"), "{text}");
    // What an exception phrase outweighs is told, and each line for a phrase that has several.
    let said = json(&["--content", "page", "other.example"]);
    let lines = |name: &str| {
        let terms = said["phrases"][name].as_array().unwrap().iter();
        let mut lines: Vec<_> = terms.map(|term| term["line"].as_u64().unwrap()).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!((lines("terms"), lines("also")), (vec![1], vec![1, 2, 3, 4]), "{said}");
}

#[test]
fn errors_in_the_configuration_name_their_place() {
    let scratch = Scratch::new("errors");
    scratch.write("lockgate.toml", "[[listen]]\nnext_hop = \"127.0.0.1:25\"\nadress = \"127.0.0.1:25\"\n");
    for command in [&["check"][..], &["serve"], &["explain", "0000000000000"], &["scan", "lockgate.toml"]] {
        let output = lockgate(&[command, &["--config", "lockgate.toml"]].concat(), scratch.path());
        assert_eq!(status(&output), Some(2), "{command:?}");
        let wanted = "lockgate.toml:3:1: unknown key \"adress\" in [listen]: did you mean \"address\"?";
        assert!(err(&output).contains(wanted), "{command:?}: {}", err(&output));
    }
    let output = lockgate(&["check", "--json", "--config", "lockgate.toml"], scratch.path());
    assert!(out(&output).contains("\"line\":3,\"column\":1"), "{}", out(&output));
}

#[test]
fn explain_tells_a_verdict_from_the_events() {
    let scratch = Scratch::new("explain");
    let event = r#"{"timestamp":"2026-11-21T00:00:00.000000+0000","event_type":"verdict","verdict":{"id":"0000000000033","verdict":"pass","findings":[],"incomplete":[]}}"#;
    scratch.write("eve.json", format!("{event}\n"));
    let explain = |id| lockgate(&["explain", "--eve", "eve.json", id], scratch.path());
    assert_eq!(status(&explain("0000000000033")), Some(0));
    assert!(out(&explain("0000000000033")).contains("nothing was found"));
    assert_eq!(status(&explain("0000000000034")), Some(2));
    assert_eq!(status(&explain("what")), Some(2));
    assert_eq!(status(&lockgate(&["explain", "0000000000033"], scratch.path())), Some(2));
}

#[test]
fn the_manual_page_is_made_of_the_same_tables() {
    let scratch = Scratch::new("man");
    let man = out(&lockgate(&["reference", "--man"], scratch.path()));
    for words in [".SH CONFIGURATION", "hold_bytes", ".SS serve", "policy.group"] {
        assert!(man.contains(words), "{words}");
    }
}

#[test]
fn ids_tells_of_the_demonstration_capture_what_the_rules_find() {
    let scratch = Scratch::new("ids");
    scratch.write(
        "own.rules",
        "alert http any any -> any any (msg:\"a page\"; http.uri; content:\"/demonstration\"; startswith; sid:7; rev:3;)\n\
         alert tcp any any -> any 80 (msg:\"asked\"; flags:S; sid:8;)\n",
    );
    let run = |more: &[&str]| {
        let arguments = [&["ids", "--pcap", "builtin:demonstration", "--only", "alerts"], more].concat();
        let output = lockgate(&arguments, scratch.path());
        assert_eq!(status(&output), Some(0), "{}", err(&output));
        out(&output)
    };
    let built_in = run(&[]);
    assert_eq!(built_in.lines().count(), 1);
    assert!(built_in.contains("\"signature_id\":9000001") && built_in.contains("/demonstration/attack?id=1"));
    let own = run(&["--rules", "own.rules"]);
    let alerts: Vec<&str> = own.lines().collect();
    assert_eq!(alerts.len(), 2, "{own}");
    assert!(alerts[0].contains("\"signature_id\":8,") && alerts[0].contains("\"pcap_cnt\":1,"));
    assert!(
        alerts[1].contains("\"signature_id\":7,\"rev\":3") && alerts[1].contains("\"app_proto\":\"http\"")
    );
    let output = lockgate(&["ids", "--pcap", "own.rules"], scratch.path());
    assert_eq!(status(&output), Some(2));
    assert!(err(&output).contains("neither pcap nor pcapng"), "{}", err(&output));
}
