//! The gateway's commands, and the configuration that they share. Rule: each command is a file of its own; public is only what
//! stands on its own outside the program.

mod also;
mod ca;
mod check;
mod clock;
mod command;
pub mod config;
mod descriptors;
mod explain;
mod ids;
mod lists;
mod loading;
mod memory;
mod notify;
mod progress;
mod report;
mod rules;
mod scan;
#[cfg(test)]
mod scratch;
mod serve;
mod signatures;
mod stored;
mod url;

use clap::ArgMatches;
use std::process::ExitCode;

/// Does what the command line says.
pub fn run() -> ExitCode {
    let matches = command::command().get_matches();
    let status = match matches.subcommand() {
        Some(("serve", arguments)) => serve::run(arguments),
        Some(("check", arguments)) => check::run(arguments),
        Some(("scan", arguments)) => scan::run(arguments),
        Some(("ca", arguments)) => ca::run(arguments),
        Some(("ids", arguments)) => ids::run(arguments),
        Some(("url", arguments)) => url::run(arguments),
        Some(("explain", arguments)) => explain::run(arguments),
        Some(("reference", arguments)) => reference(arguments),
        _ => report::EXIT_WRONG,
    };
    ExitCode::from(status)
}

/// Prints the tables for people; `docs/reference.md` and `config/lockgate.toml` are made by it.
fn reference(arguments: &ArgMatches) -> u8 {
    let commands = command::helps();
    let text = if arguments.get_flag("markdown") {
        config::reference::markdown(&commands)
    } else if arguments.get_flag("man") {
        config::reference::man(&commands, env!("CARGO_PKG_VERSION"))
    } else {
        config::reference::toml()
    };
    report::print(&text);
    report::EXIT_CLEAN
}
