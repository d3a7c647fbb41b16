//! The gateway under test: the release binary with a configuration of its own. Rule: as a user would run it.

use crate::peers::{await_port, local, stop};
use crate::signatures::Signatures;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `lockgate serve`; it stops when it is dropped.
pub struct Gateway {
    /// Where it takes mail, or requests.
    pub address: SocketAddr,
    /// Its process.
    pub pid: u32,
    child: Child,
}

impl Gateway {
    /// Starts it before the sink, with these signatures; `process` and `tables` are added to the front and the
    /// end of its configuration.
    pub fn start(
        directory: &Path,
        signatures: &Signatures,
        sink: SocketAddr,
        process: &str,
        tables: &str,
    ) -> std::io::Result<Self> {
        fs::create_dir_all(directory)?;
        signatures.write(&directory.join("databases"))?;
        let address = local(25025);
        let configuration = format!(
            "{process}\n[[listen]]\nname = \"bench\"\nprotocol = \"smtp\"\naddress = \"{address}\"\nnext_hop = \"{sink}\"\n\
             relay_domains = [\"receiver.test\"]\nconnections_per_client_max = 100000\n\
             next_hop_connections_max = 100000\n[ids]\nrules = []\n[antivirus]\ndatabases = [\"{}\"]\n{tables}\n",
            directory.join("databases").display()
        );
        Self::launch(&binary()?, directory, address, &configuration)
    }

    /// Starts a build of it as a web proxy; `tables` say what it looks for.
    pub fn start_web(
        program: &Path,
        directory: &Path,
        address: SocketAddr,
        tables: &str,
    ) -> std::io::Result<Self> {
        fs::create_dir_all(directory)?;
        // Events go to a file, as the peers' access logs do; what is written meanwhile is of exchanges alone.
        let configuration = format!(
            "[events]\neve = \"{}\"\nstats_interval = \"1 h\"\n[[listen]]\nname = \"bench\"\nprotocol = \"http\"\naddress = \"{address}\"\n{tables}",
            directory.join("eve.json").display()
        );
        Self::launch(program, directory, address, &configuration)
    }

    fn launch(
        program: &Path,
        directory: &Path,
        address: SocketAddr,
        configuration: &str,
    ) -> std::io::Result<Self> {
        let path = directory.join("lockgate.toml");
        fs::write(&path, configuration)?;
        let log = fs::File::create(directory.join("lockgate.log"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--config"]).arg(&path);
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let mut gateway = Self { address, pid: child.id(), child };
        await_port(address, Duration::from_secs(60))?;
        if let Some(status) = gateway.child.try_wait()? {
            // Something else listens there, perhaps a gateway that was left behind.
            let log = fs::read_to_string(directory.join("lockgate.log")).unwrap_or_default();
            return Err(std::io::Error::other(format!("lockgate serve ended at once ({status}): {log}")));
        }
        Ok(gateway)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// The release binary, which `make bench` builds beside this program.
pub fn binary() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("lockgate");
    if path.exists() {
        return Ok(path);
    }
    Err(std::io::Error::other(format!(
        "{} is not there; build it with: cargo build --release",
        path.display()
    )))
}
