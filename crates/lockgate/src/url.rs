//! `lockgate url`: what the web filter says of a URL or a page, and which list says it. Rule: the same lists and the same order as on the
//! wire.

use crate::command::paths;
use crate::config::{Config, Source};
use crate::lists;
use crate::report::{EXIT_CLEAN, EXIT_FOUND, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_inspect::Group;
use lockgate_model::rewrite::Rewriting;
use lockgate_relay::events::record::plain;
use lockgate_webfilter::phrases::{Outcome as Judged, Score, Term};
use lockgate_webfilter::{ContentType, Database, Decision, Listing, Outcome, Request};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;

/// How many lines that list the same are shown to people; the others are counted.
pub const ALSO_SHOWN: usize = 20;
/// The same for programs.
const ALSO_LISTED: usize = 1000;

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
    let (database, errors) = lists::load_whole(&config, group);
    for error in &errors {
        eprintln!("lockgate: {error}");
    }
    if !errors.is_empty() {
        return EXIT_WRONG;
    }
    let database = &database;
    let page = match arguments.get_one::<PathBuf>("content").map(std::fs::read).transpose() {
        Ok(page) => page,
        Err(error) => {
            eprintln!("lockgate: the content cannot be read: {error}");
            return EXIT_WRONG;
        }
    };
    let mut status = EXIT_CLEAN;
    for url in arguments.get_many::<String>("url").into_iter().flatten() {
        let Some(request) = request(url, arguments) else {
            eprintln!("lockgate: {url:?} names no host: write it as http://HOST/PATH");
            status = EXIT_WRONG;
            continue;
        };
        let decision = decision(database, &request, arguments);
        let changes = database.rewritten(&request, database.now());
        // What a list excepts is not looked into.
        let page = page.as_ref().filter(|_| decision.outcome != Outcome::Exception);
        let charset = content_type(arguments).charset;
        let charset = charset.as_deref().map(str::as_bytes);
        let score = page.map(|page| database.score(page, charset, database.now()));
        let is_unwanted = |score: &Score| matches!(score.outcome, Judged::Banned | Judged::Over);
        let is_banned = decision.outcome == Outcome::Banned || score.as_ref().is_some_and(is_unwanted);
        if is_banned && status == EXIT_CLEAN {
            status = EXIT_FOUND;
        }
        let said = Said { decision, changes, score };
        print(&if arguments.get_flag("json") { line(url, &said) } else { text(url, &said) });
    }
    status
}

/// What the lists say of a request and, as on the wire, of the type of its answer where they let it come.
fn decision(database: &Database, request: &Request, arguments: &ArgMatches) -> Decision {
    let decision = database.judge(request, database.now());
    let media_type = content_type(arguments).media_type;
    if media_type.is_empty() || !matches!(decision.outcome, Outcome::NotListed | Outcome::Grey) {
        return decision;
    }
    let of_type = database.decide_type(&request.address, &media_type, database.now());
    if of_type.by.is_some() { of_type } else { decision }
}

/// What the answer is said to be.
fn content_type(arguments: &ArgMatches) -> ContentType {
    ContentType::parse(arguments.get_one::<String>("media-type").map_or("", String::as_str))
}

/// A request as the options describe it.
fn request(url: &str, arguments: &ArgMatches) -> Option<Request> {
    let lines: Vec<&str> =
        arguments.get_many::<String>("header").into_iter().flatten().map(String::as_str).collect();
    let request = Request::parse(url)?.with_header(lines.join("\r\n").as_bytes());
    Some(match arguments.get_one::<IpAddr>("client") {
        Some(client) => request.by(*client),
        None => request,
    })
}

/// What becomes of a request, and the lines that say so.
type Changes = (Rewriting, Vec<Listing>);

/// All that is said of one URL.
struct Said {
    decision: Decision,
    changes: Changes,
    /// Of its page, where there is one.
    score: Option<Score>,
}

/// Says how many lines are not shown.
pub fn more(lines: usize, indent: &str, out: &mut String) {
    if lines > ALSO_SHOWN {
        let _ = writeln!(out, "{indent}and {} more lines", lines - ALSO_SHOWN);
    }
}

/// One URL for people.
fn text(url: &str, Said { decision, changes: (rewriting, by), score }: &Said) -> String {
    let mut out = format!("{}: {}\n", plain(url), decision.outcome.name());
    if let Some(by) = &decision.by {
        let _ = writeln!(out, "  {}", plain(&by.to_string()));
    }
    for also in decision.also.iter().take(ALSO_SHOWN) {
        let _ = writeln!(out, "  also {}: {}", also.outcome.name(), plain(&also.to_string()));
    }
    more(decision.also.len(), "  ", &mut out);
    let shown = |bytes: &[u8]| plain(&String::from_utf8_lossy(bytes));
    if let Some(url) = &rewriting.url {
        let _ = writeln!(out, "  becomes {}", shown(url));
    }
    if let Some(url) = &rewriting.redirect {
        let _ = writeln!(out, "  is sent to {}", shown(url));
    }
    for line in &rewriting.lines {
        let words = if line.at.is_some() { "a line of its header becomes" } else { "gets the line" };
        let _ = writeln!(out, "  {words} {:?}", shown(&line.text));
    }
    for rule in by {
        let _ = writeln!(out, "  by {}", plain(&rule.to_string()));
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
    for Term { phrase, file, line, category, .. } in score.also.iter().take(ALSO_SHOWN) {
        let (phrase, category) = (plain(phrase), plain(category));
        let _ = writeln!(out, "    also listed: <{phrase}> {category} ({}:{line})", plain(file));
    }
    more(score.also.len(), "    ", out);
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
        "also": score.also.iter().take(ALSO_LISTED).map(term).collect::<Vec<_>>(),
        "also_count": score.also.len(),
    })
}

/// One URL for programs.
fn line(url: &str, Said { decision, changes: (rewriting, rules), score }: &Said) -> String {
    let mut object = json!({ "url": url, "decision": decision.outcome.name() });
    if let (Some(by), Some(object)) = (&decision.by, object.as_object_mut()) {
        object.extend(listing(by).as_object().cloned().unwrap_or_default().into_iter().skip(1));
        object.insert("also".to_owned(), decision.also.iter().take(ALSO_LISTED).map(listing).collect());
        object.insert("also_count".to_owned(), decision.also.len().into());
    }
    if let Some(score) = score {
        object["phrases"] = score_json(score);
    }
    let changed = [("becomes", &rewriting.url), ("sent_to", &rewriting.redirect)];
    let changed = changed.into_iter().filter_map(|(name, url)| Some((name, url.as_deref()?)));
    if let Some(object) = object.as_object_mut() {
        object.extend(changed.map(|(name, url)| (name.to_owned(), String::from_utf8_lossy(url).into())));
        if !rules.is_empty() {
            object.insert("by".to_owned(), rules.iter().map(|rule| json!(rule.rule())).collect());
        }
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
