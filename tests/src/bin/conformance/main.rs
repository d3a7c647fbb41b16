//! What needs data from outside the tree: `conformance DIR [SET]`. Rule: a set that is not there is said to be missing, never passed.

mod archives;
mod broken_mime;
mod clamav;
mod clamav_files;
mod generated_traffic;
mod http_evader;
mod http_raw;
mod ids_captures;
mod library_messages;
mod pcre2;
mod pe_allmatch;
mod random;
mod sentence;
mod suricata;
mod suricata_verify;
mod web_lines;
mod web_lists;
mod web_phrases;
mod web_rules;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use lockgate_tests::gateway::binary;
use lockgate_tests::temporary::Directory;
use lockgate_tests::{mail, wait};

const SCAN_TIME_MAX: Duration = Duration::from_secs(5);
const SCAN_MEMORY_KIB_MAX: u64 = 256 << 10;

/// Checks a set and says what is wrong.
type Check = fn(&Path) -> Vec<String>;

fn main() -> ExitCode {
    let Some(data) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("conformance DIR [SET]");
        return ExitCode::from(2);
    };
    let sets: &[(&str, &str, Check)] = &[
        ("clamav-dbs", "clamav-dbs", databases),
        ("clamav", "clamav-dbs", clamav::check),
        ("clamav-files", "clamav-dbs", clamav_files::check),
        ("clamav-testfiles", "clamav-testfiles", test_files),
        ("pe-allmatch", "clamav-testfiles", pe_allmatch::check),
        ("zipbombs", "zipbombs", bombs),
        ("archives", "archives", bounded),
        ("archive-members", "archives", archives::check),
        ("mime-is-broken", "mime-is-broken", broken_mime::check),
        ("mime", "mime", library_messages::check),
        ("spam-ambiguity", "spamassassin-public-corpus", broken_mime::clean_mails),
        ("http-evader", "http-evader", http_evader::check),
        ("http-raw", "http-raw", http_raw::check),
        ("pcre2", "pcre2-testdata", pcre2::check),
        ("generated-traffic", "et-open-2025", generated_traffic::check),
        ("ids-captures", "et-open-2025", ids_captures::check),
        ("suricata-verify", "suricata-verify", suricata_verify::check),
        ("web-lists", "web-lists", web_lists::check),
        ("web-phrases", "web-lists", web_phrases::check),
    ];
    let only = std::env::args().nth(2);
    let (mut passed, mut failed, mut missing) = (0, 0, 0);
    let is_asked = |(name, ..): &&(&str, &str, Check)| only.as_deref().is_none_or(|only| only == *name);
    for &(name, directory, check) in sets.iter().filter(is_asked) {
        // Some sets lie one directory further down.
        let below =
            fs::read_dir(&data).into_iter().flatten().flatten().map(|entry| entry.path().join(directory));
        let place = std::iter::once(data.join(directory)).chain(below).find(|path| path.is_dir());
        let Some(directory) = place else {
            println!("{name}: MISSING, nothing was checked");
            missing += 1;
            continue;
        };
        let wrong = check(&directory);
        for line in &wrong {
            println!("{name}: {line}");
        }
        *if wrong.is_empty() { &mut passed } else { &mut failed } += 1;
    }
    println!("{passed} passed, {failed} failed, {missing} skipped");
    ExitCode::from(u8::from(failed > 0 || passed == 0))
}

/// What `lockgate scan` came to.
struct Scanned {
    status: i32,
    lines: Vec<String>,
    time: Duration,
    memory_kib: u64,
}

fn scan(database: &Path, path: &Path) -> Scanned {
    let started = Instant::now();
    let mut command = Command::new(binary());
    command.args(["scan", "--json", "--database"]).arg(database).arg(path);
    let output = Directory::new("scan");
    let lines = output.write("lines", "");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command
        .stdout(fs::File::create(&lines).expect("a file can be written"))
        .spawn()
        .expect("the binary was built");
    let mut memory_kib = 0;
    let ended = wait::within(Duration::from_secs(120), || {
        memory_kib = memory_kib.max(resident_peak_kib(child.id()).unwrap_or(0));
        child.try_wait().expect("it is our child")
    });
    let status = ended.and_then(|status| status.code()).unwrap_or(-1);
    let _ = child.kill();
    let text = fs::read_to_string(lines).unwrap_or_default();
    Scanned { status, lines: text.lines().map(str::to_owned).collect(), time: started.elapsed(), memory_kib }
}

