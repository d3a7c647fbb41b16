//! `lockgate serve`: loads, serves, reloads on SIGHUP, drains on SIGTERM. Rule: once it serves, nothing but SIGTERM stops it:
//! a reload that fails changes nothing.

use crate::config::{Config, EMBEDDED_NAME};
use crate::descriptors;
use crate::loading::{self, Loaded};
use crate::memory;
use crate::notify::systemd;
use crate::report::{EXIT_CLEAN, EXIT_WRONG, print, say_problems};
use crate::signatures::Signatures;
use clap::ArgMatches;
use lockgate_relay::events::Events;
use lockgate_relay::server::{self, Running};
use lockgate_relay::settings::{NextHop, Speaks, Switch};
use lockgate_relay::shared::Shared;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// How long the last events may take to be written.
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    memory::settle();
    let path = arguments.get_one::<PathBuf>("config").cloned();
    let config = match Config::load(path.as_deref()) {
        Ok(config) => config,
        Err(problems) => return say_problems(&problems),
    };
    if config.settings.listeners.is_empty() {
        return wrong(&format!("{}: nothing to serve: add [[listen]]", config.file));
    }
    let loaded = loading::load(&config, 1, None);
    loaded.notes.iter().for_each(|note| _ = wrong(note));
    if !loaded.errors.is_empty() {
        loaded.errors.iter().for_each(|error| _ = wrong(error));
        return EXIT_WRONG;
    }
    let limit = descriptors::raise();
    if let Some(words) = limit.and_then(|limit| descriptors::warning(limit, config.settings.connections_max))
    {
        wrong(&words);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return wrong(&format!("cannot start: {error}")),
    };
    runtime.block_on(async {
        // Before anything listens: who sees us listening may signal us.
        let signals = match Signals::listen() {
            Ok(signals) => signals,
            Err(error) => return wrong(&format!("cannot wait for signals: {error}")),
        };
        match start(&config, loaded) {
            Ok(serving) => serving.until_stopped(path, signals).await,
            Err(error) => wrong(&error),
        }
    })
}

fn wrong(words: &str) -> u8 {
    eprintln!("lockgate: {words}");
    EXIT_WRONG
}

/// What may come from outside.
struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

/// What a signal asks for.
enum Asked {
    Reload,
    Stop,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.hangup.recv() => Asked::Reload,
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
        }
    }
}

fn start(config: &Config, loaded: Loaded) -> Result<Serving, String> {
    let settings = &config.settings;
    let events = Events::open(&settings.events, settings.events_waiting_max)
        .map_err(|error| format!("{}: events cannot be written: {error}", config.file))?;
    let signatures = loaded.report().signatures_loaded();
    let failed = loaded.report().signatures_failed();
    let Loaded { generation, signatures: shared_signatures, notes, .. } = loaded;
    let shared = Shared::new(settings.clone(), Arc::new(generation))
        .map_err(|error| format!("{}: {error}", config.file))?;
    shared.events.store(Arc::new(events.clone()));
    let running = server::start(shared, Some(memory::UPKEEP)).map_err(|error| error.to_string())?;
    print(&format!("{}\n", greeting(config, running.addresses(), signatures, failed)));
    systemd(&format!("READY=1\nSTATUS=serving with {signatures} signatures\n"));
    events.notice("started", &format!("{signatures} signatures"));
    let (begun, told) = (Instant::now(), Instant::now());
    let mut serving = Serving {
        running,
        events,
        number: 1,
        begun,
        told,
        warned: None,
        signatures: shared_signatures,
        notes,
    };
    serving.warn_of_authority();
    Ok(serving)
}

/// What is served, and, for who tries it out, what to type.
fn greeting(config: &Config, addresses: &[SocketAddr], signatures: u64, failed: u64) -> String {
    let mut lines = vec![format!("lockgate {} serves {}", env!("CARGO_PKG_VERSION"), config.file)];
    for (listener, address) in config.settings.listeners.iter().zip(addresses) {
        let (name, protocol) = (&listener.name, listener.protocol.name());
        lines.push(match listener.protocol {
            Speaks::Http => {
                let tls = match listener.intercept_tls {
                    Switch::On => ", into TLS",
                    Switch::Off => "",
                };
                format!("  {name}: {protocol} on {address}, to where each request is for{tls}")
            }
            Speaks::Smtp | Speaks::Pop3 => {
                format!("  {name}: {protocol} on {address}, next hop {}", listener.next_hop)
            }
        });
    }
    let sources = loading::sources_line(config);
    lines.push(format!("  {signatures} signatures from {sources}, {failed} not in use"));
    if config.file == EMBEDDED_NAME {
        lines.push(commands_to_try(config, addresses));
    }
    lines.join("\n")
}

