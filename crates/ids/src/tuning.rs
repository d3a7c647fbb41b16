//! `threshold.config`: what an administrator changes of rules without touching them. Rule: the lines are those of Suricata's manual,
//! "Global-Thresholds"; one that is not understood is reported.

use crate::ruleset::bits::small;
use crate::ruleset::network::{Addresses, Variables};
use crate::ruleset::threshold::{Counting, Threshold, ThresholdKind};
use crate::thresholds::Pair;
use lockgate_model::Wish;
use std::sync::Arc;

/// What is changed of one rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuning {
    pub suppressed: Vec<Suppressed>,
    pub rate: Option<RateFilter>,
}

/// `suppress`: of whom a rule is not told.
#[derive(Clone, Debug)]
pub(crate) struct Suppressed {
    side: Side,
    addresses: Arc<Addresses>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

/// `rate_filter`: what a rule wants once it has matched that often.
#[derive(Clone, Debug)]
pub(crate) struct RateFilter {
    pub counting: Counting,
    pub count: u32,
    pub seconds: u32,
    pub wish: Wish,
    /// For how many seconds it then wants that.
    pub timeout: u32,
}

/// A line: of which rules, by number (0: of all) and generator, and what.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    generator: u32,
    id: u32,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Suppress(Option<Suppressed>),
    Threshold(Threshold),
    Rate(RateFilter),
}

impl Tuning {
    /// Whether a rule is not told of what goes between these two.
    pub fn is_suppressed(&self, pair: Pair) -> bool {
        self.suppressed.iter().any(|suppressed| {
            let (source, destination) =
                (suppressed.addresses.contains(pair.source), suppressed.addresses.contains(pair.destination));
            match suppressed.side {
                Side::Source => source,
                Side::Destination => destination,
                Side::Either => source || destination,
            }
        })
    }
}

impl Line {
    /// One line that is neither empty nor a note.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(line: &str, variables: &Variables) -> Result<Self, String> {
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut words = split(rest);
        let mut take = |name: &str| {
            let at = words.iter().position(|word| word.split_whitespace().next() == Some(name))?;
            let word = words.remove(at);
            Some(word.split_once(char::is_whitespace).map_or("", |(_, value)| value.trim()))
        };
        let mut number = |name| take(name).ok_or(format!("{name} is missing")).and_then(small);
        let (generator, id) = (number("gen_id")?, number("sig_id")?);
        let change = match keyword {
            "suppress" => Change::Suppress(match (take("track"), take("ip")) {
                (None, None) => None,
                (track, addresses) => Some(suppressed(track, addresses, variables)?),
            }),
            "rate_filter" => {
                let wish = match take("new_action") {
                    Some("alert") => Wish::Tell,
                    Some("drop" | "reject") => Wish::Stop,
                    Some("pass") => Wish::Pass,
                    other => {
                        return Err(format!("new_action {other:?} is none of alert, drop, reject, pass"));
                    }
                };
                let timeout = take("timeout").ok_or("timeout is missing").map(small)??;
                let of = Threshold::parse(words.into_iter(), Some(ThresholdKind::Filter))?;
                let Threshold { counting, count, seconds, .. } = of;
                Change::Rate(RateFilter { counting, count, seconds, wish, timeout })
            }
            "threshold" | "event_filter" => Change::Threshold(Threshold::parse(words.into_iter(), None)?),
            other => {
                return Err(format!(
                    "{other:?} is not known: threshold, event_filter, rate_filter and suppress are"
                ));
            }
        };
        Ok(Self { generator, id, change })
    }

    /// Changes the rule, if it is about it.
    pub fn apply(&self, (generator, id): (u32, u32), threshold: &mut Option<Threshold>, tuning: &mut Tuning) {
        let is_of = |own: u32, its: u32| own == 0 || own == its;
        if !is_of(self.generator, generator) || !is_of(self.id, id) {
            return;
        }
        match &self.change {
            Change::Suppress(Some(suppressed)) => tuning.suppressed.push(suppressed.clone()),
            Change::Suppress(None) => {
                let addresses = Arc::new(Addresses::any());
                tuning.suppressed.push(Suppressed { side: Side::Either, addresses });
            }
            // What a rule says of itself weighs more than what is said of all.
            Change::Threshold(of) if self.id != 0 || threshold.is_none() => *threshold = Some(*of),
            Change::Threshold(_) => {}
            Change::Rate(rate) => tuning.rate = Some(rate.clone()),
        }
    }
}

fn suppressed(
    track: Option<&str>,
    addresses: Option<&str>,
    variables: &Variables,
) -> Result<Suppressed, String> {
    let side = match track {
        Some("by_src") => Side::Source,
        Some("by_dst") => Side::Destination,
        Some("by_either") => Side::Either,
        other => return Err(format!("track {other:?} is none of by_src, by_dst, by_either")),
    };
    let addresses = variables.addresses(addresses.ok_or("ip is missing")?)?;
    Ok(Suppressed { side, addresses })
}

/// The words between commas; those in brackets belong to their list.
fn split(text: &str) -> Vec<&str> {
    let (mut words, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, byte) in text.bytes().enumerate() {
        depth += i32::from(byte == b'[') - i32::from(byte == b']');
        if byte == b',' && depth <= 0 {
            words.push(text[from..at].trim());
            from = at + 1;
        }
    }
    words.push(text[from..].trim());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_faults() {
        let variables = Variables::default();
        let parse = |line| Line::parse(line, &variables);
        let line = parse("suppress gen_id 1, sig_id 7, track by_src, ip [10.0.0.0/8, !10.1.0.0/16]").unwrap();
        let (mut threshold, mut tuning) = (None, Tuning::default());
        line.apply((1, 8), &mut threshold, &mut tuning);
        assert!(tuning.suppressed.is_empty(), "another rule");
        line.apply((1, 7), &mut threshold, &mut tuning);
        let pair =
            |source: [u8; 4]| Pair { source: source.into(), destination: [10, 0, 0, 9].into(), flow: 0 };
        assert!(tuning.is_suppressed(pair([10, 2, 0, 1])));
        assert!(!tuning.is_suppressed(pair([10, 1, 0, 1])));
        parse("threshold gen_id 0, sig_id 0, type limit, track by_src, count 1, seconds 60").unwrap().apply(
            (1, 7),
            &mut threshold,
            &mut tuning,
        );
        assert_eq!(threshold.map(|its| its.kind), Some(ThresholdKind::Limit));
        parse(
            "rate_filter gen_id 1, sig_id 7, track by_rule, count 2, seconds 5, new_action drop, timeout 9",
        )
        .unwrap()
        .apply((1, 7), &mut threshold, &mut tuning);
        assert_eq!(tuning.rate.map(|rate| (rate.wish, rate.timeout)), Some((Wish::Stop, 9)));
        for wrong in [
            "suppress sig_id 1",
            "suppress gen_id 1, sig_id 1, track by_dst",
            "rate_filter gen_id 1, sig_id 1, track by_src, count 1, seconds 1, new_action sing, timeout 1",
            "threshold gen_id 1, sig_id 1, track by_src, count 1, seconds 60",
            "forget gen_id 1, sig_id 1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
