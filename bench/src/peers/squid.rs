//! Squid that keeps nothing. Rule: stock but for what is said: no cache, one process in the foreground, clients of loopback.

use super::{await_port, directory, spawn};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Starts it; `from` is the address from which it goes to servers, where that matters.
pub fn start(home: &Path, address: SocketAddr, from: Option<IpAddr>) -> std::io::Result<Child> {
    let at = directory(home, None)?.display().to_string();
    let from = from.map_or(String::new(), |from| format!("tcp_outgoing_address {from}\n"));
    let configuration = format!(
        "http_port {address}\nacl clients src 127.0.0.0/8\nhttp_access allow clients\nhttp_access deny all\n\
         cache deny all\ncache_mem 0\naccess_log stdio:{at}/access.log\ncache_log {at}/cache.log\n\
         pid_filename {at}/squid.pid\ncoredump_dir {at}\nvisible_hostname squid.bench.test\npinger_enable off\n\
         shutdown_lifetime 1 second\n{from}"
    );
    fs::write(home.join("squid.conf"), configuration)?;
    directory(home, Some("proxy:proxy"))?;
    let mut command = Command::new("squid");
    command.arg("-N").arg("-f").arg(home.join("squid.conf"));
    let child = spawn(&mut command, &home.with_file_name("squid.out"))?;
    await_port(address, Duration::from_secs(30))?;
    Ok(child)
}
