//! A directory for one test. Rule: it goes away with its value.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as expected")]

use std::path::{Path, PathBuf};

/// An empty directory of its own.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; the name must be the test's own.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lockgate-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
