//! Captures of all kinds, and who alerts on them by ET Open's rules: `ids-captures`. Rule: what counts is which rule alerts how often on which capture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{files_below, suricata, wire};
use lockgate_tests::temporary::Directory;

/// Of what either says, how much the other is to say, too, in a hundred.
const SAME_MIN: u64 = 97;
const ENDINGS: [&str; 3] = ["pcap", "pcapng", "cap"];

/// How often each rule alerts.
type Alerts = BTreeMap<u64, u64>;

/// Asks the rules of the directory about all captures beside it.
pub fn check(directory: &Path) -> Vec<String> {
    let place = Directory::new("captures");
    let rules = place.write("rules/all.rules", all_rules(directory));
    let mut reader = match suricata::Reader::start(&place, &rules) {
        Ok(reader) => reader,
        Err(why) => return vec![why],
    };
    let captures = captures(directory.parent().unwrap_or(directory));
    println!("ids-captures: {} captures", captures.len());
    let (mut theirs_all, mut ours_all, mut same_all) = (0, 0, 0);
    for (at, capture) in captures.iter().enumerate() {
        let theirs = alerts(&reader.events(capture, &place.join(&format!("out/{at}"))));
        let ours = alerts(&own_events(&place, capture));
        theirs_all += theirs.values().sum::<u64>();
        ours_all += ours.values().sum::<u64>();
        let same = theirs.iter().map(|(rule, times)| *times.min(ours.get(rule).unwrap_or(&0)));
        same_all += same.sum::<u64>();
        if theirs != ours {
            println!("ids-captures: {}: {theirs:?} by Suricata, {ours:?} by us", capture.display());
        }
    }
    println!("ids-captures: {theirs_all} alerts by Suricata, {ours_all} by us, {same_all} of them the same");
    let of = |all: u64| same_all * 100 >= all * SAME_MIN;
    let mut wrong = Vec::new();
    if !of(ours_all) {
        wrong.push(format!("precision: {same_all} of {ours_all}, {SAME_MIN} % are wanted"));
    }
    if !of(theirs_all) || theirs_all == 0 {
        wrong.push(format!("recall: {same_all} of {theirs_all}, {SAME_MIN} % are wanted"));
    }
    wrong
}

fn all_rules(directory: &Path) -> Vec<u8> {
    let mut files = files_below(directory);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "rules"));
    files.sort();
    let texts = files.iter().filter_map(|path| fs::read(path).ok());
    texts.flat_map(|text| [text, b"\n".to_vec()].concat()).collect()
}

fn captures(directory: &Path) -> Vec<PathBuf> {
    let mut files = files_below(directory);
    let is_capture =
        |path: &PathBuf| ENDINGS.iter().any(|ending| path.extension().is_some_and(|its| its == *ending));
    files.retain(is_capture);
    files.sort();
    files
}

fn own_events(place: &Directory, capture: &Path) -> String {
    let capture = capture.to_string_lossy();
    let (events, complaint) = wire::events(place, "rules/all.rules", &capture);
    if let Some(complaint) = complaint {
        println!("ids-captures: {capture}: {complaint}");
    }
    events
}

fn alerts(events: &str) -> Alerts {
    let mut alerts = Alerts::new();
    wire::alerts(events).for_each(|(_, rule)| *alerts.entry(rule).or_default() += 1);
    alerts
}
