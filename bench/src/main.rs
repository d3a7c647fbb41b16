//! `make bench`: measures the gateway side by side with its peers. Rule: a scenario a file, all figures of one run.

mod apart;
mod crowd;
mod gateway;
mod load;
mod mail;
mod peers;
mod plot;
mod process;
mod profile;
mod proof;
mod report;
mod rules;
mod scenario;
mod signatures;
mod sink;
mod splice;
mod traffic;
mod turns;
mod web_lists;
mod web_load;
mod web_origin;

use std::path::PathBuf;
use std::process::ExitCode;

const SCENARIOS: [&str; 18] = [
    "components",
    "matchers",
    "start",
    "scan-speed",
    "mail-speed",
    "mail-memory",
    "mail-packed",
    "mail-bombs",
    "mail-profile",
    "web-speed",
    "web-engines",
    "web-profile",
    "web-memory",
    "ids-speed",
    "ids-flood",
    "ids-profile",
    "ids-web",
    "ids-web-peers",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, address, next_hop] = arguments.as_slice()
        && role == "relay"
    {
        let parse =
            |text: &str| text.parse().map_err(|_| std::io::Error::other(format!("{text:?} is no address")));
        return splice::run(parse(address)?, parse(next_hop)?);
    }
    if let [role, address] = arguments.as_slice()
        && role == "origin"
    {
        let address =
            address.parse().map_err(|_| std::io::Error::other(format!("{address:?} is no address")))?;
        return web_origin::run(address);
    }
    let directory =
        PathBuf::from(std::env::var_os("BENCH_OUT").unwrap_or_else(|| "/tmp/lockgate-bench".into()));
    std::fs::create_dir_all(&directory)?;
    let wanted: Vec<&str> = if arguments.is_empty() {
        SCENARIOS.to_vec()
    } else {
        arguments.iter().map(String::as_str).collect()
    };
    for name in wanted {
        match name {
            "components" => scenario::components::run(&directory)?,
            "matchers" => scenario::matchers::run(&directory)?,
            "start" => scenario::start::run(&directory)?,
            "scan-speed" => scenario::scan_speed::run(&directory)?,
            "mail-speed" => scenario::mail_speed::run(&directory)?,
            "mail-memory" => scenario::mail_memory::run(&directory)?,
            "mail-packed" => scenario::mail_packed::run(&directory)?,
            "mail-bombs" => scenario::mail_bombs::run(&directory)?,
            "mail-profile" => scenario::mail_profile::run(&directory)?,
            "web-speed" => scenario::web_speed::run(&directory)?,
            "web-engines" => scenario::web_engines::run(&directory)?,
            "web-profile" => scenario::web_profile::run(&directory)?,
            "web-memory" => scenario::web_memory::run(&directory)?,
            "ids-speed" => scenario::ids_speed::run(&directory)?,
            "ids-flood" => scenario::ids_flood::run(&directory)?,
            "ids-profile" => scenario::ids_profile::run(&directory)?,
            "ids-web" => scenario::ids_web::run(&directory)?,
            "ids-web-peers" => scenario::ids_web_peers::run(&directory)?,
            other => {
                let known = SCENARIOS.join(", ");
                return Err(std::io::Error::other(format!(
                    "no scenario is called {other:?}; there are: {known}"
                )));
            }
        }
    }
    Ok(())
}
