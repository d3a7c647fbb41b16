//! A directory that lives as long as its test. Rule: every file of a test is below one of these.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Removed when it is dropped, unless the test fails: then it is evidence.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// A new, empty one that every user may enter: Postfix and Dovecot run as users of their own.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockgate-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory can be made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file below it and returns its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("a directory can be made");
        }
        fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("left for inspection: {}", self.path.display());
        } else {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The files of a maildir that were delivered, oldest first.
pub fn delivered(maildir: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(maildir.join("new"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}
