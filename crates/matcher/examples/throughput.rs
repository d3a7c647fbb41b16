//! How fast one core scans: MB/s over random bytes, base64 text and a program. Rule: seeded, so that runs compare.
//!
//! `throughput [PATTERNS] [--hex FILE] [--content FILE]...`: with `--hex`, the patterns are those of a file with one
//! hex pattern on each line instead of random ones; `--content` adds content to scan.

use lockgate_matcher::{Anchor, Case, Database, Interest, PatternSet, Wildcard};
use std::sync::OnceLock;
use std::time::Instant;

const CONTENT_BYTES: usize = 32 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let places = arguments.iter().enumerate().filter(move |(_, argument)| *argument == name);
        places.filter_map(|(at, _)| arguments.get(at + 1)).collect::<Vec<_>>()
    };
    let mut dice = Dice(1);
    let started = Instant::now();
    let set = match after("--hex").first() {
        Some(path) => from_file(path),
        None => {
            let count = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(42_108);
            random_literals(count, &mut dice)
        }
    };
    let (read, patterns) = (started.elapsed(), set.len());
    let started = Instant::now();
    let database = set.compile().expect("a set of this size compiles");
    println!(
        "{patterns} patterns: read in {read:.1?}, compiled in {:.1?}, {} KiB, tail {} bytes",
        started.elapsed(),
        database.heap_bytes() >> 10,
        database.tail_bytes()
    );
    for strategy in database.strategies() {
        println!("  {strategy}");
    }
    let random: Vec<u8> = (0..CONTENT_BYTES).map(|_| dice.roll() as u8).collect();
    let mut contents = vec![
        ("random".to_owned(), random.clone()),
        ("base64".to_owned(), base64(&random)),
        ("zeros".to_owned(), vec![0; CONTENT_BYTES]),
        ("a program".to_owned(), std::env::current_exe().and_then(std::fs::read).unwrap_or_default()),
    ];
    for path in after("--content") {
        contents.push((path.clone(), std::fs::read(path).expect("content that can be read")));
    }
    for (name, mut content) in contents {
        while content.len() < CONTENT_BYTES && !content.is_empty() {
            content.extend_from_within(..content.len().min(CONTENT_BYTES - content.len()));
        }
        content.truncate(CONTENT_BYTES);
        for chunk_bytes in [16 << 10, 64 << 10] {
            let (rate, matches) = measure(&database, &content, chunk_bytes);
            println!(
                "{name:>12}, chunks of {:>2} KiB: {rate:>6.0} MB/s, {matches} matches",
                chunk_bytes >> 10
            );
        }
    }
}

/// MB for each second of the core over several passes, and how many matches a pass finds.
fn measure(database: &Database, content: &[u8], chunk_bytes: usize) -> (f64, usize) {
    let (mut matches, mut passes) = (0, 0);
    let started = busy_seconds();
    while busy_seconds() - started < 0.3 {
        matches = 0;
        passes += 1;
        let mut scanner = database.scanner();
        let mut count = |_| {
            matches += 1;
            Interest::More
        };
        for chunk in content.chunks(chunk_bytes) {
            scanner.scan(database, chunk, &mut count);
        }
        scanner.finish(database, &mut count);
    }
    ((passes * content.len()) as f64 / 1e6 / (busy_seconds() - started), matches)
}

/// How long this thread has been running: other programs on the machine don't count, where the system says so.
fn busy_seconds() -> f64 {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match schedule.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()) {
        Some(nanos) => nanos / 1e9,
        None => STARTED.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}

fn random_literals(count: usize, dice: &mut Dice) -> PatternSet {
    let mut set = PatternSet::new();
    for _ in 0..count {
        let length = 10 + dice.roll() % 91;
        let bytes: Vec<u8> = (0..length).map(|_| dice.roll() as u8).collect();
        set.add(&Wildcard::literal(&bytes), Case::Sensitive, Anchor::Anywhere)
            .expect("a literal is searchable");
    }
    set
}

fn from_file(path: &str) -> PatternSet {
    let text = std::fs::read_to_string(path).expect("a file of hex patterns");
    let mut set = PatternSet::new();
    let mut refused = 0;
    for line in text.lines() {
        // `i:` before a pattern: letters of both cases agree.
        let (case, hex) =
            line.strip_prefix("i:").map_or((Case::Sensitive, line), |hex| (Case::Insensitive, hex));
        let added = Wildcard::parse(hex)
            .map_err(|error| error.to_string())
            .and_then(|pattern| set.add(&pattern, case, Anchor::Anywhere).map_err(|error| error.to_string()));
        if let Err(error) = added {
            refused += 1;
            if refused <= 5 {
                eprintln!("refused: {error}: {hex:.60}");
            }
        }
    }
    eprintln!("{refused} refused");
    set
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len() * 3 / 2);
    for line in bytes.chunks(57) {
        for three in line.chunks(3) {
            let word =
                three.iter().fold(0, |word, byte| word << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
            text.extend([18, 12, 6, 0].map(|shift| LETTERS[word >> shift & 63]));
        }
        text.extend(b"\r\n");
    }
    text
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
