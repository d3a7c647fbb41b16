//! `lockgate url`: what the web filter says of a URL or a page, and which list says it. Rule: the same lists and the same order as on the
//! wire.

use crate::command::paths;
use crate::config::{Config, Source};
use crate::lists;
use crate::report::{EXIT_CLEAN, EXIT_FOUND, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_inspect::Group;
use lockgate_relay::events::record::plain;
use lockgate_webfilter::phrases::{Outcome as Judged, Score, Term};
use lockgate_webfilter::{Address, Decision, Listing, Outcome};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    let config = arguments.get_one::<PathBuf>("config");
    let mut config = match Config::load(config.map(PathBuf::as_path)) {
        Ok(config) => config,
        Err(problems) => return say_problems(&problems),
    };
    let own = paths(arguments, "lists");
    if !own.is_empty() {
        config.lists = own.into_iter().map(Source::Path).collect();
        config.group_lists.clear();
    }
    let group = arguments.get_one::<String>("group").map_or(Group::DEFAULT_NAME, String::as_str);
    if !config.policy.groups().iter().any(|known| known.name == group) {
        eprintln!("lockgate: no policy group is called {group:?}");
        return EXIT_WRONG;
    }
    let lists = lists::load(&config);
    for error in &lists.errors {
        eprintln!("lockgate: {error}");
    }
    if !lists.errors.is_empty() {
        return EXIT_WRONG;
    }
    let database = lists.database.of(group);
    let page = match arguments.get_one::<PathBuf>("content").map(std::fs::read).transpose() {
        Ok(page) => page,
        Err(error) => {
            eprintln!("lockgate: the content cannot be read: {error}");
            return EXIT_WRONG;
        }
    };
    let mut status = EXIT_CLEAN;
    for url in arguments.get_many::<String>("url").into_iter().flatten() {
        let Some(address) = Address::parse(url) else {
            eprintln!("lockgate: {url:?} names no host: write it as http://HOST/PATH");
            status = EXIT_WRONG;
            continue;
        };
        let decision = database.decide(&address, database.now());
        // What a list excepts is not looked into.
        let page = page.as_ref().filter(|_| decision.outcome != Outcome::Exception);
        let score = page.map(|page| database.score(page, None, database.now()));
        let is_unwanted = |score: &Score| matches!(score.outcome, Judged::Banned | Judged::Over);
        let is_banned = decision.outcome == Outcome::Banned || score.as_ref().is_some_and(is_unwanted);
        if is_banned && status == EXIT_CLEAN {
            status = EXIT_FOUND;
        }
        let is_json = arguments.get_flag("json");
        let score = score.as_ref();
        print(&if is_json { line(url, &decision, score) } else { text(url, &decision, score) });
    }
    status
}

/// One URL for people.
fn text(url: &str, decision: &Decision, score: Option<&Score>) -> String {
    let mut out = format!("{}: {}\n", plain(url), decision.outcome.name());
    if let Some(by) = &decision.by {
        let _ = writeln!(out, "  {}", plain(&by.to_string()));
    }
    for also in &decision.also {
        let _ = writeln!(out, "  also {}: {}", also.outcome.name(), plain(&also.to_string()));
    }
    if let Some(score) = score {
        score_text(score, &mut out);
    }
    out
}

/// The arithmetic of a page's phrases for people.
fn score_text(score: &Score, out: &mut String) {
    let _ =
        writeln!(out, "  phrases: {}, {} points of {}", score.outcome.name(), score.points, score.points_max);
    for term in &score.terms {
        let Term { phrase, points, times, file, line, category } = term;
        let points = points.map_or_else(|| "decides".to_owned(), |points| format!("{points:+}"));
        let times = if *times > 1 { format!(" x {times}") } else { String::new() };
        let phrase = plain(phrase);
        let _ = writeln!(out, "    {points}{times} <{phrase}> {} ({}:{line})", plain(category), plain(file));
    }
}

fn score_json(score: &Score) -> Value {
    let term = |term: &Term| {
        json!({
            "phrase": term.phrase,
            "points": term.points,
            "times": term.times,
            "file": &*term.file,
            "line": term.line,
            "category": &*term.category,
        })
    };
    json!({
        "outcome": score.outcome.name(),
        "points": score.points,
        "points_max": score.points_max,
        "by": score.deciding().map(term),
        "terms": score.terms.iter().map(term).collect::<Vec<_>>(),
    })
}

/// One URL for programs.
fn line(url: &str, decision: &Decision, score: Option<&Score>) -> String {
    let mut object = json!({ "url": url, "decision": decision.outcome.name() });
    if let (Some(by), Some(object)) = (&decision.by, object.as_object_mut()) {
        object.extend(listing(by).as_object().cloned().unwrap_or_default().into_iter().skip(1));
        object.insert("also".to_owned(), decision.also.iter().map(listing).collect());
    }
    if let Some(score) = score {
        object["phrases"] = score_json(score);
    }
    format!("{object}\n")
}

fn listing(listing: &Listing) -> Value {
    json!({
        "decision": listing.outcome.name(),
        "file": &*listing.file,
        "line": listing.line,
        "category": &*listing.category,
        "pattern": listing.pattern,
    })
}
