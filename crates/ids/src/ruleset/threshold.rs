//! How often a rule says what it has found: `threshold`, `detection_filter`. Rule: the words of "Thresholding Keywords".

use super::bits::small;

/// What a threshold does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ThresholdKind {
    /// At most `count` in a period.
    Limit,
    /// Each `count`-th in a period.
    Threshold,
    /// One in a period, at the `count`-th.
    Both,
    /// All behind the first `count` in a period (`detection_filter`).
    Filter,
    /// At `count`, `count × multiplier`, …
    Backoff { multiplier: u32 },
}

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counting {
    Source,
    Destination,
    Pair,
    Rule,
    Flow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Threshold {
    pub kind: ThresholdKind,
    pub counting: Counting,
    pub count: u32,
    /// 0: without end.
    pub seconds: u32,
}

impl Threshold {
    /// `type limit, track by_src, count 1, seconds 60`; `detection_filter` has no type.
    pub fn parse<'t>(
        words: impl Iterator<Item = &'t str>,
        kind: Option<ThresholdKind>,
    ) -> Result<Self, String> {
        let (mut kind, mut counting, mut count, mut seconds, mut multiplier) = (kind, None, None, 0, None);
        for word in words.filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
            match (name, value.trim()) {
                ("type", "limit") => kind = Some(ThresholdKind::Limit),
                ("type", "threshold") => kind = Some(ThresholdKind::Threshold),
                ("type", "both") => kind = Some(ThresholdKind::Both),
                ("type", "backoff") => kind = Some(ThresholdKind::Backoff { multiplier: 1 }),
                ("track", "by_src") => counting = Some(Counting::Source),
                ("track", "by_dst") => counting = Some(Counting::Destination),
                ("track", "by_both") => counting = Some(Counting::Pair),
                ("track", "by_rule") => counting = Some(Counting::Rule),
                ("track", "by_flow") => counting = Some(Counting::Flow),
                ("count", value) => count = Some(small(value)?),
                ("seconds", value) => seconds = small(value)?,
                ("multiplier", value) => multiplier = Some(small(value)?),
                _ => return Err(format!("{word:?} is not known here")),
            }
        }
        let mut kind = kind.ok_or("type is missing")?;
        if let (ThresholdKind::Backoff { multiplier: of }, Some(given)) = (&mut kind, multiplier) {
            *of = given;
        }
        let count = count.filter(|count| *count > 0).ok_or("count is missing or 0")?;
        Ok(Self { kind, counting: counting.ok_or("track is missing")?, count, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_any_order() {
        let words = |text: &'static str| text.split(',').map(str::trim);
        let threshold =
            Threshold::parse(words("track by_src, count 5, type both, seconds 60"), None).unwrap();
        let want = Threshold { kind: ThresholdKind::Both, counting: Counting::Source, count: 5, seconds: 60 };
        assert_eq!(threshold, want);
        for wrong in
            ["", "type limit, track by_src, seconds 1", "type never, track by_src, count 1", "count 0"]
        {
            assert!(Threshold::parse(words(wrong), None).is_err(), "{wrong}");
        }
    }
}
