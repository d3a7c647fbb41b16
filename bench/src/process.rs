//! What a process and its children cost: processor time, resident memory, bytes written. Rule: the kernel's own figures.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A snapshot of a process tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor time so far, in milliseconds, of the processes that live and of children that were waited for.
    pub processor_ms: f64,
    /// Resident memory, shared pages counted once for each process.
    pub resident_bytes: u64,
    /// Bytes handed to the block layer so far.
    pub written_bytes: u64,
}

/// What a command cost and said that has ended.
pub struct Finished {
    /// Processor seconds.
    pub seconds: f64,
    /// Those of them that were its threads' besides the first, up to when it was last watched.
    pub seconds_of_threads: f64,
    /// How long it took by the clock.
    pub elapsed: Duration,
    /// The most memory that was ever resident.
    pub resident_bytes: u64,
    /// What it said.
    pub output: String,
}

/// How often a running command is asked what it has taken.
const WATCH_EVERY: Duration = Duration::from_millis(5);

/// Runs a command to its end.
///
/// # Errors
///
/// Where it cannot be started.
pub fn finish(command: &mut Command) -> io::Result<Finished> {
    let output = std::env::temp_dir().join(format!("lockgate-bench-{}.out", std::process::id()));
    command.stdin(Stdio::null()).stdout(fs::File::create(&output)?).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let (seconds, watched) = wait(&mut child)?;
    Ok(Finished {
        seconds,
        seconds_of_threads: watched.threads.values().sum::<f64>() / 1e9,
        elapsed: began.elapsed(),
        resident_bytes: watched.resident_bytes,
        output: fs::read_to_string(output)?,
    })
}

/// What the kernel does not tell of a command that has ended, so it is asked for it while that runs.
#[derive(Default)]
struct Watched {
    /// The most memory that was resident. What the kernel accounts at the end is no less than what this program has.
    resident_bytes: u64,
    /// Nanoseconds on a processor of each thread besides the first, by its number.
    threads: HashMap<u32, f64>,
}

impl Watched {
    fn look(&mut self, pid: u32) {
        self.resident_bytes = self.resident_bytes.max(resident_peak_bytes(pid));
        self.threads.extend(nanos_of_threads(pid).filter(|(thread, _)| *thread != pid));
    }
}

/// Processor seconds of a child until it has ended, as the kernel accounts them, and what was seen before.
fn wait(child: &mut Child) -> io::Result<(f64, Watched)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let mut watched = Watched::default();
    loop {
        watched.look(child.id());
        // SAFETY: the kernel writes one rusage there and nothing else; all of its bytes were zero, which is a valid one.
        let (waited, usage) = unsafe {
            let pid = child.id() as libc::pid_t;
            let waited = libc::wait4(pid, std::ptr::null_mut(), libc::WNOHANG, usage.as_mut_ptr());
            (waited, usage.assume_init())
        };
        if waited < 0 {
            return Err(io::Error::last_os_error());
        }
        if waited > 0 {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            return Ok((seconds(usage.ru_utime) + seconds(usage.ru_stime), watched));
        }
        std::thread::sleep(WATCH_EVERY);
    }
}

/// The usage of these processes and all their descendants.
pub fn usage_of(roots: &[u32]) -> Usage {
    let tree = descendants(roots);
    let mut usage = Usage::default();
    // SAFETY: sysconf only reads a constant of the system.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    for pid in tree {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
        // Fields 14 to 17 of proc(5): utime, stime, cutime, cstime; the third stands first here.
        let ticks: f64 = fields.iter().skip(11).take(4).filter_map(|f| f.parse::<f64>().ok()).sum();
        usage.processor_ms += ticks * 1000.0 / ticks_per_second;
        usage.resident_bytes += status_kib(pid, "VmRSS:") * 1024;
        usage.written_bytes += io_bytes(pid, "write_bytes:");
    }
    usage
}

/// Processor time of one process in milliseconds, to the nanosecond, with that of threads that have ended.
pub fn exact_processor_ms(pid: u32) -> f64 {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: each call writes the one value that it is given.
    let is_told = unsafe {
        libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    if is_told { time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6 } else { 0.0 }
}

/// The number of each thread of a process, and its nanoseconds on a processor.
fn nanos_of_threads(pid: u32) -> impl Iterator<Item = (u32, f64)> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanos = text.split_whitespace().next()?.parse().ok()?;
        Some((thread.file_name().to_str()?.parse().ok()?, nanos))
    })
}

/// Resident memory of one process.
pub fn resident_bytes(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:") * 1024
}

/// The most that was ever resident of one process.
pub fn resident_peak_bytes(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:") * 1024
}

/// Memory that the kernel holds for TCP sockets, of the whole machine.
pub fn tcp_socket_bytes() -> u64 {
    let text = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let pages = text.lines().find(|l| l.starts_with("TCP:")).and_then(|l| l.split("mem ").nth(1));
    pages.and_then(|p| p.trim().parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn descendants(roots: &[u32]) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        children.entry(parent.unwrap_or(0)).or_default().push(pid);
    }
    let mut tree = roots.to_vec();
    let mut at = 0;
    while at < tree.len() {
        tree.extend(children.get(&tree[at]).into_iter().flatten());
        at += 1;
    }
    tree
}

fn status_kib(pid: u32, key: &str) -> u64 {
    value_of(&format!("/proc/{pid}/status"), key)
}

fn io_bytes(pid: u32, key: &str) -> u64 {
    value_of(&format!("/proc/{pid}/io"), key)
}

fn value_of(path: &str, key: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
