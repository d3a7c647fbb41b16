//! Names become addresses: [`Resolver`]. Rule: one look-up in flight for a name, and no answer is remembered for longer
//! than it is told.
//!
//! The system's resolver does the asking (getaddrinfo: hosts file, DNS, whatever the machine is set up for), in a thread
//! of the runtime's pool. It does not say how long an answer is good for, so a setting does.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Names that are remembered, in all. Twice that many are when one generation of them replaces another.
const NAMES_MAX: usize = 4096;
/// How long it is remembered that a name leads nowhere: the next page of the same site asks again at once.
const FAILURE_KEPT: Duration = Duration::from_secs(5);

/// What a name leads to, in the order in which the system would try them.
type Answer = Result<Arc<[IpAddr]>, Failed>;
/// Asks for a name; may take long.
type LookUp = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Why a name leads nowhere; an [`io::Error`] that can be told to many.
#[derive(Clone, Debug)]
struct Failed {
    kind: io::ErrorKind,
    words: Arc<str>,
}

/// Asks the system and remembers.
pub struct Resolver {
    look_up: Arc<LookUp>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The newer half of what is known …
    fresh: HashMap<Box<str>, Known>,
    /// … and the older one, which is forgotten when the newer one is full.
    old: HashMap<Box<str>, Known>,
    /// Look-ups in flight: as many as there are connections at most.
    asked: HashMap<Box<str>, watch::Receiver<Option<Answer>>>,
}

struct Known {
    answer: Answer,
    until: Instant,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }
}

impl Resolver {
    /// Asks this instead of the system.
    pub fn new(look_up: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self { look_up: Arc::new(look_up), state: Arc::default() }
    }

    /// The addresses of `HOST`, both families, none twice; an answer is remembered for `kept`.
    pub async fn resolve(&self, host: &str, port: u16, kept: Duration) -> io::Result<Vec<SocketAddr>> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        // An address needs no resolver, and no thread for it.
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        // Names are the same in any case, and with the dot of the root behind them.
        let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        let mut asked = match self.known_or_asked(&name, kept) {
            Ok(answer) => return answered(&answer, port),
            Err(asked) => asked,
        };
        let answer = match asked.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone(),
            // The thread that asked has come to its end before the answer.
            Err(_) => None,
        };
        let answer = answer.ok_or(io::ErrorKind::Interrupted)?;
        answered(&answer, port)
    }

    /// What is known, or where the answer will come.
    fn known_or_asked(&self, name: &str, kept: Duration) -> Result<Answer, watch::Receiver<Option<Answer>>> {
        let mut state = lock(&self.state);
        if let Some(answer) = state.known(name, Instant::now()) {
            return Ok(answer);
        }
        // A sender that is gone without an answer was one whose runtime has ended: somebody asks anew.
        if let Some(asked) = state.asked.get(name).filter(|asked| asked.has_changed().is_ok()) {
            return Err(asked.clone());
        }
        let (tell, asked) = watch::channel(None);
        state.asked.insert(name.into(), asked.clone());
        let (look_up, shared, name) = (Arc::clone(&self.look_up), Arc::clone(&self.state), name.to_owned());
        // It comes to its end even if who asked has gone: the next one will want to know as well.
        tokio::task::spawn_blocking(move || {
            let answer = ask(&*look_up, &name);
            lock(&shared).learn(&name, answer.clone(), kept, Instant::now());
            tell.send_replace(Some(answer));
        });
        Err(asked)
    }
}

impl State {
    fn known(&mut self, name: &str, now: Instant) -> Option<Answer> {
        let known = self.fresh.get(name).or_else(|| self.old.get(name))?;
        (now < known.until).then(|| known.answer.clone())
    }

    fn learn(&mut self, name: &str, answer: Answer, kept: Duration, now: Instant) {
        self.asked.remove(name);
        if self.fresh.len() >= NAMES_MAX {
            self.old = std::mem::take(&mut self.fresh);
        }
        let kept = if answer.is_ok() { kept } else { kept.min(FAILURE_KEPT) };
        self.fresh.insert(name.into(), Known { answer, until: now + kept });
    }
}

