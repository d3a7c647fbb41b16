//! What systemd is told (sd_notify(3)). Rule: where nobody asked, nothing is said, and nothing ever fails.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;

/// Sends lines such as `READY=1` to the socket that systemd names.
pub fn systemd(lines: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let _ = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            std::os::unix::net::SocketAddr::from_abstract_name(name)
                .and_then(|address| socket.send_to_addr(lines.as_bytes(), &address))
        }
        None => socket.send_to(lines.as_bytes(), &name),
    };
}
