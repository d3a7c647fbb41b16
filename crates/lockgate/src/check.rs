//! `lockgate check`: loads everything, says what was understood and what was not. Rule: the same loading as `serve`.

use crate::config::problem::Problem;
use crate::config::{Config, source_name};
use crate::loading::{self, Loaded};
use crate::report::{EXIT_CLEAN, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_antivirus::Report;
use lockgate_inspect::Group;
use lockgate_model::{Class, Reason, Verdict};
use lockgate_relay::settings::{ClientAddress, EventsTo, Intercept, Listener, NextHop, Speaks};
use lockgate_relay::shared::Gate;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    let path = arguments.get_one::<PathBuf>("config");
    let is_json = arguments.get_flag("json");
    let config = match Config::load(path.map(PathBuf::as_path)) {
        Ok(config) => config,
        Err(problems) if is_json => {
            print(&problems_json(&problems));
            return EXIT_WRONG;
        }
        Err(problems) => return say_problems(&problems),
    };
    let mut loaded = loading::load(&config, 1);
    loaded.errors.extend(gates_that_do_not_open(&config));
    if is_json {
        print(&json_lines(&loaded));
    } else {
        print(&text(&config, &loaded));
    }
    for error in &loaded.errors {
        eprintln!("lockgate: {error}");
    }
    let is_well = loaded.errors.is_empty() && loaded.report.signatures_failed() == 0;
    if is_well { EXIT_CLEAN } else { EXIT_WRONG }
}

/// Certificates and keys are read as `serve` reads them.
fn gates_that_do_not_open(config: &Config) -> Vec<String> {
    let open = |listener: &Listener| {
        let error = Gate::open(listener.clone()).err()?;
        Some(format!("{}: listener {:?}: {error}", config.file, listener.name))
    };
    config.settings.listeners.iter().filter_map(open).collect()
}

fn counts(report: &Report, errors: &[String]) -> Value {
    let kinds: Map<String, Value> = report
        .counts
        .iter()
        .map(|(kind, count)| {
            let of_kind = json!({
                "loaded": count.loaded,
                "failed": count.failed,
                "ignored": count.ignored,
                "other_engine": count.other_engine,
            });
            (kind.name().to_owned(), of_kind)
        })
        .collect();
    json!({
        "signatures_loaded": report.signatures_loaded(),
        "signatures_failed": report.signatures_failed(),
        "rules_loaded": 0,
        "rules_failed": 0,
        "list_lines_loaded": 0,
        "list_lines_failed": 0,
        "signatures": kinds,
        "files_not_understood": report.unknown.iter().map(|unknown| &*unknown.file).collect::<Vec<_>>(),
        "errors": errors,
    })
}

fn json_lines(loaded: &Loaded) -> String {
    let mut out = format!("{}\n", counts(&loaded.report, &loaded.errors));
    for failure in &loaded.report.failures {
        let line = json!({
            "file": &*failure.file,
            "line": failure.line,
            "column": failure.column,
            "reason": failure.reason,
        });
        let _ = writeln!(out, "{line}");
    }
    out
}

fn problems_json(problems: &[Problem]) -> String {
    let words: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let mut out = format!("{}\n", counts(&Report::default(), &words));
    for problem in problems {
        let line = json!({
            "file": problem.file,
            "line": problem.line,
            "column": problem.column,
            "reason": problem.message,
        });
        let _ = writeln!(out, "{line}");
    }
    out
}

fn text(config: &Config, loaded: &Loaded) -> String {
    let mut out = format!("configuration: {}\n\nlisteners\n", config.file);
    for listener in &config.settings.listeners {
        out.push_str(&listener_text(listener));
    }
    if config.settings.listeners.is_empty() {
        out.push_str("  none: add [[listen]], nothing is served\n");
    }
    out.push_str("\npolicy\n");
    for group in config.policy.groups() {
        out.push_str(&group_text(group));
    }
    let events = match &config.settings.events {
        EventsTo::Nowhere => "not written; set eve in [events]".to_owned(),
        EventsTo::Stderr => "standard error".to_owned(),
        EventsTo::File(path) => path.display().to_string(),
    };
    let _ = writeln!(out, "\nevents: {events}\n\nsignatures");
    out.push_str(&signatures_text(config, &loaded.report));
    out
}

