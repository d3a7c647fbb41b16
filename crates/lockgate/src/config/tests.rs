//! The configuration at work. Rule: every default is the code's own, every error has its place.

use super::*;
use crate::config::table::Key;
use crate::config::value::Value;
use lockgate_model::{Class, Reason, Verdict};
use std::fmt::Debug;

fn parse(text: &str) -> Result<Config, Vec<String>> {
    Config::parse("t.toml", text.as_bytes(), Path::new("/base"))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn errors(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(config) => panic!("accepted: {config:?}"),
        Err(errors) => errors,
    }
}

/// Puts each row's default onto a fresh draft and expects that nothing changes.
fn defaults_are_the_codes<T: Default + Debug>(keys: &[Key<T>]) {
    for key in keys.iter().filter(|key| !key.info.default.is_empty()) {
        let toml = DeValue::parse(key.info.default).unwrap();
        let mut target = T::default();
        let set = (key.set)(&mut target, Value { toml: &toml, base: Path::new("") });
        assert_eq!(set, Ok(()), "{}", key.info.name);
        assert_eq!(format!("{target:?}"), format!("{:?}", T::default()), "{}", key.info.name);
    }
}

/// Each row is written into the right field: another value than the default changes the draft, and no two rows alike.
fn rows_differ<T: Default + Debug>(keys: &[Key<T>]) {
    let mut seen = vec![format!("{:?}", T::default())];
    for key in keys {
        let other = match key.info.kind {
            "number" | "size" => "54321",
            "time" => "\"54321 ms\"",
            "true or false" => {
                if key.info.default == "true" {
                    "false"
                } else {
                    "true"
                }
            }
            "action" if key.info.default == "\"defer\"" => "\"reject\"",
            "action" => "\"quarantine\"",
            "list of networks" => "\"192.0.2.0/24\"",
            kind if kind.starts_with("list of types") => "\"pe\"",
            _ => continue,
        };
        let toml = DeValue::parse(other).unwrap();
        let mut target = T::default();
        assert_eq!(
            (key.set)(&mut target, Value { toml: &toml, base: Path::new("") }),
            Ok(()),
            "{}",
            key.info.name
        );
        let shown = format!("{target:?}");
        assert!(!seen.contains(&shown), "{} goes where another key goes, or nowhere", key.info.name);
        seen.push(shown);
    }
}

/// The choices that a row lists are those that it takes.
fn choices_are_taken<T: Default>(keys: &[Key<T>]) {
    for key in keys.iter().filter(|key| key.info.kind.starts_with('"') && key.info.name != "next_hop") {
        for choice in key.info.kind.split(['"']).skip(1).step_by(2) {
            let text = format!("\"{choice}\"");
            let toml = DeValue::parse(&text).unwrap();
            let set = (key.set)(&mut T::default(), Value { toml: &toml, base: Path::new("") });
            assert_eq!(set, Ok(()), "{} = {choice}", key.info.name);
        }
    }
}

fn all_of<T: Default + Debug>(section: &Section<T>) {
    defaults_are_the_codes(section.keys);
    rows_differ(section.keys);
    choices_are_taken(section.keys);
}

#[test]
fn the_table_says_what_the_code_does() {
    all_of(&keys::GATEWAY);
    all_of(&keys::ANTIVIRUS);
    all_of(&keys_webfilter::WEBFILTER);
    all_of(&keys_ids::IDS);
    all_of(&keys_interception::INTERCEPTION);
    all_of(&keys_page::PAGE);
    all_of(&keys::EVENTS);
    all_of(&keys::LIMITS);
    all_of(&keys_listen::LISTEN);
    all_of(&keys_policy::POLICY);
    all_of(&keys_policy::GROUP);
    all_of(&keys_policy::FINDINGS);
    all_of(&keys_policy::INCOMPLETE);
}

#[test]
fn every_class_and_reason_has_its_row() {
    let names = |keys: &[Key<GroupDraft>]| keys.iter().map(|key| key.info.name).collect::<Vec<_>>();
    assert_eq!(names(keys_policy::FINDINGS.keys), Class::ALL.map(Class::name));
    assert_eq!(names(keys_policy::INCOMPLETE.keys), Reason::ALL.map(Reason::name));
}

#[test]
fn the_default_file_and_the_reference_are_up_to_date() {
    assert_eq!(EMBEDDED, reference::toml(), "run: lockgate reference --toml > config/lockgate.toml");
    let on_disk = include_str!("../../../../docs/reference.md");
    let made = reference::markdown(&crate::command::helps());
    assert_eq!(on_disk, made, "run: lockgate reference --markdown > docs/reference.md");
}

