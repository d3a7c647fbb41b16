//! Traffic made from published rules, and who alerts on it: `generated-traffic`. Rule: Suricata says which rules the traffic is about;
//! the gateway is to say the same on the wire, and in its proxies.

mod buffer;
mod http;
mod proxies;
mod rule;
mod spoken;
mod tls;
mod wire;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use crate::files_below;
use crate::random::Random;
use lockgate_tests::temporary::Directory;

use rule::Rule;
use spoken::Spoken;

/// How many rules of which protocol are drawn: 1,000 in all, or all there are.
const DRAWN: [(&str, usize); 6] =
    [("http", 420), ("tcp", 160), ("dns", 140), ("tls", 150), ("smtp", 87), ("ftp", 43)];
const SEED: u64 = 2026;
/// On how many conversations Suricata is to alert.
const ALERTED_MIN: usize = 500;
/// On how many of these the same rules are to alert here, in a hundred.
const SAME_MIN: usize = 97;

/// The rules that alert on each conversation, by its number.
type Alerts = BTreeMap<usize, BTreeSet<u32>>;

/// What is said for a rule.
struct Conversation {
    rule: Rule,
    spoken: Spoken,
}

/// Checks the rules of a directory.
pub fn check(directory: &Path) -> Vec<String> {
    let conversations = conversations(directory);
    let place = Directory::new("traffic");
    println!("generated-traffic: {} conversations are made", conversations.len());
    let text: Vec<String> = conversations.iter().map(|its| its.rule.text()).collect();
    place.write("rules/drawn.rules", text.join("\n"));
    let text: Vec<String> = conversations.iter().map(|its| its.rule.text_of_anybody()).collect();
    place.write("rules/anybody.rules", text.join("\n"));
    wire::write(&place, &conversations);
    let expected = match wire::suricata(&place, "drawn.rules") {
        Ok(alerts) => alerts,
        Err(why) => return vec![why],
    };
    let mut wrong = Vec::new();
    if expected.len() < ALERTED_MIN {
        wrong.push(format!("Suricata alerts on {} conversations, {ALERTED_MIN} are wanted", expected.len()));
    }
    let told = wire::lockgate(&place, "drawn.rules");
    wrong.extend(compared("on the wire", &conversations, &expected, &told));
    match wire::suricata(&place, "anybody.rules") {
        Ok(expected) => {
            let is_proxied =
                |at: &usize| ["http", "smtp"].contains(&conversations[*at].rule.protocol.as_str());
            let expected = expected.into_iter().filter(|(at, _)| is_proxied(at)).collect();
            let mut told = proxies::web(&place, &conversations);
            told.extend(proxies::mail(&place, &conversations));
            wrong.extend(compared("in the proxies", &conversations, &expected, &told));
        }
        Err(why) => wrong.push(why),
    }
    wrong
}

/// The conversations for rules that are drawn.
fn conversations(directory: &Path) -> Vec<Conversation> {
    let mut random = Random::new(SEED);
    let mut rules = rules(directory);
    let mut all = Vec::new();
    for (protocol, count) in DRAWN {
        let is_of =
            |rule: &mut Rule| rule.protocol == protocol || protocol == "tcp" && rule.protocol == "tcp-pkt";
        let mut own: Vec<Rule> = rules.extract_if(.., is_of).collect();
        let (mut drawn, mut made) = (0, 0);
        while drawn < count && !own.is_empty() {
            let rule = own.swap_remove(random.below(own.len()));
            drawn += 1;
            let Some(rule) = rule.asking(&mut random) else { continue };
            let Some(spoken) = spoken::spoken(&rule) else { continue };
            made += 1;
            all.push(Conversation { rule, spoken });
        }
        println!("generated-traffic: {protocol}: {drawn} rules drawn, traffic made for {made}");
    }
    all
}

/// All rules that are on, each number once.
fn rules(directory: &Path) -> Vec<Rule> {
    let mut files = files_below(directory);
    files.sort();
    let mut known = HashSet::new();
    let texts = files.iter().filter(|path| path.extension().is_some_and(|its| its == "rules"));
    let texts: Vec<String> = texts
        .filter_map(|path| fs::read(path).ok())
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .collect();
    let rules = texts.iter().flat_map(|text| text.lines()).filter_map(Rule::read);
    rules.filter(|rule| known.insert(rule.sid)).collect()
}

/// What one says that the other does not.
fn compared(whose: &str, conversations: &[Conversation], expected: &Alerts, told: &Alerts) -> Vec<String> {
    let none = BTreeSet::new();
    let of_told = |at: usize| told.get(&at).unwrap_or(&none);
    let mut same = 0;
    for (&at, sids) in expected {
        let missed: Vec<&u32> = sids.difference(of_told(at)).collect();
        let besides: Vec<&u32> = of_told(at).difference(sids).collect();
        same += usize::from(missed.is_empty() && besides.is_empty());
        if !missed.is_empty() || !besides.is_empty() {
            let rule = &conversations[at].rule;
            println!(
                "generated-traffic: {whose}: {} of sid {}: missed {missed:?}, besides {besides:?}",
                at, rule.sid
            );
        }
    }
    let pairs: usize = expected.values().map(BTreeSet::len).sum();
    let met: usize = expected.iter().map(|(at, sids)| sids.intersection(of_told(*at)).count()).sum();
    let alone: Vec<(usize, u32)> = told
        .iter()
        .filter(|(at, _)| !expected.contains_key(at))
        .flat_map(|(at, sids)| sids.iter().map(|sid| (*at, *sid)))
        .collect();
    println!(
        "generated-traffic: {whose}: Suricata alerts on {}, the same rules on {same}; {met} of its {pairs} alerts; alone: {alone:?}",
        expected.len()
    );
    if same * 100 < expected.len() * SAME_MIN {
        return vec![format!(
            "{whose}: the same rules on {same} of {}, {SAME_MIN} % are wanted",
            expected.len()
        )];
    }
    Vec::new()
}
