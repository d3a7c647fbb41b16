//! Bytes per second of the rules on the wire, on one core, and memory: `lockgate ids` beside Suricata. Rule: the same rules, the same captures,
//! checksums ignored by both; loading is measured by itself and taken off.

use crate::gateway::binary;
use crate::peers::suricata::{self, Depths};
use crate::process::{Finished, finish};
use crate::report::{Table, median};
use crate::rules::{self, Rules};
use crate::traffic::{self, Flood, Made, SEGMENTS, Spoken};
use lockgate_tests::capture::Capture;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How often each candidate reads each capture; the median counts.
const ROUNDS: usize = 3;
/// The variable that names another number, for a quick look.
const ROUNDS_NAME: &str = "BENCH_ROUNDS";

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Lockgate,
    Suricata(Depths),
}

const READERS: [Reader; 3] =
    [Reader::Lockgate, Reader::Suricata(Depths::Shipped), Reader::Suricata(Depths::Raised)];

/// What reading cost in the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor seconds, loading included.
    pub seconds: f64,
    /// The most memory that was resident.
    pub resident_bytes: u64,
    pub alerts: usize,
}

/// The place where captures, rules and logs are, and what loading costs.
pub struct Line {
    home: PathBuf,
    pub rules: Rules,
    rounds: usize,
}

impl Reader {
    pub fn name(self) -> &'static str {
        match self {
            Self::Lockgate => "lockgate",
            Self::Suricata(Depths::Shipped) => "suricata",
            Self::Suricata(Depths::Raised) => "suricata, all depths raised",
        }
    }
}

impl Line {
    /// With the rules of this run.
    pub fn open(home: &Path) -> io::Result<Self> {
        fs::create_dir_all(home)?;
        let rules = Rules::make(home)?;
        let rounds = std::env::var(ROUNDS_NAME).ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
        Ok(Self { home: home.to_owned(), rules, rounds })
    }

    /// Where a file of it is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// What loading costs each of these: they read one frame.
    pub fn loading(&self, readers: &[Reader]) -> io::Result<Vec<Cost>> {
        let path = self.path("one.pcap");
        let mut capture = Capture::create(&path)?;
        capture.frame(&traffic::frame(Flood::HalfOpen, 0))?;
        capture.finish()?;
        self.costs(readers, &path)
    }

    /// What reading a capture costs each of these, in turn.
    pub fn costs(&self, readers: &[Reader], capture: &Path) -> io::Result<Vec<Cost>> {
        let mut rounds = vec![Vec::new(); readers.len()];
        for _ in 0..self.rounds.max(1) {
            for (reader, costs) in readers.iter().zip(&mut rounds) {
                costs.push(self.read(*reader, capture)?);
            }
        }
        let middle = |costs: &Vec<Cost>| Cost {
            seconds: median(costs.iter().map(|cost| cost.seconds)),
            ..costs.last().copied().unwrap_or_default()
        };
        Ok(rounds.iter().map(middle).collect())
    }

    fn read(&self, reader: Reader, capture: &Path) -> io::Result<Cost> {
        let (Finished { seconds, resident_bytes, .. }, alerts) = match reader {
            Reader::Lockgate => {
                let events = self.path("eve.json");
                let mut command = Command::new(binary()?);
                command.args(["ids", "--checksums", "ignore", "--rules"]).arg(&self.rules.directory);
                let finished = finish(command.arg("--pcap").arg(capture).arg("--eve").arg(&events))?;
                (finished, rules::alerts(&events))
            }
            Reader::Suricata(depths) => {
                let home = self.path("suricata");
                (suricata::read(&home, &self.rules, capture, depths)?, suricata::alerts(&home))
            }
        };
        Ok(Cost { seconds, resident_bytes, alerts })
    }
}

/// Runs it and prints a table for each capture.
pub fn run(directory: &Path) -> io::Result<()> {
    let line = Line::open(&directory.join("ids-speed"))?;
    println!(
        "\nRules: {}. Suricata: one worker, Hyperscan, its configuration as Debian ships it, and with its depths raised to all that is \
         said, which is what lockgate reads. Processor seconds of the whole process; MB are those of the frames, by the time that is \
         not loading.",
        line.rules.words
    );
    let loading = line.loading(&READERS)?;
    for spoken in [Spoken::Http, Spoken::Smtp] {
        for (name, segment_bytes) in SEGMENTS {
            let path = line.path("capture.pcap");
            let made = traffic::write(spoken, segment_bytes, &path)?;
            let costs = line.costs(&READERS, &path)?;
            print(&format!("{}, segments of {name}", spoken.name()), made, &loading, &costs);
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn print(what: &str, made: Made, loading: &[Cost], costs: &[Cost]) {
    let megabytes = made.bytes as f64 / 1e6;
    let heads =
        ["candidate", "processor s", "of it loading", "MB/s", "lockgate's over it", "asked", "MiB", "alerts"];
    let mut table = Table::new(&format!("{what}: {megabytes:.0} MB in {} frames", made.frames), &heads);
    let rate = |at: usize| megabytes / (costs[at].seconds - loading[at].seconds);
    for (at, (reader, cost)) in READERS.iter().zip(costs).enumerate() {
        let asked = if *reader == Reader::Lockgate { "-" } else { ">= 1, aim 1.5" };
        table.row(
            reader.name(),
            &[
                format!("{:.2}", cost.seconds),
                format!("{:.2}", loading[at].seconds),
                format!("{:.0}", rate(at)),
                format!("{:.2}", rate(0) / rate(at)),
                asked.to_owned(),
                format!("{}", cost.resident_bytes >> 20),
                format!("{}", cost.alerts),
            ],
        );
    }
    table.print();
}
