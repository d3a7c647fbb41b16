//! `lockgate url`: what the web filter says of a URL, and which list says it. Rule: the same lists and the same order as on the
//! wire.

use crate::command::paths;
use crate::config::{Config, Source};
use crate::lists;
use crate::report::{EXIT_CLEAN, EXIT_FOUND, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_inspect::Group;
use lockgate_relay::events::record::plain;
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
    let mut status = EXIT_CLEAN;
    for url in arguments.get_many::<String>("url").into_iter().flatten() {
        let Some(address) = Address::parse(url) else {
            eprintln!("lockgate: {url:?} names no host: write it as http://HOST/PATH");
            status = EXIT_WRONG;
            continue;
        };
        let decision = database.decide(&address, database.now());
        if decision.outcome == Outcome::Banned && status == EXIT_CLEAN {
            status = EXIT_FOUND;
        }
        print(&if arguments.get_flag("json") { line(url, &decision) } else { text(url, &decision) });
    }
    status
}

/// One URL for people.
fn text(url: &str, decision: &Decision) -> String {
    let mut out = format!("{}: {}\n", plain(url), decision.outcome.name());
    if let Some(by) = &decision.by {
        let _ = writeln!(out, "  {}", plain(&by.to_string()));
    }
    for also in &decision.also {
        let _ = writeln!(out, "  also {}: {}", also.outcome.name(), plain(&also.to_string()));
    }
    out
}

/// One URL for programs.
fn line(url: &str, decision: &Decision) -> String {
    let mut object = json!({ "url": url, "decision": decision.outcome.name() });
    if let (Some(by), Some(object)) = (&decision.by, object.as_object_mut()) {
        object.extend(listing(by).as_object().cloned().unwrap_or_default().into_iter().skip(1));
        object.insert("also".to_owned(), decision.also.iter().map(listing).collect());
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