fn commands_to_try(config: &Config, addresses: &[SocketAddr]) -> String {
    let listeners = config.settings.listeners.iter().zip(addresses);
    let address_of = |protocol| {
        let mut of_protocol = listeners.clone().filter(|(listener, _)| listener.protocol == protocol);
        of_protocol.next().map(|(_, address)| address.to_string()).unwrap_or_default()
    };
    let (address, proxy) = (address_of(Speaks::Smtp), address_of(Speaks::Http));
    let maildir = match config.settings.listeners.first().map(|listener| &listener.next_hop) {
        Some(NextHop::Maildir(path)) => path.display().to_string(),
        _ => String::new(),
    };
    let program = std::env::args().next().unwrap_or_else(|| "lockgate".to_owned());
    // The test file is written in two pieces, so that no scanner takes these lines for it.
    format!(
        r#"
To try, in another terminal in the same directory:

  # A clean mail: it lands in {maildir}/new.
  swaks --server {address} --from me@example.org --to you@example.org

  # The EICAR test file in a mail: 550 5.7.1, and nothing lands.
  printf %s 'X5O!P%@AP[4\PZX54(P^)7CC)7}}$EICAR' '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' > eicar.com
  swaks --server {address} --from me@example.org --to you@example.org --attach @eicar.com

  # The web through the proxy: a page comes; a listed site and an upload of the test file are a page that says why.
  curl -x http://{proxy} http://example.com/
  curl -x http://{proxy} http://blocked.example/
  curl -x http://{proxy} --data-binary @eicar.com http://example.com/

  # An attack in an address: the intrusion rules stop the first, and tell of the second (lockgate-eve.json).
  curl -x http://{proxy} http://example.com/demonstration/attack
  curl -x http://{proxy} http://example.com/demonstration/notice
  # The same attack in captured packets.
  {program} ids --pcap builtin:demonstration --only alerts

  # The same under TLS, which clients let the gateway look into who trust its authority.
  {program} ca export > authority.pem
  curl -x http://{proxy} --cacert authority.pem https://example.com/
  curl -x http://{proxy} --cacert authority.pem https://blocked.example/
  curl -x http://{proxy} --cacert authority.pem --data-binary @eicar.com https://example.com/
  # The test file from those who made it: it does not arrive.
  curl -x http://{proxy} --cacert authority.pem https://secure.eicar.org/eicar.com

  # The same engines on files, and what was loaded.
  {program} scan eicar.com
  {program} url http://blocked.example/ http://news.example/games
  {program} check

Ctrl-C stops. Your own, with every key: {program} reference --toml > lockgate.toml"#
    )
}

/// The gateway at work.
struct Serving {
    running: Running,
    events: Events,
    number: u64,
    begun: Instant,
    /// When figures were last written.
    told: Instant,
    /// When it was last looked whether the authority's end is near.
    warned: Option<Instant>,
    /// For the next generation, which has the same ones mostly.
    signatures: Arc<Signatures>,
    /// What has been said of the compiled signatures.
    notes: Vec<String>,
}

/// How often it is said that the authority's end is near.
const WARNING_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// What a reload came to.
type Reloaded = Result<(Box<Config>, Loaded), Vec<String>>;

