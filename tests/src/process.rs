//! A process of a test's own. Rule: it ends with the test, with whatever it started.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use crate::wait;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts it in a process group of its own; what it prints goes to `log`.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::create(log).expect("a log can be written");
        let both = file.try_clone().expect("a descriptor can be had twice");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(both).process_group(0).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, log: log.to_owned() }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed up to now.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits until it has printed a line that holds these words.
    pub fn until_printed(&self, words: &str) -> String {
        let what = format!("{words:?} in {}", self.log.display());
        wait::until(&what, || self.printed().lines().find(|line| line.contains(words)).map(str::to_owned))
    }

    /// Sends a signal by name, such as `HUP`, to it alone.
    pub fn signal(&self, name: &str) {
        run(Command::new("kill").args(["-s", name, "--", &self.id().to_string()]));
    }

    /// Whether it runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Waits until it has ended by itself.
    pub fn until_ended(&mut self) -> ExitStatus {
        wait::until("the process does not end", || self.child.try_wait().expect("it is our child"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {} ---\n{}", self.log.display(), self.printed());
        }
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", "TERM", "--", &group]).stderr(Stdio::null()).status();
        if wait::within(std::time::Duration::from_secs(2), || self.child.try_wait().ok().flatten()).is_none()
        {
            let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        }
        let _ = self.child.wait();
        // What it started may be slower to go than itself.
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
    }
}

/// Runs a command that must succeed, and returns what it printed.
pub fn run(command: &mut Command) -> String {
    let output = outcome(command);
    let printed = printed_by(&output);
    assert!(output.status.success(), "{command:?}: {}\n{printed}", output.status);
    printed
}

/// Runs a command to its end, whatever that is.
pub fn outcome(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What a command printed, on either stream.
pub fn printed_by(output: &Output) -> String {
    [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat()
}
