//! The loosely coupled stacks that mail is filtered with today, on loopback. Rule: Debian's packages, private directories, stock choices unless said.
//!
//! What is not stock, and why: clamd's cache of clean files is off (the load sends one mail many times, and a cache would
//! hide the scan); name look-ups are off (there is no name server here); Postfix's connection cache is off towards
//! amavisd (an idle cached connection holds one of its children); rspamd runs local tests only, its own cache of virus
//! results off for the same reason as clamd's. The web's peers are [`squid`] and [`e2guardian`],
//! the wire's is [`suricata`].

mod amavis;
pub mod clamd;
pub mod e2guardian;
pub mod hyperscan;
mod postfix;
mod rspamd;
pub mod squid;
pub mod suricata;

use crate::signatures::Signatures;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What stands behind Postfix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// amavisd as content filter, clamd behind it.
    Amavis,
    /// rspamd as milter, clamd behind it.
    Rspamd,
}

/// A running stack; it stops when it is dropped.
pub struct Stack {
    /// Where it takes mail.
    pub address: SocketAddr,
    /// The processes whose trees are its cost.
    pub pids: Vec<u32>,
    children: Vec<Child>,
    postfix: postfix::Postfix,
}

impl Stack {
    /// Starts everything, with these signatures, delivering to the sink.
    pub fn start(
        filter: Filter,
        directory: &Path,
        signatures: &Signatures,
        sink: SocketAddr,
    ) -> std::io::Result<Self> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
        allow_all(directory)?;
        let clamd_address = local(24310);
        let mut children = vec![clamd::start(&directory.join("clamd"), signatures, clamd_address)?];
        let (address, back) = (local(24025), local(24027));
        let extra = match filter {
            Filter::Amavis => {
                let amavis = local(24024);
                children.push(amavis::start(
                    &directory.join("amavis"),
                    &directory.join("clamd/socket"),
                    amavis,
                    back,
                )?);
                format!("content_filter = amavis:[{}]:{}\n", amavis.ip(), amavis.port())
            }
            Filter::Rspamd => {
                let milter = local(24332);
                children.extend(rspamd::start(&directory.join("rspamd"), clamd_address, milter)?);
                format!(
                    "smtpd_milters = inet:{}:{}\nmilter_default_action = tempfail\nmilter_content_timeout = 600s\n",
                    milter.ip(),
                    milter.port()
                )
            }
        };
        let postfix = postfix::Postfix::start(&directory.join("postfix"), address, back, sink, &extra)?;
        let pids = children.iter().map(Child::id).chain([postfix.pid]).collect();
        Ok(Self { address, pids, children, postfix })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.postfix.stop();
        for child in self.children.iter_mut().rev() {
            stop(child);
        }
    }
}

/// Asks a process to end, and ends it where it does not.
pub fn stop(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        // SAFETY: kill only sends a signal, here to a child that has not been waited for, so its number is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// An address on loopback.
pub fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Waits until something listens there.
pub fn await_port(address: SocketAddr, patience: Duration) -> std::io::Result<()> {
    let deadline = Instant::now() + patience;
    while TcpStream::connect(address).is_err() {
        if Instant::now() > deadline {
            return Err(std::io::Error::other(format!("nothing listens on {address} after {patience:?}")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Starts a program whose output goes to `log`.
fn spawn(command: &mut Command, log: &Path) -> std::io::Result<Child> {
    let log = fs::File::create(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
}

/// A directory, made if it is not there.
pub fn directory(path: &Path, owner: Option<&str>) -> std::io::Result<PathBuf> {
    fs::create_dir_all(path)?;
    if let Some(owner) = owner {
        run(Command::new("chown").arg("-R").arg(owner).arg(path))?;
    }
    Ok(path.to_owned())
}

fn allow_all(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> std::io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(std::io::Error::other(format!("{command:?} failed: {words}")))
}
