//! The way past a block page for a while: [`Bypasses`]. Rule: nobody opens it but whom the page was shown to, for the host that
//! it was shown for.
//!
//! The page has a link to a path on the host that was asked for, so that it comes back to the gateway whatever way clients
//! come to it. The link is signed; who follows it is remembered, and sent on to where he wanted to go.

use crate::users::drawn_key;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The path of the links; everything below `.well-known` is for programs (RFC 8615).
pub const PATH: &str = "/.well-known/lockgate-bypass";
/// How long a link may be followed after its page was made.
const LINK_TIME: Duration = Duration::from_secs(10 * 60);
/// How many ways are open at once; of more, the one that would close next is closed.
const OPEN_MAX: usize = 10_000;
/// A longer address is not gone back to: the link leads to the host's first page.
const TO_BYTES_MAX: usize = 2048;

/// Who wants to go where.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The client's address.
    pub client: IpAddr,
    /// Who the client has proved to be.
    pub user: Option<&'a str>,
    /// The host.
    pub host: &'a str,
}

/// Why a link is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is not ours, or was made for somebody else.
    Forged,
    /// Its time is over.
    Expired,
}

/// The ways that are open in this process.
#[derive(Debug)]
pub struct Bypasses {
    key: hmac::Key,
    open: Mutex<HashMap<[u8; 32], SystemTime>>,
    /// How many there are: nearly always none, which is known without the lock.
    count: AtomicUsize,
}

impl Default for Bypasses {
    fn default() -> Self {
        Self { key: drawn_key(), open: Mutex::default(), count: AtomicUsize::new(0) }
    }
}

impl Bypasses {
    /// The link for a page, as path and query; `to` is the path that was asked for.
    pub fn link(&self, way: Way<'_>, to: &str, now: SystemTime) -> String {
        let to = if to.starts_with('/') && to.len() <= TO_BYTES_MAX { to } else { "/" };
        let until = seconds(now + LINK_TIME);
        let mark = BASE64_URL_SAFE_NO_PAD.encode(self.link_mark(way, until, to));
        format!("{PATH}?until={until}&mark={mark}&to={}", escaped(to))
    }

    /// Opens the way that a link is for, and answers with the path that was asked for first. `uri` is the link's path and
    /// query.
    pub fn open(&self, way: Way<'_>, uri: &str, time: Duration, now: SystemTime) -> Result<String, Invalid> {
        let query = uri.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?')).unwrap_or_default();
        let field = |name: &str| {
            let named = |pair: &'_ &str| pair.split_once('=').is_some_and(|(known, _)| known == name);
            let pair = query.split('&').find(named).ok_or(Invalid::Forged)?;
            Ok(pair.split_once('=').map_or("", |(_, value)| value))
        };
        let until: u64 = field("until")?.parse().map_err(|_| Invalid::Forged)?;
        let to = unescaped(field("to")?).ok_or(Invalid::Forged)?;
        let mark = BASE64_URL_SAFE_NO_PAD.decode(field("mark")?).map_err(|_| Invalid::Forged)?;
        let message = link_message(way, until, &to);
        hmac::verify(&self.key, &message, &mark).map_err(|_| Invalid::Forged)?;
        if until < seconds(now) {
            return Err(Invalid::Expired);
        }
        self.remember(way, now + time, now);
        Ok(to)
    }

    /// Whether the way is open.
    pub fn is_open(&self, way: Way<'_>, now: SystemTime) -> bool {
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mark = self.way_mark(way);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get(&mark) {
            Some(until) if *until > now => true,
            Some(_) => {
                open.remove(&mark);
                self.count.store(open.len(), Ordering::Relaxed);
                false
            }
            None => false,
        }
    }

    fn remember(&self, way: Way<'_>, until: SystemTime, now: SystemTime) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            open.retain(|_, until| *until > now);
        }
        if open.len() >= OPEN_MAX
            && let Some(next) = open.iter().min_by_key(|(_, until)| **until).map(|(mark, _)| *mark)
        {
            open.remove(&next);
        }
        open.insert(self.way_mark(way), until);
        self.count.store(open.len(), Ordering::Relaxed);
    }

    fn link_mark(&self, way: Way<'_>, until: u64, to: &str) -> hmac::Tag {
        hmac::sign(&self.key, &link_message(way, until, to))
    }

    fn way_mark(&self, way: Way<'_>) -> [u8; 32] {
        let mut message = b"way".to_vec();
        push_way(way, &mut message);
        let mut mark = [0; 32];
        mark.copy_from_slice(hmac::sign(&self.key, &message).as_ref());
        mark
    }
}

/// Every part with its length before it: no two links have the same message.
fn link_message(way: Way<'_>, until: u64, to: &str) -> Vec<u8> {
    let mut message = b"link".to_vec();
    push_way(way, &mut message);
    message.extend_from_slice(&until.to_be_bytes());
    push(to.as_bytes(), &mut message);
    message
}

