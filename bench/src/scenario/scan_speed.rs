//! `lockgate scan -r` beside `clamscan -r`: the same files, the same databases, processor time and memory, start included.
//! Rule: what the two find is compared, not assumed.
//!
//! Windows programs are the DLL and PYD files of the wheels that [`WHEELS`] names, fetched by pip, or what stands in the
//! directory that `BENCH_WINDOWS` names; libraries are those of this machine.

use crate::process::{Finished, finish};
use crate::report::Table;
use crate::signatures::Signatures;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What Windows programs are taken from.
const WHEELS: [&str; 5] = ["numpy", "scipy", "pillow", "pywin32", "PySide6-Essentials"];
/// Where libraries stand.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
/// How many random signatures are searched for where `BENCH_DATABASES` names none.
const SIGNATURES: usize = 42_108;

/// Files of one kind, and how many times clamscan's speed is asked for.
struct Corpus {
    name: &'static str,
    directory: PathBuf,
    bytes: u64,
    asked: f64,
}

/// Prints both for each corpus.
pub fn run(directory: &Path) -> io::Result<()> {
    let home = directory.join("scan-speed");
    fs::create_dir_all(&home)?;
    let signatures = Signatures::named_or_random(SIGNATURES)?;
    let databases = home.join("databases");
    signatures.write(&databases)?;
    let empty = home.join("empty");
    fs::create_dir_all(&empty)?;
    fs::write(empty.join("file"), b"-\n")?;
    let title = format!("processor seconds for a scan, start included: {}", signatures.name);
    let heads = [
        "files",
        "MB",
        "lockgate",
        "clamscan",
        "times as fast",
        "asked",
        "MiB lockgate",
        "MiB clamscan",
        "named",
    ];
    let mut table = Table::new(&title, &heads);
    // The first one compiles, and keeps what it made for those behind it.
    let first =
        Corpus { name: "an empty file, the first time", directory: empty.clone(), bytes: 2, asked: 1.0 };
    let mut corpora = vec![first, Corpus { name: "an empty file", directory: empty, bytes: 2, asked: 10.0 }];
    match windows(&home) {
        Ok(directory) => corpora.push(corpus("Windows programs", directory, 20.0)?),
        Err(error) => eprintln!("scan-speed: no Windows programs: {error}"),
    }
    corpora.push(corpus("libraries", libraries(&home)?, 4.0)?);
    for corpus in corpora {
        let ours = lockgate(&databases, &corpus.directory)?;
        let theirs = clamscan(&databases, &corpus.directory)?;
        let (by_us, by_them) = (names(&ours.output), names(&theirs.output));
        let named =
            format!("{} and {}, {} alike", by_us.len(), by_them.len(), by_us.intersection(&by_them).count());
        let mib = |bytes: u64| format!("{}", bytes >> 20);
        table.row(
            corpus.name,
            &[
                format!("{:.1}", corpus.bytes as f64 / 1e6),
                format!("{:.2}", ours.seconds),
                format!("{:.2}", theirs.seconds),
                format!("{:.1}", theirs.seconds / ours.seconds),
                format!("{:.0}", corpus.asked),
                mib(ours.resident_bytes),
                mib(theirs.resident_bytes),
                named,
            ],
        );
    }
    table.print();
    Ok(())
}

fn corpus(name: &'static str, directory: PathBuf, asked: f64) -> io::Result<Corpus> {
    let mut bytes = 0;
    for entry in fs::read_dir(&directory)? {
        bytes += fs::metadata(entry?.path())?.len();
    }
    Ok(Corpus { name, directory, bytes, asked })
}

fn lockgate(databases: &Path, files: &Path) -> io::Result<Finished> {
    let program = std::env::current_exe()?.with_file_name("lockgate");
    finish(Command::new(program).arg("scan").arg("--database").arg(databases).arg(files))
}

fn clamscan(databases: &Path, files: &Path) -> io::Result<Finished> {
    let mut command = Command::new("clamscan");
    command.args(["--allmatch", "--infected", "--no-summary", "--recursive", "--max-filesize=2000M"]);
    command.args(["--max-scansize=4000M", "--database"]).arg(databases).arg(files);
    finish(&mut command)
}

/// The names of signatures in either's output: of a line that ends in FOUND, or that tells of a finding in a part.
fn names(output: &str) -> BTreeSet<String> {
    let of_line = |line: &str| {
        let theirs =
            line.strip_suffix(" FOUND").and_then(|line| line.rsplit_once(": ")).map(|(_, name)| name);
        let ours = line.strip_prefix("  ").and_then(|line| line.split_once(" in ")).map(|(name, _)| name);
        theirs.or(ours).map(|name| name.trim_end_matches(".UNOFFICIAL").to_owned())
    };
    output.lines().filter_map(of_line).collect()
}

/// The programs of the wheels, each in a file of its own.
fn windows(home: &Path) -> io::Result<PathBuf> {
    if let Some(directory) = std::env::var_os("BENCH_WINDOWS") {
        return Ok(directory.into());
    }
    let (wheels, programs) = (home.join("wheels"), home.join("windows"));
    if programs.is_dir() {
        return Ok(programs);
    }
    let mut pip = Command::new("pip");
    pip.args([
        "download",
        "--quiet",
        "--only-binary=:all:",
        "--platform",
        "win_amd64",
        "--no-deps",
        "--dest",
    ]);
    if !pip.arg(&wheels).args(WHEELS).status()?.success() {
        return Err(io::Error::other("pip cannot fetch the wheels"));
    }
    let unpacked = home.join("unpacked");
    for wheel in fs::read_dir(&wheels)? {
        let unzip = Command::new("python3")
            .args(["-m", "zipfile", "-e"])
            .arg(wheel?.path())
            .arg(&unpacked)
            .status()?;
        if !unzip.success() {
            return Err(io::Error::other("a wheel cannot be unpacked"));
        }
    }
    let partial = home.join("windows.partial");
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial)?;
    gather(&unpacked, &mut 0, &partial)?;
    fs::rename(&partial, &programs)?;
    Ok(programs)
}

/// Moves DLL and PYD files below a directory into another one.
fn gather(from: &Path, count: &mut usize, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, count, to)?;
        } else if path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("dll") || end.eq_ignore_ascii_case("pyd"))
        {
            *count += 1;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            fs::rename(&path, to.join(format!("{count:04}-{name}")))?;
        }
    }
    Ok(())
}

/// This machine's shared libraries, each once, in a directory without links.
fn libraries(home: &Path) -> io::Result<PathBuf> {
    let directory = home.join("libraries");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory)?;
    for entry in fs::read_dir(LIBRARIES)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !path.is_symlink() && path.is_file() && name.contains(".so") {
            fs::copy(&path, directory.join(name))?;
        }
    }
    Ok(directory)
}
