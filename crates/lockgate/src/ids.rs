//! `lockgate ids`: packets through the rules. Rule: time is the packets', so that the same capture always gives the same answer.

mod live;

use crate::command::paths;
use crate::config::{Config, Source};
use crate::progress::Progress;
use crate::report::{EXIT_CLEAN, EXIT_WRONG, say_problems};
use crate::rules::{self, Rules};
use clap::ArgMatches;
use lockgate_capture::{
    ALERTS_MAX, Enforcement, Engines, Evidence, Forwarded, Proxies, Reporting, Signals, Sniffer, Summary,
    Transactions, Unbegun, Wanted, frames,
};
use lockgate_inspect::{Generation, Pools};
use lockgate_model::Pool;
use lockgate_packet::{Checksums, Delivery, Midstream, OneSided, Settings, Target, Urgent, VlanTracking};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the demonstration capture is called.
const DEMONSTRATION_NAME: &str = "builtin:demonstration";

/// The demonstration capture within the program: somebody asks for a page, then for one that the demonstration rules stop.
const DEMONSTRATION: &[u8] = include_bytes!("../../../config/demonstration/demonstration.pcap");

/// What is written at once.
const OUT_BYTES: usize = 256 << 10;

/// How listening came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listening {
    /// As it should.
    Done,
    /// Not all could be read.
    Broken,
}

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    // Before there are threads, which signals would go to.
    let signals = match live::is_asked(arguments).then(Signals::take).transpose() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("lockgate: signals cannot be waited for: {error}");
            return EXIT_WRONG;
        }
    };
    let config = match configured(arguments) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let loaded = rules::load_by(&config, Arc::new(move || clock.load(Ordering::Relaxed)));
    for error in &loaded.errors {
        eprintln!("lockgate: {error}");
    }
    if !loaded.errors.is_empty() {
        return EXIT_WRONG;
    }
    if loaded.report.rules_failed() > 0 {
        eprintln!("lockgate: {} rules are not in use: lockgate check says why", loaded.report.rules_failed());
    }
    let out = match opened(arguments.get_one::<PathBuf>("eve")) {
        Ok(out) => BufWriter::with_capacity(OUT_BYTES, out),
        Err(error) => {
            eprintln!("lockgate: {error}");
            return EXIT_WRONG;
        }
    };
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("lockgate: {error}");
            return EXIT_WRONG;
        }
    };
    let sniffer = Sniffer::new(settings, engines(&config, loaded, arguments), out, reporting(arguments));
    match signals {
        Some(signals) => live::listen(sniffer, arguments, &signals, &seconds),
        None => listen(sniffer, &paths(arguments, "pcap"), &seconds),
    }
}

/// Whether what rules want stopped goes no further.
fn enforcement(arguments: &ArgMatches) -> Enforcement {
    let is_inline = arguments.get_flag("stop") || arguments.contains_id("queue");
    if is_inline { Enforcement::Stopped } else { Enforcement::Told }
}

/// The configuration, with what the command line says instead.
fn configured(arguments: &ArgMatches) -> Result<Config, u8> {
    let config = arguments.get_one::<PathBuf>("config");
    let mut config =
        Config::load(config.map(PathBuf::as_path)).map_err(|problems| say_problems(&problems))?;
    let rules = paths(arguments, "rules");
    if !rules.is_empty() {
        config.rules = rules.into_iter().map(Source::Path).collect();
    }
    if let Some(order) = arguments.get_one::<String>("action-order") {
        config.action_order = order.split(',').map(|word| word.trim().to_owned()).collect();
    }
    for variable in arguments.get_many::<String>("variable").into_iter().flatten() {
        let Some((name, list)) = variable.split_once('=') else {
            eprintln!("lockgate: --variable {variable:?} lacks its =: write it as HOME_NET=10.0.0.0/8");
            return Err(EXIT_WRONG);
        };
        config.rule_variables.push((name.trim().trim_start_matches('$').to_owned(), list.trim().to_owned()));
    }
    Ok(config)
}

fn engines(config: &Config, loaded: Rules, arguments: &ArgMatches) -> Engines {
    let rules = Arc::new(loaded.database);
    let generation = Generation {
        number: 1,
        databases: vec![Arc::clone(&rules) as _],
        policy: Arc::new(config.policy.clone()),
        limits: Arc::new(config.limits.clone()),
    };
    let pools = Pools { hold: Pool::new(0), parts: Pool::new(config.settings.content_pool_bytes) };
    let enforcement = enforcement(arguments);
    let unbegun = match arguments.get_one::<String>("unbegun").map(String::as_str) {
        Some("pass") => Unbegun::Passed,
        Some("stop") => Unbegun::Stopped,
        _ => Unbegun::Asked,
    };
    Engines { generation: Arc::new(generation), pools, rules: Some(rules), enforcement, unbegun }
}

