//! From the start to the first answer: `lockgate serve` and clamd with the same databases. Rule: wall and processor time of one
//! process on a machine at rest, and its memory a moment later; the median of some starts.

use crate::gateway::binary;
use crate::peers::{clamd, local, stop};
use crate::process::{exact_processor_ms, resident_bytes, resident_peak_bytes};
use crate::report::Table;
use crate::signatures::Signatures;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each is started.
const STARTS: usize = 7;
/// How many random signatures are loaded where `BENCH_DATABASES` names none.
const SIGNATURES: usize = 42_108;
const PATIENCE: Duration = Duration::from_secs(240);

/// What one start cost.
#[derive(Clone, Copy)]
struct Start {
    wall_ms: f64,
    processor_ms: f64,
    resident_bytes: u64,
    peak_bytes: u64,
}

/// Prints all three.
pub fn run(directory: &Path) -> io::Result<()> {
    let home = directory.join("start");
    fs::create_dir_all(&home)?;
    let signatures = Signatures::named_or_random(SIGNATURES)?;
    let title = format!("from the start to the first answer: {}", signatures.name);
    let heads = ["ms", "of clamd's", "asked", "processor ms", "MiB", "of clamd's", "asked", "MiB at most"];
    let mut table = Table::new(&title, &heads);
    let theirs = median(|| start_clamd(&home, &signatures))?;
    signatures.write(&home.join("databases"))?;
    let configuration = |cache: &str| {
        let (address, databases) = (local(25190), home.join("databases"));
        format!(
            "[[listen]]\nprotocol = \"http\"\naddress = \"{address}\"\n[webfilter]\nlists = []\n[ids]\nrules = []\n\
             [antivirus]\ndatabases = [\"{}\"]\ncache = \"{cache}\"\n",
            databases.display()
        )
    };
    let compiled = median(|| start_lockgate(&home, &configuration("off")))?;
    start_lockgate(&home, &configuration("auto"))?;
    let kept = median(|| start_lockgate(&home, &configuration("auto")))?;
    let of = |part: f64, whole: f64| format!("{:.0} %", part / whole * 100.0);
    for (name, start, asked) in [
        ("lockgate", kept, ("< 10 %", "< 50 %")),
        ("lockgate, nothing kept", compiled, ("", "")),
        ("clamd", theirs, ("", "")),
    ] {
        table.row(
            name,
            &[
                format!("{:.0}", start.wall_ms),
                of(start.wall_ms, theirs.wall_ms),
                asked.0.to_owned(),
                format!("{:.0}", start.processor_ms),
                format!("{:.0}", start.resident_bytes as f64 / f64::from(1 << 20)),
                of(start.resident_bytes as f64, theirs.resident_bytes as f64),
                asked.1.to_owned(),
                format!("{:.0}", start.peak_bytes as f64 / f64::from(1 << 20)),
            ],
        );
    }
    table.print();
    Ok(())
}

/// The start whose time is in the middle.
fn median(mut start: impl FnMut() -> io::Result<Start>) -> io::Result<Start> {
    let mut starts = (0..STARTS).map(|_| start()).collect::<io::Result<Vec<_>>>()?;
    starts.sort_by(|one, other| one.wall_ms.total_cmp(&other.wall_ms));
    Ok(starts[STARTS / 2])
}

fn start_lockgate(home: &Path, configuration: &str) -> io::Result<Start> {
    let path = home.join("lockgate.toml");
    fs::write(&path, configuration)?;
    let mut command = Command::new(binary()?);
    command.args(["serve", "--config"]).arg(&path);
    // It listens when everything is loaded.
    measure(&mut command, &home.join("lockgate.log"), || TcpStream::connect(local(25190)).is_ok())
}

fn start_clamd(home: &Path, signatures: &Signatures) -> io::Result<Start> {
    let address = local(24191);
    let mut command = clamd::prepare(&home.join("clamd"), signatures, address)?;
    measure(&mut command, &home.join("clamd.log"), || answers(address).unwrap_or(false))
}

fn answers(clamd: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(clamd)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"zPING\0")?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"PONG")
}

fn measure(command: &mut Command, log: &Path, is_up: impl Fn() -> bool) -> io::Result<Start> {
    let log = fs::File::create(log)?;
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
    let started = await_answer(&mut child, began, is_up);
    stop(&mut child);
    started
}

fn await_answer(child: &mut Child, began: Instant, is_up: impl Fn() -> bool) -> io::Result<Start> {
    while !is_up() {
        if began.elapsed() > PATIENCE || child.try_wait()?.is_some() {
            return Err(io::Error::other("it does not answer; its log says why"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let (wall_ms, processor_ms) = (began.elapsed().as_secs_f64() * 1e3, exact_processor_ms(child.id()));
    // What loading took besides the database is given back by then.
    std::thread::sleep(Duration::from_millis(300));
    let (resident_bytes, peak_bytes) = (resident_bytes(child.id()), resident_peak_bytes(child.id()));
    Ok(Start { wall_ms, processor_ms, resident_bytes, peak_bytes })
}