#[test]
fn the_default_file_serves_also_with_every_comment_taken_away() {
    let config = Config::load(None).unwrap();
    let [mail, web] = &config.settings.listeners[..] else { panic!("two listeners") };
    assert_eq!(mail.next_hop, NextHop::Maildir("lockgate-mail".into()));
    assert_eq!((web.protocol, web.address), (Speaks::Http, DEFAULT_HTTP_ADDRESS));
    assert_eq!(config.databases, [Source::Demonstration]);

    let is_key = |line: &str| {
        line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let uncommented = |line: &str| line.trim_start_matches("# ").to_owned();
    let lines = EMBEDDED.lines().map(uncommented).filter(|line| is_key(line) && !line.contains('…'));
    // Only a group cannot do without a name.
    let errors = errors(&lines.collect::<Vec<_>>().join("\n"));
    assert!(errors.len() == 1 && errors[0].contains("policy.group: a name is required"), "{errors:#?}");
}

#[test]
fn a_whole_file() {
    let config = parse(
        r#"
        [gateway]
        hostname = "mx.example.org"
        [[listen]]
        address = "127.0.0.1:25"
        next_hop = "[::1]:10025"
        relay_domains = ["Example.ORG"]
        hold_bytes = "1 MiB"
        [[listen]]
        protocol = "pop3"
        address = "[::]:110"
        intercept = "tproxy"
        next_hop = "original"
        [antivirus]
        databases = ["/var/lib/clamav", "own.ndb", "builtin:demonstration"]
        [events]
        eve = "log/eve.json"
        [policy]
        banned_names = ["*.exe"]
        quarantine = "kept"
        findings = { banned_name = "quarantine" }
        incomplete.encrypted = "reject"
        [[policy.group]]
        name = "staff"
        recipients = ["staff.example.org"]
        listeners = ["smtp"]
        banned_types = { pe = "tag" }
        findings.virus = "defer"
        "#,
    )
    .unwrap();
    let [smtp, pop3] = &config.settings.listeners[..] else { panic!("two listeners") };
    assert_eq!((smtp.name.as_str(), pop3.name.as_str()), ("smtp", "pop3"));
    assert_eq!(smtp.relay_domains, ["example.org"]);
    assert_eq!(smtp.hold_bytes, 1 << 20);
    assert_eq!((pop3.intercept, &pop3.next_hop), (Intercept::Tproxy, &NextHop::Original));
    assert_eq!(config.databases[1], Source::Path("/base/own.ndb".into()));
    assert_eq!(config.settings.quarantine_directory, Some("/base/kept".into()));
    let [staff, default] = config.policy.groups() else { panic!("two groups") };
    assert_eq!((staff.name.as_str(), default.name.as_str()), ("staff", "default"));
    assert_eq!(staff.on_finding(Class::Virus), Verdict::Defer);
    assert_eq!(default.on_finding(Class::Virus), Verdict::Reject);
    // What [policy] says stands in the group, too, and a ban without an action has that of its class.
    assert_eq!(staff.on_incomplete(Reason::Encrypted), Verdict::Reject);
    assert_eq!(staff.banned_names[0].verdict, Verdict::Quarantine);
    assert_eq!(staff.banned_types[0].verdict, Verdict::Tag);
    assert!(default.banned_types.is_empty());
}

#[test]
fn thousands_of_bans_are_one_list_for_thousands_of_groups() {
    let names: String = (0..8000).map(|number| format!("\"*.x{number}\", ")).collect();
    // All but a few take what [policy] bans, by two actions.
    let group = |number: usize| match number % 100 {
        0 => format!("[[policy.group]]\nname = \"g{number}\"\nbanned_names = [\"own\"]\n"),
        1..50 => format!("[[policy.group]]\nname = \"g{number}\"\nfindings.banned_name = \"tag\"\n"),
        _ => format!("[[policy.group]]\nname = \"g{number}\"\n"),
    };
    let groups: String = (0..1900).map(group).collect();
    let config = parse(&format!("[policy]\nbanned_names = [{names}]\n{groups}")).unwrap();
    let [_, tagged, .., rejected, _] = config.policy.groups() else { panic!("many groups") };
    for (group, number) in config.policy.groups().iter().zip(0..) {
        let (bans, expected) = match number % 100 {
            0 if number < 1900 => (&group.banned_names, 1),
            1..50 => (&tagged.banned_names, 8000),
            _ => (&rejected.banned_names, 8000),
        };
        assert_eq!(group.banned_names.len(), expected);
        assert!(group.banned_names.are_shared_with(bans), "{}", group.name);
    }
    assert_eq!(
        (tagged.banned_names[0].verdict, rejected.banned_names[7999].verdict),
        (Verdict::Tag, Verdict::Reject)
    );
}

#[test]
fn errors_name_the_place_and_what_to_do() {
    let hop = "[[listen]]\nnext_hop = \"h:25\"\n";
    for (text, place, words) in [
        ("[limits]\ndepth_mx = 3\n", "t.toml:2:1:", "did you mean \"depth_max\"?"),
        ("[antispam]\nrules = []\n", "t.toml:1:2:", "not there yet"),
        ("[ids]\nvariables = [\"HOME_NET\"]\n", "t.toml:2:13:", "lacks its ="),
        ("[limit]\n", "t.toml:1:2:", "did you mean \"limits\"?"),
        ("[limits]\ndepth_max = \"3\"\n", "t.toml:2:13:", "a whole number without quotes is wanted"),
        ("[limits]\ndepth_max = 70000\n", "t.toml:2:13:", "too large"),
        ("[limits]\nparts_max = 0\n", "t.toml:2:13:", "1 or more"),
        ("limits = 3\n", "t.toml:1:10:", "write [limits]"),
        ("[listen]\nnext_hop = \"h:25\"\n", "t.toml:1:1:", "write [[listen]]"),
        ("[[listen]]\n", "t.toml:1:1:", "Add next_hop"),
        ("[[listen]]\nnext_hop = \"host\"\n", "t.toml:2:12:", "is no next hop"),
        ("[[listen]]\nnext_hop = \"::1:25\"\n", "t.toml:2:12:", "in brackets"),
        ("[[listen]]\nnext_hop = \"original\"\n", "t.toml:1:1:", "needs intercept"),
        ("[[listen]]\nprotocol = \"pop3\"\nnext_hop = \"maildir:x\"\n", "t.toml:1:1:", "only smtp"),
        ("[[listen]]\nnext_hop = \"h:25\"\ntls = \"offered\"\n", "t.toml:1:1:", "needs a certificate"),
        ("[[listen]]\nnext_hop = \"h:25\"\naddress = \"25\"\n", "t.toml:3:11:", "address with a port"),
        ("[[listen]]\nnext_hop = \"h:25\"\nreply_timeout = 5\n", "t.toml:3:17:", "with a unit"),
        ("[[listen]]\nnext_hop = \"h:25\"\naccept_xclient_from = [\"x\"]\n", "t.toml:3:23:", "is no network"),
        ("[[listen]]\nprotocol = \"http\"\nnext_hop = \"h:25\"\n", "t.toml:1:1:", "take next_hop out"),
        (
            "[[listen]]\nprotocol = \"http\"\ntls = \"offered\"\ncertificate = \"c\"\nkey = \"k\"\n",
            "t.toml:1:1:",
            "no STARTTLS",
        ),
        ("[[listen]]\nprotocol = \"http\"\nconnect_ports = [0]\n", "t.toml:3:17:", "1 or more"),
        (&[hop, hop].concat(), "t.toml:3:1:", "has the address 127.0.0.1:2525 already"),
        ("[policy]\nfindings.virus = \"drop\"\n", "t.toml:2:18:", "write one of \"pass\", \"tag\""),
        ("[policy]\nincomplete.budget = \"pass\"\n", "t.toml:2:21:", "never milder than"),
        ("[policy]\nfindings.virus = \"quarantine\"\n", "t.toml:1:1:", "set quarantine ="),
        ("[policy]\nbanned_types = [\"exe\"]\n", "t.toml:2:16:", "is no type"),
        ("[[policy.group]]\n", "t.toml:1:1:", "a name is required"),
        ("[[policy.group]]\nname = \"default\"\n", "t.toml:1:1:", "choose another"),
        (
            "[[policy.group]]\nname = \"a\"\nlisteners = [\"smtpp\"]\n[[listen]]\nnext_hop = \"h:25\"\n",
            "t.toml:1:1:",
            "did you mean \"smtp\"?",
        ),
        ("[antivirus]\ndatabases = [\"builtin:all\"]\n", "t.toml:2:13:", "only \"builtin:demonstration\""),
        ("[gateway\n", "t.toml:1:9:", ""),
        ("[gateway]\nthreads = 1\nthreads = 2\n", "t.toml:3:1:", "take one of them out"),
    ] {
        let errors = errors(text);
        assert!(
            errors.len() == 1 && errors[0].starts_with(place) && errors[0].contains(words),
            "{text:?}\nwanted {place} … {words}\ngot {errors:#?}"
        );
    }
}

#[test]
fn listeners_without_a_name_are_numbered() {
    let listen = |port: usize, more: &str| {
        format!("[[listen]]\naddress = \"127.0.0.1:{port}\"\nnext_hop = \"h:25\"\n{more}")
    };
    let named = "name = \"smtp-2\"\n";
    let text = [listen(1, ""), listen(2, named), listen(3, ""), listen(4, "protocol = \"pop3\"\n")].concat();
    let config = parse(&text).unwrap();
    let names: Vec<_> = config.settings.listeners.iter().map(|listener| listener.name.as_str()).collect();
    assert_eq!(names, ["smtp", "smtp-2", "smtp-3", "pop3"]);
    // Each search goes on where the last one ended, or so many would take minutes.
    let many: String = (1..5000).map(|port| listen(port, "")).collect();
    assert_eq!(parse(&many).unwrap().settings.listeners[4998].name, "smtp-4999");
}

#[test]
fn bytes_that_are_no_text_have_their_place() {
    let problems = Config::parse("t.toml", b"[limits]\n# \xc3\xbc\xff\n", Path::new("")).unwrap_err();
    let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["t.toml:2:4: what follows is not UTF-8: save the file as UTF-8"]);
}

#[test]
fn one_run_names_every_error() {
    let errors =
        errors("[limits]\ndepth = \"x\"\n[events]\nevee = 1\n[[listen]]\nname = \"\"\nnext_hop = 3\n");
    assert_eq!(errors.len(), 4, "{errors:#?}");
}
