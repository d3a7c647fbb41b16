//! What a process and its children cost: processor time, resident memory, bytes written. Rule: the kernel's own figures.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    /// The most memory that was ever resident.
    pub resident_bytes: u64,
    /// What it said.
    pub output: String,
}

/// How often a running command is asked how much memory it has taken.
const WATCH_EVERY: Duration = Duration::from_millis(5);

/// Runs a command to its end.
///
/// # Errors
///
/// Where it cannot be started.
pub fn finish(command: &mut Command) -> io::Result<Finished> {
    let output = std::env::temp_dir().join(format!("lockgate-bench-{}.out", std::process::id()));
    command.stdin(Stdio::null()).stdout(fs::File::create(&output)?).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (seconds, resident_bytes) = wait(&mut child)?;
    Ok(Finished { seconds, resident_bytes, output: fs::read_to_string(output)? })
}

/// Processor seconds of a child until it has ended, as the kernel accounts them, and the most memory that was resident. What the
/// kernel accounts of memory at the end is no less than what this program has, so the child is asked while it runs.
fn wait(child: &mut Child) -> io::Result<(f64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let mut resident = 0;
    loop {
        resident = resident.max(resident_peak_bytes(child.id()));
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
            return Ok((seconds(usage.ru_utime) + seconds(usage.ru_stime), resident));
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

/// Processor time of one process's threads in milliseconds, to the nanosecond, as the scheduler accounts it.
pub fn exact_processor_ms(pid: u32) -> f64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let nanos = |task: fs::DirEntry| -> Option<f64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    tasks.flatten().filter_map(nanos).sum::<f64>() / 1e6
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
