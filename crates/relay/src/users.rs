//! Who may use a proxy: [`Users`], a file of names and hashed passwords. Rule: no password is kept, none is compared in a time
//! that tells of it, and no core is held up by one.

mod hashed;

use crate::tally::client_key;
use hashed::Hashed;
use ring::hmac;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The longest password that is looked at, in bytes: some hashes take longer for a longer one.
const PASSWORD_BYTES_MAX: usize = 256;
/// How many clients can have a password hashed beside one another: each waits for a place with one of his at a time, so that
/// whoever tries thousands keeps nobody else waiting for thousands.
const LANES: usize = 64;
/// How many proofs, and how many failures, are remembered at least.
const REMEMBERED: usize = 2048;

/// The users of a listener.
pub struct Users {
    entries: HashMap<Arc<str>, Hashed>,
    /// For who is not among them, so that it takes as long to say no.
    decoy: Hashed,
    /// What is remembered is remembered under a key of this process: no password can be had from it.
    key: hmac::Key,
    right: Mutex<Recent>,
    wrong: Mutex<Recent>,
    /// How many passwords are hashed at once: the other cores go on serving.
    places: Semaphore,
    /// One for the passwords of each client, or of a few.
    lanes: Vec<tokio::sync::Mutex<()>>,
    lane_of: RandomState,
}

/// Why a file of users cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct UsersError {
    path: PathBuf,
    /// From 1; 0 for the file as a whole.
    line: usize,
    reason: String,
}

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.reason),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.reason),
        }
    }
}

impl std::error::Error for UsersError {}

impl Users {
    /// Reads a file as `htpasswd` writes it: `NAME:HASH` in each line, and comments behind `#`.
    pub fn read(path: &Path) -> Result<Self, UsersError> {
        let bytes = std::fs::read(path).map_err(|error| UsersError {
            path: path.to_owned(),
            line: 0,
            reason: format!("cannot be read: {error}"),
        })?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, UsersError> {
        let mut entries: HashMap<Arc<str>, Hashed> = HashMap::new();
        let mut decoy = None;
        for (index, line) in bytes.split(|c| *c == b'\n').enumerate() {
            let wrong = |reason| UsersError { path: path.to_owned(), line: index + 1, reason };
            let line = std::str::from_utf8(line).map_err(|_| wrong("this is not UTF-8".to_owned()))?.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, rest) = line.split_once(':').ok_or_else(|| wrong("NAME:HASH is wanted".to_owned()))?;
            // Some programs keep more behind a further colon.
            let hash = rest.split(':').next().unwrap_or_default();
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(wrong("a name is wanted before the colon".to_owned()));
            }
            let hashed = Hashed::parse(hash).map_err(wrong)?;
            decoy.get_or_insert_with(|| hashed.clone());
            if entries.insert(name.into(), hashed).is_some() {
                return Err(wrong(format!("{name:?} stands above already: take one of the lines out")));
            }
        }
        let decoy = decoy.ok_or_else(|| UsersError {
            path: path.to_owned(),
            line: 0,
            reason: "there is no user in it, so nobody could use the proxy".to_owned(),
        })?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            entries,
            decoy,
            key: drawn_key(),
            right: Mutex::default(),
            wrong: Mutex::default(),
            places: Semaphore::new((cores / 2).max(1)),
            lanes: (0..LANES).map(|_| tokio::sync::Mutex::default()).collect(),
            lane_of: RandomState::new(),
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The user, if the password is his. Hashing is done on a thread of its own, once for each password.
    pub async fn prove(self: &Arc<Self>, client: IpAddr, name: &str, password: &[u8]) -> Option<Arc<str>> {
        if password.len() > PASSWORD_BYTES_MAX {
            return None;
        }
        let known = self.entries.get_key_value(name);
        let mark = self.mark(name, password);
        if let Some(answer) = self.remembered(&mark) {
            return known.filter(|_| answer).map(|(name, _)| Arc::clone(name));
        }
        let lane = self.lane_of.hash_one(client_key(client)) as usize % LANES;
        let _lane = self.lanes.get(lane)?.lock().await;
        let _place = self.places.acquire().await.ok()?;
        // Another connection may have asked the same meanwhile: browsers open several.
        let answer = match self.remembered(&mark) {
            Some(answer) => answer,
            None => {
                let hashed = known.map_or(&self.decoy, |(_, hashed)| hashed).clone();
                let password = password.to_vec();
                let is_right = spawn_blocking(move || hashed.is_of(&password)).await.unwrap_or(false);
                let answer = is_right && known.is_some();
                let recent = if answer { &self.right } else { &self.wrong };
                recent.lock().unwrap_or_else(PoisonError::into_inner).add(mark);
                answer
            }
        };
        known.filter(|_| answer).map(|(name, _)| Arc::clone(name))
    }

