//! A server apart: [`Apart`], a network namespace behind a pair of interfaces, so that who listens sees packets as a wire has them, each once.
//! Rule: it goes with the value, and nothing outside it is changed but our end of the pair.

use crate::peers::{await_port, run};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where its server is.
pub const ORIGIN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 2), 28080));
/// Where a proxy goes to that server from whose traffic is listened to; others go there from [`OURS`].
pub const SNIFFED: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 3);
const OURS: &str = "10.77.0.1/29";
const NAME: &str = "lockgate-bench";
/// Our end of the pair.
pub const INTERFACE: &str = "lg-bench";
/// The other end.
const THERE: &str = "lg-origin";

/// The namespace.
pub struct Apart(());

impl Apart {
    /// Makes it, in the place of one that was left.
    ///
    /// # Errors
    ///
    /// Where `ip` is not there, or we may not.
    pub fn open() -> std::io::Result<Self> {
        let _ = ip(&format!("netns delete {NAME}"));
        ip(&format!("netns add {NAME}"))?;
        let apart = Self(());
        ip(&format!("link add {INTERFACE} type veth peer name {THERE} netns {NAME}"))?;
        ip(&format!("address add {OURS} dev {INTERFACE}"))?;
        ip(&format!("address add {SNIFFED}/29 dev {INTERFACE}"))?;
        ip(&format!("-n {NAME} address add {}/29 dev {THERE}", ORIGIN.ip()))?;
        // Else the pair hands over up to 64 KB at once, which no wire does.
        ip(&format!("link set {INTERFACE} gso_max_segs 1 up"))?;
        ip(&format!("-n {NAME} link set {THERE} gso_max_segs 1 up"))?;
        Ok(apart)
    }

    /// Starts the server in it.
    ///
    /// # Errors
    ///
    /// Where it does not begin to listen.
    pub fn serve(&self) -> std::io::Result<Child> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", NAME]).arg(std::env::current_exe()?);
        let child = command.args(["origin", &ORIGIN.to_string()]).stdin(Stdio::null()).spawn()?;
        await_port(ORIGIN, Duration::from_secs(10))?;
        Ok(child)
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = ip(&format!("netns delete {NAME}"));
    }
}

fn ip(arguments: &str) -> std::io::Result<()> {
    run(Command::new("ip").args(arguments.split(' ')))
}
