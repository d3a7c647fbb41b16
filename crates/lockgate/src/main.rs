//! The gateway's binary: reads the command line and hands over. Rule: each command is a file of its own.

mod command;
mod config;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = command::command().get_matches();
    match matches.subcommand() {
        Some(("reference", arguments)) => {
            let commands = command::helps();
            if arguments.get_flag("markdown") {
                print!("{}", config::reference::markdown(&commands));
            } else if arguments.get_flag("man") {
                print!("{}", config::reference::man(&commands, env!("CARGO_PKG_VERSION")));
            } else {
                print!("{}", config::reference::toml());
            }
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}
