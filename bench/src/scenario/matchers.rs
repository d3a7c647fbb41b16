//! The matcher alone beside vectorscan (or hyperscan), aho-corasick and daachorse. Rule: the same literals, the same bytes,
//! each file a stream, one thread, all matches counted, or each literal's first in each stream; processor time.

use crate::peers::hyperscan::{Hyperscan, Told};
use crate::report::Table;
use crate::signatures::Signatures;
use lockgate_matcher::{Anchor, Case, CountedBy, Interest, PatternSet, Wildcard};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// How much of each content is scanned.
const CONTENT_BYTES: usize = 32 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const GAP_CONTENT_BYTES: usize = 4 << 20;
/// How often files are taken again at most, where there are few.
const ROUNDS_MAX: usize = 64;
/// The shortest real fragment that is searched for; the shortest that others take too.
const FRAGMENT_BYTES_MIN: usize = 6;
/// How long each engine is measured at least.
const SECONDS: f64 = 0.5;

/// Prints MB/s for each set of literals and each content.
pub fn run(_directory: &Path) -> io::Result<()> {
    let mut dice = Dice(1);
    let signatures = Signatures::named_or_random(0)?;
    let real = fragments(&signatures);
    let sets = [
        ("real fragments", real),
        ("42,108 random", random(42_108, &mut dice)),
        ("225,000 random", random(225_000, &mut dice)),
    ];
    let mut table = Table::new(
        "matchers alone, MB/s of one core",
        &["literals", "content", "told", "lockgate", "hyperscan", "aho-corasick", "daachorse", "matches"],
    );
    for (name, literals) in sets.iter().filter(|(_, literals)| !literals.is_empty()) {
        let contents = [
            ("programs", programs()?),
            ("text", text()),
            ("random", vec![(0..CONTENT_BYTES).map(|_| dice.roll() as u8).collect()]),
            ("adversarial", vec![adversarial(literals)]),
        ];
        for told in [Told::All, Told::Once] {
            let engines = Engines::new(literals, told)?;
            for (content_name, streams) in &contents {
                let (row, matches) = engines.measure(streams);
                let told = if told == Told::All { "all" } else { "once" };
                let mut cells = vec![(*content_name).to_owned(), told.to_owned()];
                cells.extend(row);
                cells.push(matches);
                table.row(&format!("{} {name}", literals.len()), &cells);
            }
        }
    }
    table.print();
    behind_gaps()
}

/// Patterns of which each place of some content is a start that leads behind a gap: MB/s of the whole.
fn behind_gaps() -> io::Result<()> {
    let patterns = [
        ("leads nowhere", "6161{0-128}6162", CountedBy::Starts),
        ("each start told", "6161{0-128}6161", CountedBy::Starts),
        ("each end told", "6161{0-128}6161", CountedBy::Ends),
    ];
    let content = vec![vec![b'a'; GAP_CONTENT_BYTES]];
    let mut table =
        Table::new("starts behind each of which a gap follows, MB/s of one core", &["pattern", "lockgate"]);
    for (name, pattern, counted_by) in patterns {
        let wildcard = Wildcard::parse(pattern).map_err(io::Error::other)?.counted_by(counted_by);
        let mut set = PatternSet::new();
        set.add(&wildcard, Case::Sensitive, Anchor::Anywhere).map_err(io::Error::other)?;
        let database = set.compile().map_err(io::Error::other)?;
        let (rate, _) = rate(&content, || Some(scan(&database, &content[0], Interest::More)));
        table.row(name, &[format!("{rate:.1}")]);
    }
    table.print();
    Ok(())
}

struct Engines {
    told: Told,
    lockgate: lockgate_matcher::Database,
    hyperscan: Option<Hyperscan>,
    /// These can only tell of all.
    automata: Option<(aho_corasick::AhoCorasick, daachorse::DoubleArrayAhoCorasick<u32>)>,
}

impl Engines {
    fn new(literals: &[Vec<u8>], told: Told) -> io::Result<Self> {
        let mut set = PatternSet::new();
        for literal in literals {
            set.add(&Wildcard::literal(literal), Case::Sensitive, Anchor::Anywhere)
                .map_err(io::Error::other)?;
        }
        let lockgate = set.compile().map_err(io::Error::other)?;
        eprintln!("matchers: {} MiB, {}", lockgate.heap_bytes() >> 20, lockgate.strategies().join(", "));
        let hyperscan = Hyperscan::new(literals, told).inspect_err(|error| eprintln!("hyperscan: {error}"));
        let automata = match told {
            Told::Once => None,
            Told::All => Some((
                aho_corasick::AhoCorasick::builder()
                    .kind(Some(aho_corasick::AhoCorasickKind::ContiguousNFA))
                    .build(literals)
                    .map_err(io::Error::other)?,
                daachorse::DoubleArrayAhoCorasick::new(literals)
                    .map_err(|error| io::Error::other(error.to_string()))?,
            )),
        };
        Ok(Self { told, lockgate, hyperscan: hyperscan.ok(), automata })
    }

