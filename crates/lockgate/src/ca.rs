//! `lockgate ca`: the authority that signs what clients see under intercepted TLS. Rule: the certificate is shown, the key never.

use crate::config::Config;
use crate::report::{EXIT_CLEAN, EXIT_WRONG, print, say_problems};
use clap::ArgMatches;
use lockgate_relay::events::timestamp;
use lockgate_relay::interception::authority::{self, About};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    let Some((name, arguments)) = arguments.subcommand() else { return EXIT_WRONG };
    let config = arguments.get_one::<PathBuf>("config");
    let config = match Config::load(config.map(PathBuf::as_path)) {
        Ok(config) => config,
        Err(problems) => return say_problems(&problems),
    };
    let files = authority::files(&config.settings.interception);
    if !files.chain.exists() {
        eprintln!(
            "lockgate: {}: there is no authority yet: the gateway makes one at its first start with intercept_tls = true",
            files.chain.display()
        );
        return EXIT_WRONG;
    }
    match authority::about(&files.chain) {
        Ok(about) if name == "export" => export(&about, arguments.get_flag("der")),
        Ok(about) => {
            print(&shown(&about));
            EXIT_CLEAN
        }
        Err(error) => {
            eprintln!("lockgate: {error}");
            EXIT_WRONG
        }
    }
}

fn export(about: &About, as_der: bool) -> u8 {
    if !as_der {
        print(&about.pem());
        return EXIT_CLEAN;
    }
    match std::io::stdout().write_all(&about.der) {
        Ok(()) => EXIT_CLEAN,
        Err(error) => {
            eprintln!("lockgate: the certificate cannot be written: {error}");
            EXIT_WRONG
        }
    }
}

fn shown(about: &About) -> String {
    let (end, now) = (timestamp::of(UNIX_EPOCH + Duration::from_secs(about.not_after)), SystemTime::now());
    let warning = about.warning(now).map(|words| format!("warning  {words}\n")).unwrap_or_default();
    format!(
        "file     {}\nname     {}\nvalid    until {end}\nSHA-256  {}\n{warning}",
        about.path.display(),
        about.subject,
        about.fingerprint()
    )
}