/// How events are told.
fn reporting(arguments: &ArgMatches) -> Reporting {
    let proxies = match arguments.get_one::<String>("forwarded-by").map(String::as_str) {
        Some("forward") => Proxies::OfClients,
        _ => Proxies::OfServers,
    };
    let forwarded = match arguments.get_one::<String>("forwarded").map(String::as_str) {
        Some("beside") => Forwarded::Beside(proxies),
        Some("instead") => Forwarded::Instead(proxies),
        _ => Forwarded::Untold,
    };
    Reporting {
        wanted: if arguments.contains_id("only") { Wanted::Alerts } else { Wanted::All },
        evidence: if arguments.get_flag("payload") { Evidence::Packet } else { Evidence::Rule },
        alerts_max: arguments.get_one::<u16>("alerts-max").map_or(ALERTS_MAX, |most| usize::from(*most)),
        forwarded,
        transactions: if arguments.get_flag("guess-transactions") {
            Transactions::Guessed
        } else {
            Transactions::Found
        },
    }
}

/// How packets are followed.
fn settings(arguments: &ArgMatches) -> Result<Settings, String> {
    let mut settings = Settings::default();
    if arguments.get_one::<String>("checksums").is_some_and(|how| how == "ignore") {
        settings.checksums = Checksums::Ignored;
    }
    if arguments.get_one::<String>("urgent").is_some_and(|place| place == "within") {
        settings.urgent = Urgent::Within;
    }
    if arguments.get_flag("midstream") {
        settings.midstream = Midstream::PickedUp;
    }
    if arguments.get_flag("one-sided") {
        settings.one_sided = OneSided::Followed;
    }
    if arguments.get_flag("ignore-vlans") {
        settings.vlans = VlanTracking::Ignored;
    }
    if enforcement(arguments) == Enforcement::Stopped {
        // Whoever may still drop a packet must know what it brings before it goes on.
        settings.delivery = Delivery::Immediate;
    }
    if let Some(depth) = arguments.get_one::<u64>("depth") {
        settings.depth_bytes = [*depth; 2];
    }
    for target in arguments.get_many::<String>("target").into_iter().flatten() {
        settings.targets.push(self::target(target)?);
    }
    Ok(settings)
}

fn target(text: &str) -> Result<Target, String> {
    let wrong = || format!("--target {text:?} is none: write it as windows=10.0.0.0/8");
    let (system, network) = text.split_once('=').ok_or_else(wrong)?;
    Ok(Target {
        network: network.trim().parse().map_err(|_| wrong())?,
        stream_policy: system.trim().parse().map_err(|()| wrong())?,
        fragment_policy: system.trim().parse().map_err(|()| wrong())?,
    })
}

fn opened(path: Option<&PathBuf>) -> Result<Box<dyn Write>, String> {
    match path {
        None => Ok(Box::new(io::stdout())),
        Some(path) if path.as_os_str() == "-" => Ok(Box::new(io::stdout())),
        Some(path) => match File::create(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(format!("{}: cannot be written: {error}", path.display())),
        },
    }
}

/// Each capture in its turn.
fn listen(mut sniffer: Sniffer<impl Write>, captures: &[PathBuf], seconds: &AtomicU64) -> u8 {
    let mut progress = Progress::new(total_bytes(captures));
    let mut wrong = 0;
    for path in captures {
        let name = path.display().to_string();
        sniffer.begin_file(&name);
        let told = source(path).and_then(|source| {
            let each = |frame: lockgate_capture::Frame<'_>| {
                seconds.store(frame.time.micros / 1_000_000, Ordering::Relaxed);
                sniffer.frame(&frame);
                progress.advance(frame.bytes.len() as u64, &name);
            };
            frames(source, each).map_err(|error| error.to_string())
        });
        progress.clear();
        match told {
            Ok(told) if told.unknown > 0 => {
                eprintln!("lockgate: {name}: {} frames are of a link type that is not known", told.unknown);
            }
            Ok(_) => {}
            Err(error) => {
                eprintln!("lockgate: {name}: {error}");
                wrong += 1;
            }
        }
    }
    told(sniffer.end(), if wrong > 0 { Listening::Broken } else { Listening::Done })
}

/// What is told at the end.
fn told(summary: io::Result<Summary>, listening: Listening) -> u8 {
    match summary {
        Ok(Summary { frames, bytes, flows, alerts, alerts_untold, stopped, not_inspected }) => {
            if alerts_untold > 0 {
                eprintln!(
                    "lockgate: {alerts_untold} alerts are not told: there were more than --alerts-max of a packet"
                );
            }
            if not_inspected > 0 {
                eprintln!(
                    "lockgate: {not_inspected} times something was not inspected in whole: see the anomalies"
                );
            }
            if Progress::is_watched() {
                eprint!("{frames} frames, {bytes} bytes, {flows} flows, {alerts} alerts");
                eprintln!(
                    "{}",
                    if stopped > 0 { format!(", {stopped} frames stopped") } else { String::new() }
                );
            }
            if listening == Listening::Broken { EXIT_WRONG } else { EXIT_CLEAN }
        }
        Err(error) => {
            eprintln!("lockgate: events cannot be written: {error}");
            EXIT_WRONG
        }
    }
}

fn source(path: &Path) -> Result<Box<dyn Read + Send>, String> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    if path.as_os_str() == DEMONSTRATION_NAME {
        return Ok(Box::new(DEMONSTRATION));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

fn total_bytes(captures: &[PathBuf]) -> u64 {
    let sizes =
        captures.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| metadata.len());
    if Progress::is_watched() { sizes.sum() } else { 0 }
}
