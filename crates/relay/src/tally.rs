//! Who is there how often: [`Tally`]. Rule: a place is taken before work begins and given back by being dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places taken, by key.
#[derive(Debug)]
pub struct Tally<K: Hash + Eq + Clone> {
    places: Mutex<Places<K>>,
}

#[derive(Debug)]
struct Places<K> {
    all: usize,
    by_key: HashMap<K, usize>,
}

impl<K: Hash + Eq + Clone> Default for Tally<K> {
    fn default() -> Self {
        Self { places: Mutex::new(Places { all: 0, by_key: HashMap::new() }) }
    }
}

impl<K: Hash + Eq + Clone> Tally<K> {
    /// Takes a place, or says that the key has `key_max` or all together have `all_max` already.
    pub fn enter(self: &Arc<Self>, key: K, key_max: usize, all_max: usize) -> Result<Place<K>, Full> {
        let mut places = self.lock();
        if places.all >= all_max {
            return Err(Full::All);
        }
        let taken = places.by_key.get(&key).copied().unwrap_or(0);
        if taken >= key_max {
            return Err(Full::Key);
        }
        places.by_key.insert(key.clone(), taken + 1);
        places.all += 1;
        Ok(Place { tally: Arc::clone(self), key })
    }

    /// How many places are taken in all.
    pub fn taken(&self) -> usize {
        self.lock().all
    }

    fn leave(&self, key: &K) {
        let mut places = self.lock();
        places.all = places.all.saturating_sub(1);
        if let Some(taken) = places.by_key.get_mut(key) {
            *taken -= 1;
            if *taken == 0 {
                places.by_key.remove(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places<K>> {
        // Counts stay true even if a thread died with the lock: nothing here can panic half way.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which limit is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// That of the key.
    Key,
    /// That of all keys together.
    All,
}

/// A place taken.
#[derive(Debug)]
pub struct Place<K: Hash + Eq + Clone> {
    tally: Arc<Tally<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        self.tally.leave(&self.key);
    }
}

/// What counts as one client: an IPv4 address, or an IPv6 /64, since one host has all of that.
pub fn client_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_given_back() {
        let tally: Arc<Tally<IpAddr>> = Arc::default();
        let key = |text: &str| client_key(text.parse().unwrap());
        let first = tally.enter(key("2001:db8::1"), 2, 3).unwrap();
        let _second = tally.enter(key("2001:db8::ffff:2"), 2, 3).unwrap();
        assert_eq!(tally.enter(key("2001:db8::3"), 2, 3).unwrap_err(), Full::Key);
        let _third = tally.enter(key("192.0.2.1"), 2, 3).unwrap();
        assert_eq!(tally.enter(key("::ffff:192.0.2.1"), 2, 3).unwrap_err(), Full::All);
        drop(first);
        assert_eq!(tally.taken(), 2);
        let _fourth = tally.enter(key("::ffff:192.0.2.1"), 2, 3).unwrap();
        assert_eq!(tally.enter(key("192.0.2.1"), 2, 9).unwrap_err(), Full::Key);
    }
}
