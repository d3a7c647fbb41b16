//! `lockgate check`: loads everything, says what was understood and what was not. Rule: the same loading as `serve`.

use crate::config::{Config, GroupLists, Problem, describe, source_name};
use crate::loading::{self, Loaded};
use crate::report::{EXIT_CLEAN, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_antivirus::Report;
use lockgate_relay::http::page::Template;
use lockgate_relay::interception::Interception;
use lockgate_relay::settings::{Listener, Switch};
use lockgate_relay::shared::Gate;
use lockgate_webfilter::{Count, Kind};
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
    let mut loaded = loading::load(&config, 1, None);
    loaded.errors.extend(gates_that_do_not_open(&config));
    if is_json {
        print(&json_lines(&loaded));
    } else {
        print(&describe(&config));
        print(&signatures_text(&config, loaded.report()));
        print(&lists_text(&config, &loaded.list_report));
        print(&rules_text(&config, &loaded.rule_report));
    }
    for error in loaded.errors.iter().chain(&loaded.notes) {
        eprintln!("lockgate: {error}");
    }
    let failed =
        loaded.report().signatures_failed() + loaded.list_report.lines_failed() + loaded.rule_report.failed;
    let is_well = loaded.errors.is_empty() && failed == 0;
    if is_well { EXIT_CLEAN } else { EXIT_WRONG }
}

/// Certificates, keys, users and the page are read as `serve` reads them.
fn gates_that_do_not_open(config: &Config) -> Vec<String> {
    let open = |listener: &Listener| {
        let error = Gate::open(listener.clone(), None).err()?;
        Some(format!("{}: listener {:?}: {error}", config.file, listener.name))
    };
    let mut errors: Vec<_> = config.settings.listeners.iter().filter_map(open).collect();
    let page = Template::read(config.settings.page.template.as_deref()).err();
    errors.extend(page.map(|error| format!("{}: page.template: {error}", config.file)));
    let intercepts = config.settings.listeners.iter().any(|listener| listener.intercept_tls == Switch::On);
    if let Some(error) = Interception::check(&config.settings.interception).err().filter(|_| intercepts) {
        errors.push(format!("{}: tls_interception: {error}", config.file));
    }
    errors
}

fn counts(
    report: &Report,
    lists: &lockgate_webfilter::Report,
    rules: &lockgate_ids::Report,
    errors: &[String],
) -> Value {
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
    let of_lists = |(kind, count): (&Kind, &Count)| {
        let lines = json!({"loaded": count.loaded, "failed": count.failed, "passed_over": count.passed_over});
        (kind.name().to_owned(), lines)
    };
    let list_kinds: Map<String, Value> = lists.counts.iter().map(of_lists).collect();
    let unknown = report.unknown.iter().map(|unknown| &*unknown.file);
    let unknown: Vec<_> = unknown.chain(lists.unknown.iter().map(|file| &**file)).collect();
    let idle: Vec<_> = lists.idle.iter().map(|(file, why)| json!({"file": &**file, "reason": why})).collect();
    let of_unread: Map<String, Value> =
        rules.unread.iter().map(|(name, count)| ((*name).to_owned(), (*count).into())).collect();
    json!({
        "signatures_loaded": report.signatures_loaded(),
        "signatures_failed": report.signatures_failed(),
        "rules_loaded": rules.rules_loaded(),
        "rules_failed": rules.rules_failed(),
        "list_lines_loaded": lists.lines_loaded(),
        "list_lines_failed": lists.lines_failed(),
        "signatures": kinds,
        "lists": list_kinds,
        "rules": {"proxies_and_wire": rules.both, "wire": rules.wire, "of_protocols_not_read": of_unread, "failed": rules.failed},
        "files_not_understood": unknown,
        "files_that_decide_nothing": idle,
        "errors": errors,
    })
}

fn json_lines(loaded: &Loaded) -> String {
    let mut out =
        format!("{}\n", counts(loaded.report(), &loaded.list_report, &loaded.rule_report, &loaded.errors));
    for failure in &loaded.report().failures {
        let line = json!({
            "file": &*failure.file,
            "line": failure.line,
            "column": failure.column,
            "reason": failure.reason,
        });
        let _ = writeln!(out, "{line}");
    }
    for failure in &loaded.list_report.failures {
        let line = json!({"file": &*failure.file, "line": failure.line, "column": failure.column, "reason": failure.reason});
        let _ = writeln!(out, "{line}");
    }
    for failure in &loaded.rule_report.failures {
        let line = json!({"file": &*failure.file, "line": failure.line, "column": failure.column, "reason": failure.reason});
        let _ = writeln!(out, "{line}");
    }
    out
}

fn problems_json(problems: &[Problem]) -> String {
    let words: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let mut out =
        format!("{}\n", counts(&Report::default(), &Default::default(), &Default::default(), &words));
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

fn signatures_text(config: &Config, report: &Report) -> String {
    let mut out = "\nsignatures\n".to_owned();
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
        let _ = writeln!(out, "  not read: {}: {}", unknown.file, unknown.reason);
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

fn lists_text(config: &Config, report: &lockgate_webfilter::Report) -> String {
    let mut out = "\nweb lists\n".to_owned();
    for source in &config.lists {
        let _ = writeln!(out, "  from {}", source_name(source).display());
    }
    for GroupLists { group, lists, .. } in &config.group_lists {
        let Some(sources) = lists else { continue };
        let names: Vec<_> = sources.iter().map(|source| source_name(source).display().to_string()).collect();
        let names = if names.is_empty() { "nowhere".to_owned() } else { names.join(", ") };
        let _ = writeln!(out, "  for group {group} from {names}");
    }
    for (kind, count) in &report.counts {
        let _ = write!(out, "  {:28} {:>8} loaded, {} not loaded", kind.name(), count.loaded, count.failed);
        if count.passed_over > 0 {
            let _ = write!(out, ", {} about what no gateway sees", count.passed_over);
        }
        out.push('\n');
    }
    let (loaded, failed) = (report.lines_loaded(), report.lines_failed());
    let _ = writeln!(out, "  {:28} {loaded:>8} loaded, {failed} not loaded", "all");
    for unknown in &report.unknown {
        let _ = writeln!(out, "  not understood yet: {unknown}");
    }
    for (file, why) in &report.idle {
        let _ = writeln!(out, "  decides nothing: {file}: {why}");
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

fn rules_text(config: &Config, report: &lockgate_ids::Report) -> String {
    let mut out = "\nintrusion rules\n".to_owned();
    for source in &config.rules {
        let _ = writeln!(out, "  from {}", source_name(source).display());
    }
    let _ = writeln!(out, "  in the proxies and on the wire {:>8}", report.both);
    let _ = writeln!(out, "  on the wire alone              {:>8}", report.wire);
    for (protocol, count) in &report.unread {
        let _ = writeln!(out, "  never asked: {count} about {protocol}, which is not taken apart");
    }
    let _ = writeln!(out, "  not loaded                     {:>8}", report.failed);
    for failure in &report.failures {
        let _ = writeln!(out, "  {failure}");
    }
    out
}