fn resident_peak_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Every database is loaded, or its lines are listed as not understood.
fn databases(directory: &Path) -> Vec<String> {
    let place = Directory::new("check");
    let configuration = format!("[antivirus]\ndatabases = [\"{}\"]\n", directory.display());
    let file = place.write("lockgate.toml", configuration);
    let output = Command::new(binary()).arg("check").arg("--config").arg(file).output();
    let output = output.expect("the binary was built");
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    match output.status.code() {
        // 2 says that some lines were not understood: they are listed.
        Some(0 | 2) => Vec::new(),
        other => vec![format!("lockgate check ended with {other:?}")],
    }
}

/// What no decoder is for: packers of programs, and installers of a make of their own.
const UNPACKED: [&str; 14] = [
    "clam-aspack",
    "clam-fsg",
    "clam-mew",
    "clam-nsis",
    "clam-pespin",
    "clam-petite",
    "clam-upack",
    "clam-upx",
    "clam-wwpack",
    "clam-yc",
    "clam.ea0",
    "clam.sis",
    "clam_IS",
    "clam_ISmsi",
];

/// Each of ClamAV's files that its one signature is for is found, in whatever it is packed, but for what packs programs.
fn test_files(directory: &Path) -> Vec<String> {
    let Some(database) = files_below(directory).into_iter().find(|path| path.ends_with("clamav.hdb")) else {
        return vec![String::from("no clamav.hdb")];
    };
    let (mut asked, mut found, mut wrong) = (0, 0, Vec::new());
    let files = files_below(directory);
    for path in files.iter().filter(|path| path.to_string_lossy().contains("/deb-")) {
        let scanned = scan(&database, path);
        let name = name_of(path);
        let is_asked = !UNPACKED.iter().any(|packer| name.starts_with(packer));
        asked += u32::from(is_asked);
        match scanned.status {
            1 => {
                found += u32::from(is_asked);
                let parts = scanned.lines.join(" ");
                let part = parts.split("\"part\":\"").nth(1).and_then(|rest| rest.split('"').next());
                println!("clamav-testfiles: {name}: found in {}", part.unwrap_or("?"));
            }
            0 if is_asked => wrong.push(format!("{name}: {}", scanned.lines.join(" "))),
            0 => println!("clamav-testfiles: {name}: not asked, not found"),
            other => wrong.push(format!("{name}: exit status {other}")),
        }
    }
    println!("clamav-testfiles: {found} found of {asked} asked");
    wrong
}

/// What grows without end is said to be too much, and costs no more than other files.
fn bombs(directory: &Path) -> Vec<String> {
    let mut wrong = bounded(directory);
    let place = Directory::new("database");
    let database = place.write("test.ndb", mail::eicar_database());
    for path in files_below(directory).iter().filter(|path| path.extension().is_some_and(|end| end == "zip"))
    {
        let lines = scan(&database, path).lines.join(" ");
        if !lines.contains("\"reason\"") {
            wrong.push(format!("{}: not said to be incomplete: {lines}", name_of(path)));
        }
    }
    wrong
}

/// No file costs more than it may, and none ends the process.
fn bounded(directory: &Path) -> Vec<String> {
    let place = Directory::new("database");
    let database = place.write("test.ndb", mail::eicar_database());
    let mut wrong = Vec::new();
    let files = files_below(directory);
    let (mut slowest, mut largest) = (Duration::ZERO, 0);
    for path in &files {
        let scanned = scan(&database, path);
        if !matches!(scanned.status, 0 | 1) {
            wrong.push(format!("{}: exit status {}", path.display(), scanned.status));
        }
        if scanned.time > SCAN_TIME_MAX || scanned.memory_kib > SCAN_MEMORY_KIB_MAX {
            wrong.push(format!("{}: {:?}, {} KiB", path.display(), scanned.time, scanned.memory_kib));
        }
        slowest = slowest.max(scanned.time);
        largest = largest.max(scanned.memory_kib);
    }
    println!("{}: {} files, at most {slowest:?} and {largest} KiB each", name_of(directory), files.len());
    wrong
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Chance by seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}
