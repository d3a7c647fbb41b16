//! Connections to servers between two requests: one [`Pool`] for each thread, shared by its clients. Rule: what a server
//! has said of one client, or knows of it, no other client gets.
//!
//! The one put back last is taken first: the others grow old and are closed. What is bound to a client (its own address,
//! a login that is the connection's) stays with it and does not come here.

use super::origin::Origin;
use crate::shared::Gate;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often idle connections are looked at: one that the server has closed takes up a socket for so long at most.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

thread_local! {
    static POOL: RefCell<Pool<Idle>> = RefCell::default();
}

/// Where a connection leads, and by whose settings it was made.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    gate: usize,
    host: String,
    port: u16,
}

struct Idle {
    origin: Box<Origin>,
    /// As long as it is kept, its address names no other gate.
    _gate: Arc<Gate>,
}

impl Key {
    /// Of a host, as it is reached from a listener.
    pub fn new(gate: &Arc<Gate>, host: &str, port: u16) -> Self {
        Self { gate: Arc::as_ptr(gate).addr(), host: host.to_ascii_lowercase(), port }
    }
}

/// Takes the connection that was put back last, if `fits` has nothing against it.
pub fn take(
    gate: &Arc<Gate>,
    host: &str,
    port: u16,
    fits: impl Fn(&mut Origin) -> bool,
) -> Option<Box<Origin>> {
    let key = Key::new(gate, host, port);
    POOL.with_borrow_mut(|pool| pool.take(&key, |idle| fits(&mut idle.origin))).map(|idle| idle.origin)
}

/// Keeps a connection for whoever comes next, for `patience`; of more than `idle_max` none.
pub fn put(gate: &Arc<Gate>, origin: Box<Origin>, patience: Duration, idle_max: usize) {
    let key = Key::new(gate, origin.host(), origin.port());
    let idle = Idle { origin, _gate: Arc::clone(gate) };
    let is_first = POOL.with_borrow_mut(|pool| {
        let was_empty = pool.count == 0;
        pool.put(key, idle, Instant::now() + patience, idle_max);
        let begins = was_empty && pool.count > 0 && !pool.is_swept;
        pool.is_swept |= begins;
        begins
    });
    if is_first {
        tokio::task::spawn_local(sweep());
    }
}

/// Closes what has grown old or was closed by the server, until nothing is left.
async fn sweep() {
    loop {
        sleep(SWEEP_INTERVAL).await;
        let is_empty = POOL.with_borrow_mut(|pool| {
            pool.sweep(Instant::now(), |idle| idle.origin.is_at_rest());
            pool.is_swept = pool.count > 0;
            !pool.is_swept
        });
        if is_empty {
            return;
        }
    }
}

/// Things kept by where they lead, each for its time.
struct Pool<T> {
    by_key: HashMap<Key, Vec<(T, Instant)>>,
    count: usize,
    /// Whether somebody looks at them from time to time.
    is_swept: bool,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), count: 0, is_swept: false }
    }
}

impl<T> Pool<T> {
    fn take(&mut self, key: &Key, fits: impl Fn(&mut T) -> bool) -> Option<T> {
        let all = self.by_key.get_mut(key)?;
        let mut found = None;
        // What does not fit this client may fit the next; what is closed, the sweep finds.
        for at in (0..all.len()).rev() {
            if fits(&mut all[at].0) {
                found = Some(all.remove(at).0);
                break;
            }
        }
        let is_empty = all.is_empty();
        self.count -= usize::from(found.is_some());
        if is_empty {
            self.by_key.remove(key);
        }
        found
    }

    fn put(&mut self, key: Key, item: T, until: Instant, count_max: usize) {
        if self.count < count_max {
            self.by_key.entry(key).or_default().push((item, until));
            self.count += 1;
        }
    }

    fn sweep(&mut self, now: Instant, mut is_fit: impl FnMut(&mut T) -> bool) {
        self.by_key.retain(|_, all| {
            all.retain_mut(|(item, until)| now < *until && is_fit(item));
            !all.is_empty()
        });
        self.count = self.by_key.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(host: &str) -> Key {
        Key { gate: 1, host: host.to_owned(), port: 80 }
    }

    #[test]
    fn the_newest_is_taken_first_and_the_oldest_grow_old() {
        let (mut pool, start) = (Pool::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        for (item, host, until) in [(1, "a", 5), (2, "a", 6), (3, "b", 5), (4, "a", 7), (5, "a", 9)] {
            pool.put(key(host), item, later(until), 4);
        }
        assert_eq!(pool.count, 4, "there is no room for more");
        assert_eq!(pool.take(&key("a"), |_| true), Some(4));
        assert_eq!(pool.take(&key("a"), |item| *item < 2), Some(1), "what does not fit is passed over");
        assert_eq!(pool.take(&key("c"), |_| true), None);
        pool.sweep(later(5), |_| true);
        assert_eq!((pool.count, pool.take(&key("b"), |_| true)), (1, None));
        pool.sweep(later(5), |_| false);
        assert_eq!((pool.count, pool.by_key.len()), (0, 0));
    }
}