    fn remembered(&self, mark: &Mark) -> Option<bool> {
        let has = |recent: &Mutex<Recent>| recent.lock().unwrap_or_else(PoisonError::into_inner).has(mark);
        if has(&self.right) {
            return Some(true);
        }
        has(&self.wrong).then_some(false)
    }

    fn mark(&self, name: &str, password: &[u8]) -> Mark {
        let mut context = hmac::Context::with_key(&self.key);
        // No name has a colon in it.
        for piece in [name.as_bytes(), b":", password] {
            context.update(piece);
        }
        let mut mark = [0; 32];
        mark.copy_from_slice(context.sign().as_ref());
        mark
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Users({})", self.entries.len())
    }
}

/// A key that nobody knows, not even the next process.
pub(crate) fn drawn_key() -> hmac::Key {
    let chance = ring::rand::SystemRandom::new();
    // The kernel's chance does not fail once it is there; a key of zeros would be one that everybody knows.
    hmac::Key::generate(hmac::HMAC_SHA256, &chance).expect("the system has chance to give")
}

/// A name and password, beyond recognition.
type Mark = [u8; 32];

/// Marks seen of late, in two halves: when the younger one is full, the older one is forgotten.
#[derive(Default)]
struct Recent {
    young: std::collections::HashSet<Mark>,
    old: std::collections::HashSet<Mark>,
}

impl Recent {
    fn has(&self, mark: &Mark) -> bool {
        self.young.contains(mark) || self.old.contains(mark)
    }

    fn add(&mut self, mark: Mark) {
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# who may\n\nann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\r\nbob:$apr1$saltsalt$xxx";

    fn users(text: &str) -> Result<Users, String> {
        Users::parse(Path::new("users"), text.as_bytes()).map_err(|error| error.to_string())
    }

    fn proof(users: &Arc<Users>, name: &str, password: &str) -> Option<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let client = "192.0.2.1".parse().unwrap();
        runtime.block_on(users.prove(client, name, password.as_bytes())).map(|name| name.to_string())
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        let sha = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
        for (text, expected) in [
            (FILE.to_owned(), "users:4: "),
            ("ann\n".to_owned(), "users:1: NAME:HASH is wanted"),
            (format!(":{sha}\n"), "users:1: a name is wanted"),
            (format!("ann:{sha}\nann:{sha}\n"), "users:2: \"ann\" stands above already"),
            ("# nobody\n".to_owned(), "users: there is no user in it"),
            ("ann:secret\n".to_owned(), "users:1: "),
        ] {
            let error = users(&text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        assert!(Users::parse(Path::new("users"), b"ann:\xff\n").is_err());
        assert!(Users::read(Path::new("/nowhere/users")).unwrap_err().to_string().contains("cannot be read"));
    }

    #[test]
    fn who_knows_his_password_is_who_he_says() {
        let users = Arc::new(users("ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=:more\n").unwrap());
        assert_eq!(users.count(), 1);
        let long = "password".repeat(100);
        // The second time from memory.
        for _ in 0..2 {
            assert_eq!(proof(&users, "ann", "password").as_deref(), Some("ann"));
            for (name, password) in
                [("ann", "Password"), ("ann", ""), ("Ann", "password"), ("eve", "password"), ("ann", &long)]
            {
                assert_eq!(proof(&users, name, password), None, "{name} {password}");
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut recent = Recent::default();
        let mark = |n: usize| {
            let mut mark = [0; 32];
            mark[..8].copy_from_slice(&n.to_be_bytes());
            mark
        };
        (0..10 * REMEMBERED).for_each(|n| recent.add(mark(n)));
        assert!(recent.young.len() + recent.old.len() <= 2 * REMEMBERED);
        assert!(recent.has(&mark(10 * REMEMBERED - 1)) && !recent.has(&mark(0)));
    }
}
