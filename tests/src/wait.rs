//! Waiting for what will happen. Rule: every wait has an end, and says what it was for.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine with two cores; a test that meets it has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
///
/// # Panics
///
/// Panics where there is none within [`PATIENCE`].
pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ask).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain: {what}"))
}

/// Asks again and again until there is an answer, or the time is up.
pub fn within<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if started.elapsed() > patience {
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a line of a growing text that holds all of these.
pub fn until_line(text: impl Fn() -> String, words: &[&str]) -> String {
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    until(&format!("a line with {words:?} in\n{}", text()), || {
        text().lines().find(has_all).map(str::to_owned)
    })
}

/// Waits until something accepts connections there.
pub fn until_listening(address: SocketAddr) {
    until(&format!("nothing listens on {address}"), || TcpStream::connect(address).ok());
}

/// An address on the loopback interface that nobody listens on.
///
/// Ports come from below the range that the kernel gives to outgoing connections, so that no connection of another
/// test takes one between here and its use.
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 97) as u16 * 200;
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 10_000 + (start + offset) % 20_000));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
