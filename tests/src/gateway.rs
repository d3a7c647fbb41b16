//! The gateway as it is built. Rule: the real binary with a real configuration file, never a part of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::mail;
use crate::namespace::Namespace;
use crate::process::{Running, outcome, printed_by, run};
use crate::temporary::{Directory, delivered};
use crate::wait;

/// A gateway that serves, in a directory of its own.
#[derive(Debug)]
pub struct Gateway {
    /// Where its first listener is.
    pub address: SocketAddr,
    process: Running,
    directory: Directory,
}

impl Gateway {
    /// One SMTP listener towards a next hop, with any further lines for it, and sections after it.
    pub fn smtp(next_hop: &str, listener_lines: &str, sections: &str) -> Self {
        Self::start("smtp", next_hop, listener_lines, sections)
    }

    /// One SMTP listener on port 2525 of all addresses of a namespace.
    pub fn smtp_within(namespace: &Namespace, next_hop: &str, listener_lines: &str) -> Self {
        Self::start_within(namespace, "smtp", 2525, next_hop, listener_lines)
    }

    /// One POP3 listener on port 2110 of all addresses of a namespace.
    pub fn pop3_within(namespace: &Namespace, next_hop: &str, listener_lines: &str) -> Self {
        Self::start_within(namespace, "pop3", 2110, next_hop, listener_lines)
    }

    /// One web proxy on port 3128 of all addresses of a namespace.
    pub fn http_within(namespace: &Namespace, listener_lines: &str) -> Self {
        Self::start_within(namespace, "http", 3128, "original", listener_lines)
    }

    fn start_within(
        namespace: &Namespace,
        protocol: &str,
        port: u16,
        next_hop: &str,
        listener_lines: &str,
    ) -> Self {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let (directory, file) = configured(protocol, address, next_hop, listener_lines, "");
        let mut command = namespace.command(binary());
        command.arg("serve").arg("--config").arg(file).current_dir(directory.path());
        let process = Running::start(&mut command, &directory.join("log"));
        namespace.until_listening(port);
        Self { address, process, directory }
    }

    /// One POP3 listener.
    pub fn pop3(next_hop: &str, listener_lines: &str, sections: &str) -> Self {
        Self::start("pop3", next_hop, listener_lines, sections)
    }

    /// One web proxy.
    pub fn http(listener_lines: &str, sections: &str) -> Self {
        Self::start("http", "original", listener_lines, sections)
    }

    /// The same, with more in its directory before it starts.
    pub fn http_prepared(listener_lines: &str, sections: &str, prepare: impl FnOnce(&Directory)) -> Self {
        let address = wait::free_address();
        let (directory, file) = configured("http", address, "original", listener_lines, sections);
        prepare(&directory);
        Self::serving(address, directory, &file)
    }

    /// One SMTP listener that delivers into a maildir of its own.
    pub fn with_maildir(listener_lines: &str, sections: &str) -> Self {
        Self::start("smtp", "maildir:DIRECTORY/maildir", listener_lines, sections)
    }

    /// The same, with more in its directory before it starts.
    pub fn with_maildir_prepared(
        listener_lines: &str,
        sections: &str,
        prepare: impl FnOnce(&Directory),
    ) -> Self {
        let (address, next_hop) = (wait::free_address(), "maildir:DIRECTORY/maildir");
        let (directory, file) = configured("smtp", address, next_hop, listener_lines, sections);
        prepare(&directory);
        Self::serving(address, directory, &file)
    }

    fn start(protocol: &str, next_hop: &str, listener_lines: &str, sections: &str) -> Self {
        let address = wait::free_address();
        let (directory, file) = configured(protocol, address, next_hop, listener_lines, sections);
        Self::serving(address, directory, &file)
    }

