//! `lockgate scan`: files, mails, archives and directories through the gateway's own engines. Rule: constant memory, and the
//! same findings as on the wire.

use crate::command::paths;
use crate::config::{Cache, Config, Source};
use crate::loading;
use crate::progress::Progress;
use crate::report::{EXIT_CLEAN, EXIT_FOUND, EXIT_WRONG, say_problems};
use clap::ArgMatches;
use lockgate_inspect::{Generation, HoldPlan, Judgement, Pools, Progress as Pushing, Root, Session};
use lockgate_model::{Direction, Flow, Pool, Protocol, Transaction, TransactionId, Verdict};
use lockgate_relay::events::record::{finding_json, plain};
use serde_json::json;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// How findings are shown.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Json,
}

/// Which objects are told of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    /// Those in which something was found, or that could not be inspected.
    NotClean,
    Nothing,
}

impl Told {
    fn of(arguments: &ArgMatches) -> Self {
        match (arguments.get_flag("quiet"), arguments.get_flag("infected")) {
            (true, _) => Told::Nothing,
            (false, true) => Told::NotClean,
            (false, false) => Told::All,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ArgMatches) -> u8 {
    let config = arguments.get_one::<PathBuf>("config");
    let mut config = match Config::load(config.map(PathBuf::as_path)) {
        Ok(config) => config,
        Err(problems) => return say_problems(&problems),
    };
    let databases = paths(arguments, "database");
    if !databases.is_empty() {
        config.databases = databases.into_iter().map(Source::Path).collect();
    }
    if let Some(word) = arguments.get_one::<String>("cache") {
        // A path that is given here starts where one is.
        config.cache = Cache::read(word, || Ok(PathBuf::from(word))).unwrap_or(Cache::Off);
    }
    // Files come from no site.
    config.lists.clear();
    config.group_lists.clear();
    let loaded = loading::load(&config, 1, None);
    for error in &loaded.errors {
        eprintln!("lockgate: {error}");
    }
    if !loaded.errors.is_empty() {
        return EXIT_WRONG;
    }
    if loaded.report().signatures_failed() > 0 {
        eprintln!(
            "lockgate: {} signatures are not in use: lockgate check says why",
            loaded.report().signatures_failed()
        );
    }
    let roots = match roots(arguments) {
        Ok(roots) => roots,
        Err((path, error)) => {
            eprintln!("lockgate: {}: cannot be read: {error}", plain(&path.display().to_string()));
            return EXIT_WRONG;
        }
    };
    let total = if Progress::is_watched() { total_bytes(&roots) } else { 0 };
    let mut scan = Scan {
        session: open_session(loaded.generation, config.settings.content_pool_bytes),
        shape: if arguments.get_flag("json") { Shape::Json } else { Shape::Text },
        told: Told::of(arguments),
        has_summary: !arguments.get_flag("no-summary"),
        progress: Progress::new(total),
        objects: 0,
        found: 0,
        wrong: 0,
    };
    scan.all(&roots);
    scan.end()
}

/// What is to be scanned: what is named, and what the lines of files name.
fn roots(arguments: &ArgMatches) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut roots = paths(arguments, "path");
    for list in paths(arguments, "file-list") {
        let read = if list.as_os_str() == "-" {
            let mut text = Vec::new();
            io::stdin().lock().read_to_end(&mut text).map(|_| text)
        } else {
            std::fs::read(&list)
        };
        let text = read.map_err(|error| (list, error))?;
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        roots.extend(lines.filter(|line| !line.is_empty()).map(|line| OsStr::from_bytes(line).into()));
    }
    Ok(roots)
}

fn open_session(generation: Generation, content_pool_bytes: u64) -> Session {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let flow = Flow {
        security: lockgate_model::Security::Clear,
        id: 1,
        protocol: Protocol::File,
        client: nobody,
        server: nobody,
        listener: "scan".to_owned(),
    };
    let pools = Pools { hold: Pool::new(0), parts: Pool::new(content_pool_bytes) };
    Session::open(Arc::new(generation), &pools, flow)
}

struct Scan {
    session: Session,
    shape: Shape,
    told: Told,
    /// Whether counts are told at the end, to a terminal.
    has_summary: bool,
    progress: Progress,
    objects: u64,
    found: u64,
    wrong: u64,
}

impl Scan {
    fn all(&mut self, roots: &[PathBuf]) {
        for root in roots {
            if root.as_os_str() == "-" {
                let judgement = self.inspect(Path::new("-"), &mut io::stdin().lock(), None);
                self.tell(Path::new("-"), judgement);
                continue;
            }
            for found in Walk::new(root) {
                match found {
                    Ok(path) => match File::open(&path) {
                        Ok(file) => {
                            let judgement = self.file(&path, file);
                            self.tell(&path, judgement);
                        }
                        Err(error) => self.failed(&path, &error),
                    },
                    Err((path, error)) => self.failed(&path, &error),
                }
            }
        }
    }

    /// Inspects a file; once more, and without relying on its length, if that changed meanwhile.
    fn file(&mut self, path: &Path, mut file: File) -> io::Result<Judgement> {
        let metadata = file.metadata()?;
        // A file of the kernel's own is empty by its length, whatever it has.
        let length = Some(metadata.len()).filter(|length| metadata.is_file() && *length > 0);
        let judgement = self.inspect(path, &mut file, length)?;
        match length {
            Some(length) if file.stream_position()? != length => {
                file.rewind()?;
                self.inspect(path, &mut file, None)
            }
            _ => Ok(judgement),
        }
    }

