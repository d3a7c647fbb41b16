//! Adblock filters, one line each. Rule: a filter goes in only if its every condition can be told from a request's URL.
//!
//! The syntax is that of Adblock Plus ("How to write filters"): `||name^`, `|`, `*`, `^`, `@@`, `$options`, `/expression/`.

use super::{Entry, Fault, Line, site};
use crate::filters::Glob;
use crate::ruleset::kind::Rank;

/// What stands between the sites and the selector of a filter for parts of a page.
const OF_A_PAGE: [&str; 9] = ["##", "#@#", "#?#", "#@?#", "#$#", "#@$#", "#%#", "#@%#", "$$"];

/// One line.
pub(crate) fn parse(line: &str) -> Result<Line, Fault> {
    if line.starts_with(['!', '[']) {
        return Ok(Line::Comment);
    }
    if OF_A_PAGE.iter().any(|mark| line.contains(mark)) {
        return Ok(Line::PassedOver);
    }
    if line.starts_with('#') {
        return Ok(Line::Comment);
    }
    let (text, rank) = match line.strip_prefix("@@") {
        Some(text) => (text, Rank::FilterException),
        None => (line, Rank::Filter),
    };
    let (text, options) = split_options(text);
    let mut rank = rank;
    for option in options.into_iter().flat_map(|options| options.split(',')) {
        match option.trim() {
            "important" if rank == Rank::Filter => rank = Rank::ImportantFilter,
            // A gateway sees a whole page as any other request.
            "important" | "all" | "document" | "doc" | "" => {}
            option => {
                let name = option.split('=').next().unwrap_or_default();
                return Err(Fault(format!(
                    "the option {name:?} cannot be told from a URL alone, and is not understood yet"
                )));
            }
        }
    }
    Ok(Line::Filter(rank, entry(text)?))
}

fn entry(text: &str) -> Result<Entry, Fault> {
    let expression = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    if let Some(expression) = expression.filter(|expression| !expression.is_empty()) {
        return Ok(Entry::Pattern(expression.to_owned()));
    }
    let name = text.strip_prefix("||").and_then(|rest| rest.strip_suffix("^|").or(rest.strip_suffix('^')));
    if let Some(name) = name.filter(|name| !name.contains(['*', '^', '/', ':'])) {
        return site::parse_site(name);
    }
    Glob::parse(text).map(Entry::Glob).ok_or_else(|| {
        Fault(format!("{text:?} would ban everything: write down what the addresses have in common"))
    })
}

/// What stands before the last `$`, and the options behind it, where it is of options and no part of the address.
fn split_options(text: &str) -> (&str, Option<&str>) {
    let Some((before, options)) = text.rsplit_once('$') else { return (text, None) };
    let is_option = |option: &str| {
        let name = option.trim().trim_start_matches('~').split('=').next().unwrap_or_default();
        name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')) && !name.is_empty()
    };
    // What follows a value's comma is a part of it more often than an option.
    let is_of_options = options.split(',').next().is_some_and(is_option);
    if is_of_options && !before.is_empty() { (before, Some(options)) } else { (text, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let site = |rank, name: &str| Ok(Line::Filter(rank, Entry::Site(name.to_owned())));
        let glob = |rank, text: &str| Ok(Line::Filter(rank, Entry::Glob(Glob::parse(text).unwrap())));
        for (line, expected) in [
            ("! Title: x", Ok(Line::Comment)),
            ("[Adblock Plus 2.0]", Ok(Line::Comment)),
            ("# a hosts file's comment", Ok(Line::Comment)),
            ("a.example##.banner", Ok(Line::PassedOver)),
            ("a.example#@#.banner", Ok(Line::PassedOver)),
            ("||Ads.example^", site(Rank::Filter, "ads.example")),
            ("@@||ads.example^|", site(Rank::FilterException, "ads.example")),
            ("||ads.example^$important,document", site(Rank::ImportantFilter, "ads.example")),
            ("||ads.example^path", glob(Rank::Filter, "||ads.example^path")),
            ("/banner/*/img^", glob(Rank::Filter, "/banner/*/img^")),
            ("/x$y/z", glob(Rank::Filter, "/x$y/z")),
            ("/ad[0-9]+/", Ok(Line::Filter(Rank::Filter, Entry::Pattern("ad[0-9]+".into())))),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
        for line in ["||a.example^$third-party", "/x/*$script,domain=a.example", "*", "||*^", "|", "@@"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