    fn serving(address: SocketAddr, directory: Directory, file: &Path) -> Self {
        let mut command = Command::new(binary());
        command.arg("serve").arg("--config").arg(file).current_dir(directory.path());
        let mut process = Running::start(&mut command, &directory.join("log"));
        wait::until("the gateway does not listen", || {
            assert!(process.is_alive(), "the gateway ended:\n{}", process.printed());
            std::net::TcpStream::connect(address).ok()
        });
        Self { address, process, directory }
    }

    /// Its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The process.
    pub fn process(&mut self) -> &mut Running {
        &mut self.process
    }

    /// What has been delivered into its maildir.
    pub fn delivered(&self) -> Vec<Vec<u8>> {
        delivered(&self.directory.join("maildir"))
    }

    /// What clients must trust where it intercepts TLS: its authority, as `lockgate ca export` prints it.
    pub fn exported_authority(&self) -> PathBuf {
        let config = self.directory.join("lockgate.toml");
        let arguments = ["ca", "export", "--config", config.to_str().expect("text")];
        let exported = lockgate(&arguments, self.directory.path());
        assert!(exported.status.success(), "{}", printed_by(&exported));
        self.directory.write("exported.pem", exported.stdout)
    }

    /// The lines of its events.
    pub fn events(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.join("eve.json")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits for an event whose line holds all of these.
    pub fn until_event(&self, words: &[&str]) -> String {
        wait::until(&format!("an event with {words:?} among {:?}", self.events()), || {
            self.events().into_iter().find(|line| words.iter().all(|word| line.contains(word)))
        })
    }

    /// The most memory that was resident at once, in KiB, as the kernel counts it.
    pub fn resident_peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("the gateway lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel counts it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

/// A configuration in a directory of its own. `DIRECTORY` in what is given stands for it; EICAR's signature is loaded
/// from `DIRECTORY/databases`, and events go to `DIRECTORY/eve.json`.
fn configured(
    protocol: &str,
    address: SocketAddr,
    next_hop: &str,
    listener_lines: &str,
    sections: &str,
) -> (Directory, PathBuf) {
    let directory = Directory::new("gateway");
    directory.write("databases/test.ndb", mail::eicar_database());
    let next_hop = if next_hop.is_empty() { String::new() } else { format!("next_hop = \"{next_hop}\"\n") };
    let configuration = format!(
        "[[listen]]\nname = \"first\"\nprotocol = \"{protocol}\"\naddress = \"{address}\"\n\
         {next_hop}{listener_lines}\n\
         [antivirus]\ndatabases = [\"DIRECTORY/databases\"]\n\
         [events]\neve = \"DIRECTORY/eve.json\"\n{sections}\n"
    );
    let configuration = configuration.replace("DIRECTORY", &directory.path().display().to_string());
    let file = directory.write("lockgate.toml", configuration);
    (directory, file)
}

/// The section of a gateway that looks into TLS, with an authority of its own, and trusts servers that these vouch for.
pub fn interception(roots: &[&Path]) -> String {
    format!("[tls_interception]\ndirectory = \"DIRECTORY/authority\"\nserver_roots = {roots:?}\n")
}

/// Runs one command of the binary to its end.
pub fn lockgate(arguments: &[&str], directory: &Path) -> Output {
    outcome(Command::new(binary()).args(arguments).current_dir(directory))
}

/// The binary under test: `LOCKGATE_BINARY`, else built here from the sources as they are.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("LOCKGATE_BINARY") {
            return PathBuf::from(path);
        }
        let test = std::env::current_exe().expect("a test has a path");
        // TARGET/PROFILE/deps/TEST, or TARGET/PROFILE/PROGRAM.
        let beside = test.parent().expect("a program lies in a directory");
        let profile =
            if beside.ends_with("deps") { beside.parent().expect("TARGET/PROFILE/deps") } else { beside };
        let target = profile.parent().expect("TARGET/PROFILE");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--package", "lockgate", "--quiet", "--manifest-path"]);
        build.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        run(&mut build);
        profile.join("lockgate")
    })
}