    fn tell(&mut self, path: &Path, judgement: io::Result<Judgement>) {
        self.objects += 1;
        match judgement {
            Ok(judgement) => self.show(path, &judgement),
            Err(error) => self.failed(path, &error),
        }
    }

    fn inspect(&mut self, path: &Path, content: &mut dyn Read, length: Option<u64>) -> io::Result<Judgement> {
        let name = path.display().to_string();
        let about = Transaction {
            id: TransactionId(self.objects + 1),
            direction: Direction::ToClient,
            group: self.session.group_for(None).name.clone(),
            sender: None,
            recipients: Vec::new(),
            name: Some(name.clone()),
            length,
        };
        let group = Arc::clone(self.session.group_for(None));
        let mut inspection = self.session.begin(&about, group, Root::File, HoldPlan::Discard);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let bytes = match content.read(&mut chunk) {
                Ok(0) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &chunk[..bytes];
            loop {
                let pushed = inspection.push(rest);
                let (consumed, pushing) = (pushed.consumed, pushed.progress);
                rest = &rest[consumed..];
                self.progress.advance(consumed as u64, &name);
                if rest.is_empty() && pushing == Pushing::Through {
                    break;
                }
            }
        }
        while inspection.finish() == Pushing::Busy {
            self.progress.advance(0, &name);
        }
        Ok(inspection.judgement().clone())
    }

    fn show(&mut self, path: &Path, judgement: &Judgement) {
        if !judgement.findings.is_empty() || judgement.verdict > Verdict::Tag {
            self.found += 1;
        }
        let is_clean = judgement.findings.is_empty() && judgement.incomplete.is_empty();
        if self.told == Told::Nothing || (self.told == Told::NotClean && is_clean) {
            return;
        }
        self.progress.clear();
        let name = path.display().to_string();
        let text = match self.shape {
            Shape::Text => text(&name, judgement),
            Shape::Json => line(&name, judgement),
        };
        // Whoever reads the output has enough of it (`| head`): there is nobody left to tell.
        if io::stdout().write_all(text.as_bytes()).is_err() {
            std::process::exit(i32::from(EXIT_WRONG));
        }
    }

    fn failed(&mut self, path: &Path, error: &io::Error) {
        self.wrong += 1;
        self.progress.clear();
        eprintln!("lockgate: {}: cannot be read: {error}", plain(&path.display().to_string()));
    }

    fn end(mut self) -> u8 {
        self.progress.clear();
        if self.has_summary && self.objects > 1 && Progress::is_watched() {
            eprintln!("{} scanned, {} with findings, {} not read", self.objects, self.found, self.wrong);
        }
        match (self.found, self.wrong) {
            (1.., _) => EXIT_FOUND,
            (0, 1..) => EXIT_WRONG,
            (0, 0) => EXIT_CLEAN,
        }
    }
}

/// One object for people.
fn text(name: &str, judgement: &Judgement) -> String {
    let mut out = format!("{}: {}\n", plain(name), judgement.verdict.name());
    for finding in &judgement.findings {
        let at = finding.offset.map_or_else(String::new, |offset| format!(" at {offset}"));
        out.push_str(&format!(
            "  {} in {} {}{at} ({})\n",
            plain(&finding.name),
            plain(&finding.part),
            finding.buffer.name(),
            plain(&finding.rule)
        ));
    }
    let more = judgement.findings_count - judgement.findings.len() as u64;
    if more > 0 {
        out.push_str(&format!("  and {more} more findings\n"));
    }
    for incomplete in &judgement.incomplete {
        out.push_str(&format!("  {} not inspected: {}\n", plain(&incomplete.part), incomplete.reason));
    }
    out
}

/// One object for programs.
fn line(name: &str, judgement: &Judgement) -> String {
    let incomplete = judgement.incomplete.iter();
    let incomplete =
        incomplete.map(|incomplete| json!({"part": &*incomplete.part, "reason": incomplete.reason.name()}));
    let object = json!({
        "path": name,
        "verdict": judgement.verdict.name(),
        "findings": judgement.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "incomplete": incomplete.collect::<Vec<_>>(),
    });
    format!("{object}\n")
}

/// How many bytes there are to read, as far as the file system says.
fn total_bytes(roots: &[PathBuf]) -> u64 {
    let files = roots.iter().flat_map(|root| Walk::new(root)).flatten();
    files.filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
}

/// The files under a path, in the order of names. What is named is followed; links within a directory are not, so that a
/// walk ends; sockets, pipes and devices within one are left alone.
struct Walk {
    waiting: Vec<PathBuf>,
    is_root: bool,
}

impl Walk {
    fn new(root: &Path) -> Self {
        Self { waiting: vec![root.to_owned()], is_root: true }
    }

    fn enter(&mut self, directory: &Path) -> io::Result<()> {
        let entries: io::Result<Vec<_>> =
            std::fs::read_dir(directory)?.map(|e| e.map(|e| e.path())).collect();
        let mut entries = entries?;
        entries.sort_by(|a, b| b.cmp(a));
        self.waiting.append(&mut entries);
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<PathBuf, (PathBuf, io::Error)>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(path) = self.waiting.pop() {
            let is_root = std::mem::take(&mut self.is_root);
            let metadata = if is_root { std::fs::metadata(&path) } else { std::fs::symlink_metadata(&path) };
            match metadata {
                Ok(metadata) if metadata.is_dir() => {
                    if let Err(error) = self.enter(&path) {
                        return Some(Err((path, error)));
                    }
                }
                Ok(metadata) if metadata.is_file() || is_root => return Some(Ok(path)),
                Ok(_) => {}
                Err(error) => return Some(Err((path, error))),
            }
        }
        None
    }
}
