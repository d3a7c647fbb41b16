//! Proxies behind the gateway: Squid and microsocks. Rule: they ask for a login, so that one who gets through has given it.

use std::net::SocketAddr;
use std::process::Command;

use crate::process::Running;
use crate::temporary::Directory;
use crate::wait;

/// The login that they want.
pub const LOGIN: &str = "gate:pass%20word";

/// A proxy behind the gateway.
#[derive(Debug)]
pub struct Parent {
    /// Where it listens.
    pub address: SocketAddr,
    running: Running,
    directory: Directory,
}

/// Squid without a cache, which wants to know who asks.
const SQUID: &str = "
http_port ADDRESS
pid_filename DIRECTORY/pid
cache_log DIRECTORY/cache.log
logformat lines %rm %ru %>Hs %un %{Via}>h
access_log stdio:DIRECTORY/log lines
cache deny all
shutdown_lifetime 0 seconds
auth_param basic program /usr/lib/squid/basic_ncsa_auth DIRECTORY/users
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
visible_hostname parent
pinger_enable off
max_filedescriptors 1024
via on
";

impl Parent {
    /// Starts Squid.
    pub fn squid() -> Self {
        let (directory, address) = (Directory::new("squid"), wait::free_address());
        let hash = crate::process::run(Command::new("openssl").args(["passwd", "-apr1", "pass word"]));
        directory.write("users", format!("gate:{}\n", hash.trim()));
        let configuration = SQUID
            .replace("ADDRESS", &address.to_string())
            .replace("DIRECTORY", &directory.path().display().to_string());
        let file = directory.write("squid.conf", configuration);
        // It gives its rights up, and must read and write here all the same.
        crate::process::run(Command::new("chmod").arg("-R").arg("a+rwX").arg(directory.path()));
        let mut command = Command::new("squid");
        command.arg("-N").arg("-f").arg(file).env("TMPDIR", directory.path());
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, running, directory }
    }

    /// Starts microsocks.
    pub fn microsocks() -> Self {
        let (directory, address) = (Directory::new("microsocks"), wait::free_address());
        let mut command = Command::new("microsocks");
        command.args(["-i", &address.ip().to_string(), "-p", &address.port().to_string()]);
        command.args(["-u", "gate", "-P", "pass word"]);
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, running, directory }
    }

    /// Waits for a line of what it logs or prints that holds all of these.
    pub fn until_logged(&self, words: &[&str]) -> String {
        wait::until_line(|| self.log(), words)
    }

    /// What it has logged or printed.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        [log, self.running.printed()].concat()
    }
}