fn ask(look_up: &LookUp, name: &str) -> Answer {
    let failed = |e: io::Error| Failed { kind: e.kind(), words: e.to_string().into() };
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in look_up(name).map_err(failed)? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err(failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address"))),
        false => Ok(addresses.into()),
    }
}

fn answered(answer: &Answer, port: u16) -> io::Result<Vec<SocketAddr>> {
    match answer {
        Ok(addresses) => Ok(addresses.iter().map(|address| SocketAddr::new(*address, port)).collect()),
        Err(failed) => Err(io::Error::new(failed.kind, failed.words.as_ref())),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // What is remembered stays true even if a thread died with the lock.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    const KEPT: Duration = Duration::from_secs(3600);

    /// Counts how often it is asked; `a.example` is there, nothing else is.
    fn counting() -> (Resolver, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let resolver = Resolver::new(move |name| {
            counted.fetch_add(1, Ordering::SeqCst);
            match name {
                "a.example" => {
                    Ok(["2001:db8::1", "192.0.2.1", "192.0.2.1"].map(|a| a.parse().unwrap()).to_vec())
                }
                "empty.example" => Ok(Vec::new()),
                _ => Err(io::Error::other("no such name")),
            }
        });
        (resolver, count)
    }

    #[tokio::test]
    async fn a_name_is_asked_for_once_and_an_address_never() {
        let (resolver, count) = counting();
        for (host, expected, asked) in [
            ("192.0.2.9", Some("192.0.2.9:80"), 0),
            ("[2001:db8::9]", Some("[2001:db8::9]:80"), 0),
            ("2001:db8::9", Some("[2001:db8::9]:80"), 0),
            ("a.example", Some("[2001:db8::1]:80 192.0.2.1:80"), 1),
            ("A.Example.", Some("[2001:db8::1]:80 192.0.2.1:80"), 1),
            ("b.example", None, 2),
            ("b.example", None, 2),
            ("empty.example", None, 3),
        ] {
            let answer = resolver.resolve(host, 80, KEPT).await;
            let shown =
                answer.ok().map(|all| all.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" "));
            assert_eq!(shown.as_deref(), expected, "{host}");
            assert_eq!(count.load(Ordering::SeqCst), asked, "{host}");
        }
        let again = resolver.resolve("b.example", 80, KEPT).await.unwrap_err();
        assert_eq!(again.to_string(), "no such name", "the reason is remembered, too");
    }

    #[tokio::test]
    async fn many_wait_for_one_look_up_and_who_leaves_does_not_end_it() {
        let (go, gone) = mpsc::channel::<()>();
        let (gone, count) = (Mutex::new(gone), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        let resolver = Arc::new(Resolver::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = gone.lock().unwrap().recv();
            Ok(vec!["192.0.2.1".parse().unwrap()])
        }));
        let waiting: Vec<_> = (0..9)
            .map(|_| {
                let resolver = Arc::clone(&resolver);
                tokio::spawn(
                    async move { resolver.resolve("a.example", 80, KEPT).await.map(|all| all.len()) },
                )
            })
            .collect();
        tokio::task::yield_now().await;
        waiting[0].abort();
        go.send(()).unwrap();
        for one in waiting.into_iter().skip(1) {
            assert_eq!(one.await.unwrap().unwrap(), 1);
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_is_remembered_has_an_end_and_a_bound() {
        let (mut state, now) = (State::default(), Instant::now());
        let good: Answer = Ok(Arc::from(["192.0.2.1".parse().unwrap()]));
        let bad: Answer = Err(Failed { kind: io::ErrorKind::Other, words: "no".into() });
        state.learn("good", good.clone(), KEPT, now);
        state.learn("bad", bad, KEPT, now);
        assert!(state.known("good", now + KEPT - Duration::from_secs(1)).is_some());
        assert!(state.known("good", now + KEPT).is_none());
        assert!(state.known("bad", now + FAILURE_KEPT).is_none());
        for number in 0..5 * NAMES_MAX {
            state.learn(&number.to_string(), good.clone(), KEPT, now);
            assert!(state.known(&number.to_string(), now).is_some());
        }
        assert!(state.fresh.len() + state.old.len() <= 2 * NAMES_MAX);
        assert!(state.known("good", now).is_none(), "the oldest are forgotten");
    }
}
