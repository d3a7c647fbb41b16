//! Network namespaces: a client, a gateway and a server that only the gateway joins. Rule: all of it goes with the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process::{outcome, run};
use crate::wait;

/// The client's address.
pub const CLIENT: &str = "10.71.1.2";
/// The server's address; the client reaches it through the gateway only.
pub const SERVER: &str = "10.71.2.2";
/// The gateway's address on the server's side.
pub const GATEWAY: &str = "10.71.2.1";
/// The gateway's interface to the client.
pub const TO_CLIENT: &str = "to-client";

/// One namespace.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    fn new(role: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lockgate-{role}-{}-{number}", std::process::id());
        run(Command::new("ip").args(["netns", "add", &name]));
        let namespace = Self { name };
        namespace.ip("link set lo up");
        namespace
    }

    /// A command that runs in it.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program.as_ref());
        command
    }

    /// Names that programs started in it from here on know, besides what the system's files say.
    pub fn hosts(&self, lines: &str) {
        let directory = self.own_files();
        std::fs::create_dir_all(&directory).expect("tests run as root");
        std::fs::write(directory.join("hosts"), lines).expect("tests run as root");
    }

    /// What `ip netns exec` puts in the place of the system's own files.
    fn own_files(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }

    /// Runs `ip` in it.
    pub fn ip(&self, arguments: &str) {
        run(Command::new("ip").args(["-n", &self.name]).args(arguments.split(' ')));
    }

    /// Loads these nft lines in it.
    pub fn nft(&self, file: &Path) {
        run(self.command("nft").arg("-f").arg(file));
    }

    /// Waits until something in it listens on a port.
    pub fn until_listening(&self, port: u16) {
        let port = format!("sport = :{port}");
        wait::until(&format!("nothing listens, {port}"), || {
            let output = outcome(self.command("ss").args(["-H", "-l", "-t", "-n", &port]));
            (!output.stdout.is_empty()).then_some(())
        });
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.own_files());
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}

/// The three of them.
#[derive(Debug)]
pub struct Lab {
    /// Where clients are.
    pub client: Namespace,
    /// Between them.
    pub gateway: Namespace,
    /// Where servers are.
    pub server: Namespace,
}

impl Lab {
    /// Makes them and joins them; the gateway forwards.
    pub fn new() -> Self {
        let lab = Self {
            client: Namespace::new("client"),
            gateway: Namespace::new("gateway"),
            server: Namespace::new("server"),
        };
        let gateway = &lab.gateway;
        gateway.ip(&format!("link add {TO_CLIENT} type veth peer name eth0 netns {}", lab.client.name));
        gateway.ip(&format!("link add to-server type veth peer name eth0 netns {}", lab.server.name));
        for (interface, address) in [(TO_CLIENT, "10.71.1.1"), ("to-server", GATEWAY)] {
            gateway.ip(&format!("addr add {address}/24 dev {interface}"));
            gateway.ip(&format!("link set {interface} up"));
        }
        for (namespace, address, way) in [(&lab.client, CLIENT, "10.71.1.1"), (&lab.server, SERVER, GATEWAY)]
        {
            namespace.ip(&format!("addr add {address}/24 dev eth0"));
            namespace.ip("link set eth0 up");
            namespace.ip(&format!("route add default via {way}"));
        }
        run(gateway.command("sysctl").args(["-q", "-w", "net.ipv4.ip_forward=1"]));
        lab
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}
