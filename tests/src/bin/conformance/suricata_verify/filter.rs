//! How many events a test wants, and of which kind: [`Filter`]. Rule: the meaning is that of suricata-verify's `filter` checks.

use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt;

/// So many events that match.
#[derive(Debug)]
pub struct Filter {
    pub count: u64,
    wanted: Map<String, Value>,
}

impl Filter {
    /// Out of `{"count": 1, "match": {…}}`.
    pub fn parse(filter: &Value) -> Option<Self> {
        Some(Self { count: filter["count"].as_u64()?, wanted: filter["match"].as_object()?.clone() })
    }

    /// Whether an event is one of them.
    pub fn matches(&self, event: &Value) -> bool {
        self.wanted.iter().all(|(key, wanted)| holds(event, key, wanted))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Value::from(self.wanted.clone()))
    }
}

fn holds(event: &Value, key: &str, wanted: &Value) -> bool {
    let names = || match wanted {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        name => name.as_str().into_iter().collect(),
    };
    match key {
        "has-key" => names().iter().all(|name| value(event, name).is_some()),
        "not-has-key" => names().iter().all(|name| value(event, name).is_none()),
        _ => match key.rsplit_once(".__") {
            Some((path, "len")) => value(event, path).map(length) == wanted.as_i64(),
            Some((path, operator)) => value(event, path).is_some_and(|own| compares(own, operator, wanted)),
            None => value(event, key).unwrap_or(&Value::Null) == wanted,
        },
    }
}

/// What stands at `a.b[0].c`.
fn value<'e>(event: &'e Value, path: &str) -> Option<&'e Value> {
    path.split('.').try_fold(event, |event, key| {
        let indexed = key.strip_suffix(']').and_then(|key| key.rsplit_once('['));
        match indexed.and_then(|(name, index)| Some((name, index.parse::<usize>().ok()?))) {
            Some((name, index)) => event.get(name)?.get(index),
            None => event.get(key),
        }
    })
}

fn length(value: &Value) -> i64 {
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.chars().count(),
        _ => return -1,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn compares(own: &Value, operator: &str, wanted: &Value) -> bool {
    let order = || own.as_f64()?.partial_cmp(&wanted.as_f64()?);
    let texts = || Some((own.as_str()?, wanted.as_str()?));
    match operator {
        "find" => texts().is_some_and(|(own, wanted)| own.contains(wanted)),
        "contains" => {
            texts().is_some_and(|(own, wanted)| own.contains(wanted))
                || own.as_array().is_some_and(|items| items.contains(wanted))
        }
        "startswith" => texts().is_some_and(|(own, wanted)| own.starts_with(wanted)),
        "endswith" => texts().is_some_and(|(own, wanted)| own.ends_with(wanted)),
        "gt" => order() == Some(Ordering::Greater),
        "gte" => matches!(order(), Some(Ordering::Greater | Ordering::Equal)),
        "lt" => order() == Some(Ordering::Less),
        "lte" => matches!(order(), Some(Ordering::Less | Ordering::Equal)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_filter_wants() {
        let event = json!({"event_type": "alert", "alert": {"sid": 3, "of": ["a", "b"]}, "name": "a.exe"});
        let cases = [
            (json!({"alert.sid": 3, "event_type": "alert"}), true),
            (json!({"alert": {"sid": 3, "of": ["a", "b"]}}), true),
            (json!({"alert": {"sid": 3}}), false),
            (json!({"alert.of[1]": "b", "alert.of.__len": 2, "alert.of.__contains": "a"}), true),
            (json!({"alert.sid.__gte": 3, "alert.sid.__lt": 4}), true),
            (json!({"name.__endswith": ".exe", "name.__find": "b"}), false),
            (json!({"has-key": "alert.sid", "not-has-key": ["alert.rev", "flow"]}), true),
            (json!({"alert.of[2]": "c"}), false),
        ];
        for (wanted, is_match) in cases {
            let filter = Filter::parse(&json!({"count": 1, "match": wanted})).unwrap();
            assert_eq!(filter.matches(&event), is_match, "{filter}");
        }
    }
}
