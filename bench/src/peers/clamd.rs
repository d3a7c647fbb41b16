//! clamd with one database of its own. Rule: see the stack's list of what is not stock.

use super::{allow_all, await_port, directory, spawn};
use crate::signatures::Signatures;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

pub fn start(home: &Path, signatures: &Signatures, address: SocketAddr) -> std::io::Result<Child> {
    let child = spawn(&mut prepare(home, signatures, address)?, &home.join("log"))?;
    await_port(address, Duration::from_secs(240))?;
    Ok(child)
}

/// What starts it, its configuration and databases written.
pub fn prepare(home: &Path, signatures: &Signatures, address: SocketAddr) -> std::io::Result<Command> {
    let database = directory(&home.join("database"), None)?;
    signatures.write(&database)?;
    allow_all(&database)?;
    let temporary = directory(&home.join("tmp"), None)?;
    let configuration = format!(
        "DatabaseDirectory {}\nTCPSocket {}\nTCPAddr {}\nLocalSocket {}\nLocalSocketMode 666\nTemporaryDirectory {}\n\
         Foreground yes\nSelfCheck 0\nDisableCache yes\nStreamMaxLength 100M\nMaxFileSize 100M\nMaxScanSize 400M\n",
        database.display(),
        address.port(),
        address.ip(),
        home.join("socket").display(),
        temporary.display(),
    );
    fs::write(home.join("clamd.conf"), configuration)?;
    let mut command = Command::new("clamd");
    command.arg("-c").arg(home.join("clamd.conf"));
    Ok(command)
}