    /// MB/s of each, and how many matches each has.
    fn measure(&self, streams: &[Vec<u8>]) -> (Vec<String>, String) {
        let hyperscan = |hyperscan: &Hyperscan| rate(streams, || hyperscan.scan(streams, CHUNK_BYTES));
        let aho_corasick = self.automata.as_ref().map(|(aho_corasick, _)| aho_corasick);
        let daachorse = self.automata.as_ref().map(|(_, daachorse)| daachorse);
        let sum = |matches: &dyn Fn(&Vec<u8>) -> usize| Some(streams.iter().map(matches).sum());
        let figures = [
            Some(rate(streams, || sum(&|stream| self.lockgate(stream)))),
            self.hyperscan.as_ref().map(hyperscan),
            aho_corasick.map(|of| rate(streams, || sum(&|stream| of.find_overlapping_iter(stream).count()))),
            daachorse.map(|of| rate(streams, || sum(&|stream| of.find_overlapping_iter(stream).count()))),
        ];
        let cell = |figure: &Option<(f64, Option<usize>)>| match figure {
            None => "-".to_owned(),
            Some((_, None)) => "gives up".to_owned(),
            Some((rate, Some(_))) => format!("{rate:.0}"),
        };
        let counts: BTreeSet<usize> = figures.iter().flatten().filter_map(|(_, matches)| *matches).collect();
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        (figures.iter().map(cell).collect(), counts.join(" or "))
    }

    fn lockgate(&self, stream: &[u8]) -> usize {
        let interest = if self.told == Told::All { Interest::More } else { Interest::NoMore };
        scan(&self.lockgate, stream, interest)
    }
}

/// How many matches are told of.
fn scan(database: &lockgate_matcher::Database, stream: &[u8], interest: Interest) -> usize {
    let mut matches = 0;
    let mut scanner = database.scanner();
    let mut count = |_| {
        matches += 1;
        interest
    };
    for chunk in stream.chunks(CHUNK_BYTES) {
        scanner.scan(database, chunk, &mut count);
    }
    scanner.finish(database, &mut count);
    matches
}

/// MB for each processor second, and what a pass counts.
fn rate(streams: &[Vec<u8>], pass: impl Fn() -> Option<usize>) -> (f64, Option<usize>) {
    let bytes: usize = streams.iter().map(Vec::len).sum();
    let started = busy_seconds();
    let (mut passes, mut matches) = (0, None);
    while busy_seconds() - started < SECONDS {
        matches = pass();
        passes += 1;
    }
    ((passes * bytes) as f64 / 1e6 / (busy_seconds() - started), matches)
}

fn busy_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The longest literal run of each subsignature of the logical databases, each once.
fn fragments(signatures: &Signatures) -> Vec<Vec<u8>> {
    let mut found = BTreeSet::new();
    for text in signatures.texts("ldb") {
        for line in text.lines() {
            for subsignature in line.split(';').skip(3).filter(|subsignature| !subsignature.contains('/')) {
                let body = subsignature.split("::").next().unwrap_or_default();
                let body = body.rsplit(':').next().unwrap_or_default();
                let longest = literal_runs(body).into_iter().max_by_key(Vec::len);
                found.extend(longest.filter(|run| run.len() >= FRAGMENT_BYTES_MIN));
            }
        }
    }
    found.into_iter().collect()
}

/// The runs of plain bytes of a hexadecimal pattern.
fn literal_runs(body: &str) -> Vec<Vec<u8>> {
    let mut runs = vec![Vec::new()];
    let mut rest = body.as_bytes();
    while let Some(first) = rest.first() {
        let closing = match first {
            b'(' => b')',
            b'{' => b'}',
            b'[' => b']',
            _ => 0,
        };
        let pair = rest.first_chunk::<2>().and_then(|pair| str::from_utf8(pair).ok());
        let used = if closing != 0 {
            rest.iter().position(|byte| *byte == closing).map_or(rest.len(), |at| at + 1)
        } else if let Some(byte) = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            runs.last_mut().expect("there is always one").push(byte);
            rest = &rest[2..];
            continue;
        } else if pair.is_some_and(|pair| pair.contains('?')) {
            2
        } else {
            1
        };
        runs.push(Vec::new());
        rest = &rest[used..];
    }
    runs
}

fn random(count: usize, dice: &mut Dice) -> Vec<Vec<u8>> {
    let literal = |dice: &mut Dice| (0..10 + dice.roll() % 91).map(|_| dice.roll() as u8).collect();
    (0..count).map(|_| literal(dice)).collect()
}

/// Each literal but for its last byte: whatever looks for parts of them finds them everywhere, and none matches.
fn adversarial(literals: &[Vec<u8>]) -> Vec<u8> {
    let mut content = Vec::with_capacity(CONTENT_BYTES + 1024);
    for literal in literals.iter().cycle() {
        if content.len() >= CONTENT_BYTES {
            break;
        }
        content.extend_from_slice(literal);
        if let Some(last) = content.last_mut() {
            *last ^= 0x55;
        }
    }
    content
}

/// Windows programs, where `BENCH_WINDOWS` names some; else this machine's.
fn programs() -> io::Result<Vec<Vec<u8>>> {
    let directory = std::env::var_os("BENCH_WINDOWS").unwrap_or_else(|| "/usr/bin".into());
    Ok(gathered(Path::new(&directory)))
}

fn text() -> Vec<Vec<u8>> {
    gathered(Path::new("/usr/lib/python3.11"))
}

/// The files of a directory, one after the other, again and again.
fn gathered(directory: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read(path).ok().filter(|file| !file.is_empty());
    let (mut left, mut streams) = (CONTENT_BYTES, Vec::new());
    for mut file in paths.iter().cycle().take(paths.len() * ROUNDS_MAX).filter_map(read) {
        if left == 0 {
            break;
        }
        file.truncate(left);
        left -= file.len();
        streams.push(file);
    }
    streams
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }
}
