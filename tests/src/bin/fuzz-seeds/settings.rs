//! Configuration files to begin with: the default one and what is made of it. Rule: a key that the table gets is in them at once.

use crate::Corpus;

/// Every key with its default, most of them commented out; a test keeps it the table's.
const DEFAULT: &str = include_str!("../../../../config/lockgate.toml");

/// What some key or other takes, and most do not.
const VALUES: &[&str] =
    &["true", "-1", "0x7fff_ffff_ffff_ffff", "1.5", "1979-05-27", "\"\"", "\"x\"", "[]", "[[1]]", "{}"];

pub fn seeds(corpus: &Corpus) {
    let put = |name: &str, text: &str| corpus.put("settings", name, text.as_bytes());
    put("default", DEFAULT);
    put("windows", &DEFAULT.replace('\n', "\r\n"));
    put("every_key", &every_key(|default| default));
    for (index, value) in VALUES.iter().enumerate() {
        put(&format!("every_key_is{index}"), &every_key(|_| value));
    }
    for (index, section) in every_key(|default| default).split("\n[").enumerate() {
        put(&format!("section{index}"), &format!("[{}", section.trim_start_matches('[')));
    }
    for (index, text) in ACCEPTED.iter().enumerate() {
        put(&format!("accepted{index}"), text);
    }
    for (index, text) in REFUSED.iter().enumerate() {
        put(&format!("refused{index}"), text);
    }
    corpus.put("settings", "no_text", b"[limits]\n# \xff\n");
}

/// The default file with every comment sign taken away, and other values.
fn every_key<'a>(value: impl Fn(&'a str) -> &'a str) -> String {
    let mut text = String::new();
    for line in DEFAULT.lines().map(|line| line.trim_start_matches("# ")) {
        match line.split_once(" = ") {
            Some((key, default)) if !key.contains(' ') => {
                text += &format!("{key} = {}\n", value(default).replace('…', "own"));
            }
            None if line.starts_with('[') => text += &format!("{line}\n"),
            _ => {}
        }
    }
    text
}

const ACCEPTED: &[&str] = &[
    "",
    "[[listen]]\nnext_hop = \"[::1]:10025\"\nrelay_domains = [\"Example.ORG\", \"*.example.org\"]\n\
     [[listen]]\nname = \"smtp-3\"\naddress = \"[::]:25\"\nnext_hop = \"h:25\"\nclient_address = \"xclient\"\n\
     [[listen]]\naddress = \"[::]:26\"\nnext_hop = \"h:25\"\nclient_address = \"none\"\n\
     [[listen]]\naddress = \"[::]:27\"\nnext_hop = \"h:25\"\n",
    "[[listen]]\nprotocol = \"pop3\"\nintercept = \"tproxy\"\nnext_hop = \"original\"\ntls = \"offered\"\n\
     certificate = \"chain.pem\"\nkey = \"key.pem\"\naccept_proxy_from = [\"192.0.2.0/24\", \"2001:db8::/32\"]\n\
     [[listen]]\naddress = \"[::]:25\"\nintercept = \"redirect\"\nnext_hop = \"original\"\n",
    "[antivirus]\ndatabases = [\"/var/lib/clamav\", \"own.ndb\", \"builtin:demonstration\"]\n",
    "[antivirus]\ndatabases = []\n[events]\neve = \"stderr\"\n",
    "events = { eve = \"eve.json\", stats_interval = \"5 h\" }\nlimits.depth_max = 3\n",
    "[policy]\nbanned_names = [\"*.exe\", \"a?b*\"]\nbanned_types = { pe = \"tag\", elf = \"reject\" }\nquarantine = \"kept\"\n\
     findings = { banned_name = \"quarantine\" }\nincomplete.encrypted = \"reject\"\ntag_when_streamed = \"defer\"\n\
     [[policy.group]]\nname = \"staff\"\nrecipients = \"staff.example.org\"\nnetworks = [\"10.0.0.0/8\"]\n\
     listeners = [\"smtp\"]\nfindings.virus = \"defer\"\n[[listen]]\nnext_hop = \"maildir:mail\"\n",
];

const REFUSED: &[&str] = &[
    "[gateway\n",
    "[limits]\ndepth_mx = 3\nquite_another = 3\n",
    "[limit]\n[ids]\n[nowhere.at.all]\n",
    "limits = 3\npolicy = 4\nlisten = 5\n",
    "policy.findings = 1\npolicy.group = 2\n",
    "[listen]\nnext_hop = \"h:25\"\n",
    "[gateway]\nthreads = 1\nthreads = 2\n",
    "a.b.c.d.e.f.g = [[[[[[{a.b=[[[]]]}]]]]]]\n",
    "[[listen]]\n[[listen]]\nprotocol = \"pop3\"\nnext_hop = \"maildir:\"\n",
    "[[listen]]\nname = \"a\"\nnext_hop = \"h:25\"\n[[listen]]\nname = \"a\"\nnext_hop = \"h:0\"\n",
    "[[listen]]\nprotocol = \"pop3\"\nnext_hop = \"maildir:x\"\n",
    "[[listen]]\nnext_hop = \"original\"\ntls = \"implicit\"\nkey = \"key.pem\"\n",
    "[[policy.group]]\n[[policy.group]]\nname = \"default\"\n",
    "[[policy.group]]\nname = \"a\"\nlisteners = [\"smtpp\", \"other\"]\n[[policy.group]]\nname = \"a\"\n\
     [[listen]]\nnext_hop = \"h:25\"\n",
    "[policy]\nfindings.virus = \"quarantine\"\nincomplete.budget = \"pass\"\n",
    "[policy]\nfindings.virus = \"quarantine\"\n",
    "[policy]\nbanned_types = [\"exe\"]\nbanned_names = { \"*\" = \"drop\" }\n",
    "[antivirus]\ndatabases = [\"builtin:all\"]\n",
];
