//! `lockgate url`: what the web filter says of a URL, and which list says it. Rule: the same lists and the same order as on the
//! wire.

use crate::command::paths;
use crate::config::{Config, Source};
use crate::lists;
use crate::report::{EXIT_CLEAN, EXIT_FOUND, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_inspect::Group;
use lockgate_model::rewrite::Rewriting;
use lockgate_relay::events::record::plain;
use lockgate_webfilter::{Decision, Listing, Outcome, Request};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
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
    let mut status = EXIT_CLEAN;
    for url in arguments.get_many::<String>("url").into_iter().flatten() {
        let Some(request) = request(url, arguments) else {
            eprintln!("lockgate: {url:?} names no host: write it as http://HOST/PATH");
            status = EXIT_WRONG;
            continue;
        };
        let decision = database.judge(&request, database.now());
        let changes = database.rewritten(&request, database.now());
        if decision.outcome == Outcome::Banned && status == EXIT_CLEAN {
            status = EXIT_FOUND;
        }
        let is_json = arguments.get_flag("json");
        print(&if is_json { line(url, &decision, &changes) } else { text(url, &decision, &changes) });
    }
    status
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

/// One URL for people.
fn text(url: &str, decision: &Decision, (rewriting, by): &Changes) -> String {
    let mut out = format!("{}: {}\n", plain(url), decision.outcome.name());
    if let Some(by) = &decision.by {
        let _ = writeln!(out, "  {}", plain(&by.to_string()));
    }
    for also in &decision.also {
        let _ = writeln!(out, "  also {}: {}", also.outcome.name(), plain(&also.to_string()));
    }
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
    out
}

/// One URL for programs.
fn line(url: &str, decision: &Decision, (rewriting, rules): &Changes) -> String {
    let mut object = json!({ "url": url, "decision": decision.outcome.name() });
    if let (Some(by), Some(object)) = (&decision.by, object.as_object_mut()) {
        object.extend(listing(by).as_object().cloned().unwrap_or_default().into_iter().skip(1));
        object.insert("also".to_owned(), decision.also.iter().map(listing).collect());
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