impl Serving {
    async fn until_stopped(mut self, path: Option<PathBuf>, mut signals: Signals) -> u8 {
        let mut reload: Option<JoinHandle<Reloaded>> = None;
        let mut is_asked_again = false;
        let mut giving_back = tokio::time::interval(memory::GIVE_BACK_INTERVAL);
        loop {
            let stats_interval = self.running.shared().settings.load().stats_interval;
            let loading = async {
                match &mut reload {
                    Some(loading) => loading.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                asked = signals.next() => match asked {
                    Asked::Reload => is_asked_again = true,
                    Asked::Stop => break,
                },
                () = tokio::time::sleep_until((self.told + stats_interval).into()) => self.tell_stats(),
                _ = giving_back.tick() => memory::give_back(),
                loaded = loading => {
                    reload = None;
                    self.take(loaded.unwrap_or_else(|panic| Err(vec![format!("loading failed: {panic}")])));
                }
            }
            // One at a time: what is asked for during a reload is done once, after it.
            if is_asked_again && reload.is_none() {
                is_asked_again = false;
                self.number += 1;
                let (path, number, before) = (path.clone(), self.number, Arc::clone(&self.signatures));
                systemd("RELOADING=1\nSTATUS=reloading\n");
                let load = move || load_anew(path.as_deref(), number, &before);
                reload = Some(tokio::task::spawn_blocking(load));
            }
        }
        self.stop(signals).await
    }

    /// Says once a day that the authority's end is near.
    fn warn_of_authority(&mut self) {
        if self.warned.is_some_and(|warned| warned.elapsed() < WARNING_INTERVAL) {
            return;
        }
        self.warned = Some(Instant::now());
        let authority = self.running.shared().authority();
        if let Some(words) = authority.and_then(|about| about.warning(SystemTime::now())) {
            self.events.notice("authority ends soon", &words);
        }
    }

    fn tell_stats(&mut self) {
        self.told = Instant::now();
        self.warn_of_authority();
        let shared = self.running.shared();
        let authority = shared.authority();
        let left = authority
            .map(|about| ("tls_authority_seconds_left", about.valid_for(SystemTime::now()).as_secs()));
        let figures = [
            ("uptime", self.begun.elapsed().as_secs()),
            ("generation", shared.generation.load().number),
            ("signatures", self.signatures.report.signatures_loaded()),
            ("connections_accepted", shared.counts.accepted.load(Relaxed)),
            ("connections_refused", shared.counts.refused.load(Relaxed)),
            ("tls_intercepted", shared.counts.tls_intercepted.load(Relaxed)),
            ("tls_clients_refused", shared.counts.tls_clients_refused.load(Relaxed)),
            ("tls_servers_refused", shared.counts.tls_servers_refused.load(Relaxed)),
            ("hold_pool_bytes", shared.pools.hold.bytes_taken()),
            ("content_pool_bytes", shared.pools.parts.bytes_taken()),
        ];
        self.events.stats(&figures.into_iter().chain(left).collect::<Vec<_>>());
    }

    /// Takes what was loaded, or says why not and goes on as before.
    fn take(&mut self, reloaded: Reloaded) {
        let taken = reloaded.and_then(|(config, loaded)| {
            let signatures = loaded.report().signatures_loaded();
            let failed = loaded.report().signatures_failed();
            let unchanged = self
                .running
                .shared()
                .reload(config.settings.clone(), Arc::new(loaded.generation))
                .map_err(|error| vec![format!("{}: {error}", config.file)])?;
            self.signatures = loaded.signatures;
            for note in loaded.notes.iter().filter(|note| !self.notes.contains(note)) {
                self.events.notice("compiled signatures", note);
            }
            self.notes = loaded.notes;
            // Another authority may be in use now.
            self.warned = None;
            memory::give_back();
            self.events.reopen(&config.settings.events);
            let mut words = format!("{signatures} signatures, {failed} not in use");
            if !unchanged.is_empty() {
                let names = unchanged.join(", ");
                words.push_str(&format!("; of the listeners {names} the address changes at the next start"));
            }
            Ok(words)
        });
        match taken {
            Ok(words) => {
                systemd(&format!("READY=1\nSTATUS=serving: {words}\n"));
                self.events.notice("reloaded", &words);
            }
            Err(errors) => {
                systemd("READY=1\nSTATUS=reload failed, serving what was loaded before\n");
                for error in errors {
                    self.events.notice("reload failed, what was loaded before goes on", &error);
                }
            }
        }
    }

    /// Drains; who asks twice is not kept waiting.
    async fn stop(self, mut signals: Signals) -> u8 {
        systemd("STOPPING=1\nSTATUS=draining\n");
        let shared = Arc::clone(self.running.shared());
        self.running.drain();
        let mut joined = tokio::task::spawn_blocking(move || self.running.join());
        loop {
            tokio::select! {
                _ = &mut joined => break,
                asked = signals.next() => if let Asked::Stop = asked {
                    shared.drain.advance(lockgate_relay::drain::Phase::Stopped);
                },
            }
        }
        self.events.notice("stopped", "every connection has ended");
        self.events.flush(FLUSH_PATIENCE);
        EXIT_CLEAN
    }
}

fn load_anew(path: Option<&Path>, number: u64, before: &Arc<Signatures>) -> Reloaded {
    let words =
        |problems: Vec<crate::config::Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let config = Config::load(path).map_err(words)?;
    let loaded = loading::load(&config, number, Some(before));
    if loaded.errors.is_empty() { Ok((Box::new(config), loaded)) } else { Err(loaded.errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_to_try_reach_what_the_default_serves() {
        let config = Config::load(None).expect("the default is valid");
        assert!(config.settings.listeners.iter().any(|listener| listener.intercept_tls == Switch::On));
        let addresses: Vec<SocketAddr> =
            (1..=config.settings.listeners.len()).map(|port| ([127, 0, 0, 1], port as u16).into()).collect();
        let words = greeting(&config, &addresses, 1, 0);
        let place = |line: &str| words.find(line).unwrap_or_else(|| panic!("no {line:?} in {words}"));
        let authority = place(" ca export > authority.pem\n");
        let file = place("> eicar.com\n");
        for line in ["--data-binary @eicar.com https://example.com/", "https://secure.eicar.org/eicar.com"] {
            let at = place(&format!("curl -x http://127.0.0.1:2 --cacert authority.pem {line}\n"));
            assert!(authority < at && file < at, "{line}");
        }
        let over_tls = words.lines().filter(|line| line.contains("curl") && line.contains("https://"));
        assert!(
            over_tls.clone().count() >= 4
                && over_tls.into_iter().all(|line| line.contains("--cacert authority.pem"))
        );
    }
}