fn push_way(Way { client, user, host }: Way<'_>, message: &mut Vec<u8>) {
    push(client.to_canonical().to_string().as_bytes(), message);
    message.push(u8::from(user.is_some()));
    push(user.unwrap_or_default().as_bytes(), message);
    push(host.to_ascii_lowercase().as_bytes(), message);
}

fn push(part: &[u8], message: &mut Vec<u8>) {
    message.extend_from_slice(&(part.len() as u64).to_be_bytes());
    message.extend_from_slice(part);
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A value for a query: all but what can mean nothing else there is percent-encoded.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn way<'a>(client: &str, user: Option<&'a str>, host: &'a str) -> Way<'a> {
        Way { client: client.parse().unwrap(), user, host }
    }

    #[test]
    fn who_follows_his_link_goes_on_until_the_time_is_over() {
        let (bypasses, now) = (Bypasses::default(), SystemTime::now());
        let ann = way("192.0.2.1", Some("ann"), "games.example");
        let to = "/chess?a=b&to=/x&mark=%20ä";
        let link = bypasses.link(ann, to, now);
        assert!(!bypasses.is_open(ann, now));
        assert_eq!(bypasses.open(ann, &link, MINUTE, now).as_deref(), Ok(to));
        let mapped = way("::ffff:192.0.2.1", Some("ann"), "GAMES.example");
        for (way, later, expected) in [
            (ann, Duration::ZERO, true),
            (mapped, MINUTE / 2, true),
            (way("192.0.2.2", Some("ann"), "games.example"), Duration::ZERO, false),
            (way("192.0.2.1", Some("bob"), "games.example"), Duration::ZERO, false),
            (way("192.0.2.1", None, "games.example"), Duration::ZERO, false),
            (way("192.0.2.1", Some("ann"), "other.example"), Duration::ZERO, false),
            (ann, MINUTE, false),
            // What is over is forgotten.
            (ann, Duration::ZERO, false),
        ] {
            assert_eq!(bypasses.is_open(way, now + later), expected, "{way:?} {later:?}");
        }
    }

    #[test]
    fn nobody_else_s_link_and_none_that_is_changed_or_old() {
        let (bypasses, now) = (Bypasses::default(), SystemTime::now());
        let ann = way("192.0.2.1", None, "games.example");
        let link = bypasses.link(ann, "/chess", now);
        let open = |way, link: &str, now| bypasses.open(way, link, MINUTE, now).unwrap_err();
        for other in [
            way("192.0.2.2", None, "games.example"),
            way("192.0.2.1", Some(""), "games.example"),
            way("192.0.2.1", None, "games.example.org"),
        ] {
            assert_eq!(open(other, &link, now), Invalid::Forged, "{other:?}");
        }
        assert_eq!(open(ann, &link, now + LINK_TIME + MINUTE), Invalid::Expired);
        let later = link.replacen(&format!("until={}", seconds(now + LINK_TIME)), "until=99999999999", 1);
        assert_ne!(later, link);
        assert_eq!(open(ann, &later, now), Invalid::Forged);
        for end in 0..link.len() {
            assert_eq!(open(ann, &link[..end], now), Invalid::Forged, "{}", &link[..end]);
        }
        for uri in
            ["/", PATH, "/.well-known/lockgate-bypass?until=1&mark=&to=/", &link.replace("/chess", "/%zz")]
        {
            assert_eq!(open(ann, uri, now), Invalid::Forged, "{uri}");
        }
        let another_process = Bypasses::default();
        assert_eq!(another_process.open(ann, &link, MINUTE, now), Err(Invalid::Forged));
        assert!(!bypasses.is_open(ann, now));
    }

    #[test]
    fn a_link_leads_nowhere_but_to_the_host() {
        let (bypasses, now) = (Bypasses::default(), SystemTime::now());
        let ann = way("192.0.2.1", None, "games.example");
        let long = "/".repeat(TO_BYTES_MAX + 1);
        for (to, expected) in [("*", "/"), ("", "/"), (&long, "/"), ("//other.example/", "//other.example/")]
        {
            let link = bypasses.link(ann, to, now);
            assert_eq!(bypasses.open(ann, &link, MINUTE, now).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_is_open_is_bounded() {
        let (bypasses, now) = (Bypasses::default(), SystemTime::now());
        let hosts: Vec<String> = (0..OPEN_MAX + 3).map(|n| format!("{n}.example")).collect();
        for (n, host) in hosts.iter().enumerate() {
            let until = now + MINUTE + Duration::from_secs(n as u64);
            bypasses.remember(way("192.0.2.1", None, host), until, now);
        }
        let is_open = |n: usize| bypasses.is_open(way("192.0.2.1", None, &hosts[n]), now);
        assert_eq!(bypasses.count.load(Ordering::Relaxed), OPEN_MAX);
        assert!(!is_open(0) && !is_open(2) && is_open(3) && is_open(OPEN_MAX + 2));
    }
}