fn signatures_text(config: &Config, report: &Report) -> String {
    let mut out = String::new();
    for source in &config.databases {
        let _ = writeln!(out, "  from {}", source_name(source).display());
    }
    for (kind, count) in &report.counts {
        let _ = write!(out, "  {:5} {:>8} loaded, {} not loaded", kind.name(), count.loaded, count.failed);
        if count.ignored > 0 {
            let _ = write!(out, ", {} on ignore lists", count.ignored);
        }
        if count.other_engine > 0 {
            let _ = write!(out, ", {} for other versions of the engine", count.other_engine);
        }
        out.push('\n');
    }
    let (loaded, failed) = (report.signatures_loaded(), report.signatures_failed());
    let _ = writeln!(out, "  all   {loaded:>8} loaded, {failed} not loaded");
    for unknown in &report.unknown {
        let _ = writeln!(out, "  not understood yet: {}", unknown.file);
    }
    for failure in &report.failures {
        let _ = writeln!(out, "  {failure}");
    }
    let listed = report.failures.len() as u64;
    if failed > listed {
        let _ = writeln!(out, "  and {} more not loaded", failed - listed);
    }
    out
}

/// A listener, and whether it accepts recipients for whom the next hop would not accept mail from a stranger.
fn listener_text(listener: &Listener) -> String {
    let protocol = match listener.protocol {
        Speaks::Smtp => "smtp",
        Speaks::Pop3 => "pop3",
    };
    let intercept = match listener.intercept {
        Intercept::Explicit => "",
        Intercept::Redirect => ", intercepted by nft redirect",
        Intercept::Tproxy => ", intercepted by nft tproxy",
    };
    let Listener { name, address, next_hop, .. } = listener;
    let mut out = format!("  {name}: {protocol} on {address}{intercept}, next hop {next_hop}\n");
    if listener.protocol == Speaks::Smtp {
        let _ = writeln!(out, "    {}", recipients_text(listener));
    }
    out
}

fn recipients_text(listener: &Listener) -> String {
    const WHY: &str = "it would take every client for the gateway, whose address it may trust";
    const ALSO: &str = "authenticated clients and servers in accept_xforward_from may write to everybody";
    let domains = match listener.relay_domains.as_slice() {
        [] => "refused, every one: set relay_domains, or client_address".to_owned(),
        domains => format!("only in {}", domains.join(", ")),
    };
    match (&listener.next_hop, listener.intercept, listener.client_address) {
        (NextHop::Maildir(_), ..) => {
            "recipients: every one, delivered into the maildir and nowhere else".to_owned()
        }
        (_, Intercept::Tproxy, _) => {
            "recipients: as the next hop decides, which sees the client's address".to_owned()
        }
        (_, _, ClientAddress::Xclient | ClientAddress::ProxyV1 | ClientAddress::ProxyV2) => {
            "recipients: as the next hop decides, which learns the client's address".to_owned()
        }
        (_, _, ClientAddress::Auto) => format!(
            "recipients: as the next hop decides, if it takes XCLIENT from the gateway\n    \
             recipients if it does not: {domains}; {WHY}\n    {ALSO}"
        ),
        (_, _, ClientAddress::Xforward | ClientAddress::None) => {
            format!(
                "recipients: {domains}; the next hop does not learn the client's address, and {WHY}\n    {ALSO}"
            )
        }
    }
}

fn group_text(group: &Group) -> String {
    let mut out = format!("  {}:", group.name);
    for verdict in Verdict::ALL {
        let findings = Class::ALL.into_iter().filter(|c| group.on_finding(*c) == verdict).map(Class::name);
        let reasons =
            Reason::ALL.into_iter().filter(|r| group.on_incomplete(*r) == verdict).map(Reason::name);
        let (findings, reasons): (Vec<_>, Vec<_>) = (findings.collect(), reasons.collect());
        if findings.is_empty() && reasons.is_empty() {
            continue;
        }
        let _ = write!(out, "\n    {:10} {}", verdict.name(), findings.join(" "));
        if !reasons.is_empty() {
            let gap = if findings.is_empty() { "" } else { "; " };
            let _ = write!(out, "{gap}not inspected: {}", reasons.join(" "));
        }
    }
    let bans = group.banned_names.len() + group.banned_types.len();
    if bans > 0 {
        let _ = write!(out, "\n    {bans} banned names and types");
    }
    out.push('\n');
    out
}
