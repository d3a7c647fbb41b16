//! Local delivery: [`Maildir`]. Rule: a mail is in `new/` and on the disk before it is acknowledged, or nowhere.
//!
//! Format: <https://cr.yp.to/proto/maildir.html>.

use lockgate_inspect::Released;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A directory with `tmp`, `new` and `cur`.
#[derive(Clone, Debug)]
pub struct Maildir {
    path: PathBuf,
    hostname: String,
}

/// Deliveries of this process so far: the part of a mail's name that no other of this process has.
static DELIVERIES: AtomicU64 = AtomicU64::new(0);

impl Maildir {
    /// The maildir there, made if it is missing.
    pub fn open(path: &Path, hostname: &str) -> io::Result<Self> {
        for room in ["tmp", "new", "cur"] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path.join(room))?;
        }
        // A file name holds no slash, and the colon begins a mail's flags.
        let hostname = hostname.replace('/', "\\057").replace(':', "\\072");
        Ok(Self { path: path.to_owned(), hostname })
    }

    /// Begins a delivery.
    pub fn begin(&self) -> io::Result<Delivery> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!(
            "{}.M{:06}P{}Q{}.{}",
            since.as_secs(),
            since.subsec_micros(),
            std::process::id(),
            DELIVERIES.fetch_add(1, Ordering::Relaxed),
            self.hostname
        );
        let tmp = self.path.join("tmp").join(&name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&tmp)?;
        Ok(Delivery { file, tmp, new: self.path.join("new"), name, bytes: 0 })
    }
}

/// A mail on its way into a maildir; dropped before [`Delivery::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Delivery {
    file: File,
    tmp: PathBuf,
    new: PathBuf,
    name: String,
    bytes: u64,
}

impl Delivery {
    /// Writes header fields of our own.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes content that the hold has let go.
    pub fn write_released(&mut self, released: &Released<'_>) -> io::Result<()> {
        released.slices().try_for_each(|slice| self.write(slice))
    }

    /// Makes it last; once this is `Ok`, the mail is delivered. The disk is waited for on a thread of its own.
    pub async fn commit(self) -> io::Result<()> {
        tokio::task::spawn_blocking(move || self.commit_now()).await.map_err(io::Error::other)?
    }

    fn commit_now(self) -> io::Result<()> {
        self.file.sync_all()?;
        // Dovecot reads the size from the name instead of asking the disk.
        let new = self.new.join(format!("{},S={}", self.name, self.bytes));
        fs::rename(&self.tmp, &new)?;
        let lasting = File::open(&self.new).and_then(|directory| directory.sync_all());
        if lasting.is_err() {
            // It is not known to last, so the client is told to come again, and finds no first copy then.
            let _ = fs::remove_file(&new);
        }
        lasting
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        // After a commit the name is gone already.
        let _ = fs::remove_file(&self.tmp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<PathBuf> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[tokio::test]
    async fn a_mail_is_delivered_whole_or_leaves_nothing() {
        let path = std::env::temp_dir().join(format!("lockgate-maildir-{}", std::process::id()));
        let maildir = Maildir::open(&path, "mx/1:2").unwrap();
        let mut dropped = maildir.begin().unwrap();
        dropped.write(b"half a mail").unwrap();
        assert_eq!(names(&path.join("tmp")).len(), 1);
        drop(dropped);
        let mut first = maildir.begin().unwrap();
        let mut second = maildir.begin().unwrap();
        first.write(b"one\r\n").unwrap();
        second.write(b"two").unwrap();
        second.write(b"\r\n").unwrap();
        first.commit().await.unwrap();
        second.commit().await.unwrap();
        assert!(names(&path.join("tmp")).is_empty());
        let mut mails: Vec<_> = names(&path.join("new")).iter().map(|name| fs::read(name).unwrap()).collect();
        mails.sort();
        assert_eq!(mails, [b"one\r\n", b"two\r\n"]);
        assert!(names(&path.join("new"))[0].to_str().unwrap().ends_with(".mx\\0571\\0722,S=5"));
        fs::remove_dir_all(&path).unwrap();
    }

    /// `/dev/full` takes the place of a full disk.
    #[test]
    fn a_full_disk_is_an_error_at_the_write() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let path = std::env::temp_dir().join("lockgate-never-there");
        let mut delivery = Delivery { file, tmp: path.clone(), new: path, name: String::new(), bytes: 0 };
        let failed = delivery.write(b"x").unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
    }
}
