//! Bytes per second of the rules on the wire, on one core, and memory: `lockgate ids` beside Suricata. Rule: the same rules, the same captures,
//! checksums ignored by both; what counts is reading, without loading.

use crate::gateway::binary;
use crate::peers::suricata::{self, Depths};
use crate::process::finish;
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
/// The variable that has a part of the name of the captures that are to be read, for a quick look.
const CAPTURES_NAME: &str = "BENCH_CAPTURES";

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Lockgate,
    Suricata(Depths),
}

const READERS: [Reader; 3] =
    [Reader::Lockgate, Reader::Suricata(Depths::Shipped), Reader::Suricata(Depths::Raised)];

/// What a capture cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor seconds of reading.
    pub seconds: f64,
    /// The same by the clock.
    pub elapsed: f64,
    /// Processor seconds of loading, before it, and what clears up behind it.
    pub loading: f64,
    /// The most memory that was resident.
    pub resident_bytes: u64,
    pub alerts: usize,
}

/// The place where captures, rules and logs are.
pub struct Line {
    home: PathBuf,
    pub rules: Rules,
    rounds: usize,
    /// A capture of one frame.
    one: PathBuf,
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
        let one = home.join("one.pcap");
        let mut capture = Capture::create(&one)?;
        capture.frame(&traffic::frame(Flood::HalfOpen, 0))?;
        capture.finish()?;
        Ok(Self { home: home.to_owned(), rules, rounds, one })
    }

    /// Where a file of it is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// What these cost where there is nothing to read but one frame.
    pub fn loading(&self, readers: &[Reader]) -> io::Result<Vec<Cost>> {
        readers.iter().map(|reader| self.read(*reader, &self.one)).collect()
    }

    /// What a capture costs each of these, in turn.
    pub fn costs(&self, readers: &[Reader], capture: &Path) -> io::Result<Vec<Cost>> {
        let mut rounds = vec![Vec::new(); readers.len()];
        for _ in 0..self.rounds.max(1) {
            for (reader, costs) in readers.iter().zip(&mut rounds) {
                costs.push(self.read(*reader, capture)?);
            }
        }
        Ok(rounds.iter().map(|costs| middle(costs)).collect())
    }

    fn read(&self, reader: Reader, capture: &Path) -> io::Result<Cost> {
        match reader {
            Reader::Lockgate => self.lockgate(capture),
            Reader::Suricata(depths) => self.suricata(depths, capture),
        }
    }

    /// All is done by one thread, so loading is what one frame costs, just before.
    fn lockgate(&self, capture: &Path) -> io::Result<Cost> {
        let events = self.path("eve.json");
        let read = |capture: &Path| {
            let mut command = Command::new(binary()?);
            command.args(["ids", "--checksums", "ignore", "--rules"]).arg(&self.rules.directory);
            finish(command.arg("--pcap").arg(capture).arg("--eve").arg(&events))
        };
        let loading = read(&self.one)?;
        let all = read(capture)?;
        Ok(Cost {
            seconds: all.seconds - loading.seconds,
            elapsed: all.elapsed.saturating_sub(loading.elapsed).as_secs_f64(),
            loading: loading.seconds,
            resident_bytes: all.resident_bytes,
            alerts: rules::alerts(&events),
        })
    }

    /// Its first thread loads and clears up, the others do all that packets cost.
    fn suricata(&self, depths: Depths, capture: &Path) -> io::Result<Cost> {
        let home = self.path("suricata");
        let all = suricata::read(&home, &self.rules, capture, depths)?;
        Ok(Cost {
            seconds: all.seconds_of_threads,
            elapsed: suricata::elapsed_seconds(&home)?,
            loading: all.seconds - all.seconds_of_threads,
            resident_bytes: all.resident_bytes,
            alerts: suricata::alerts(&home),
        })
    }
}

fn middle(costs: &[Cost]) -> Cost {
    let middle = |figure: fn(&Cost) -> f64| median(costs.iter().map(figure));
    Cost {
        seconds: middle(|cost| cost.seconds),
        elapsed: middle(|cost| cost.elapsed),
        loading: middle(|cost| cost.loading),
        ..costs.last().copied().unwrap_or_default()
    }
}

/// Runs it and prints a table for each capture.
pub fn run(directory: &Path) -> io::Result<()> {
    let line = Line::open(&directory.join("ids-speed"))?;
    println!(
        "\nRules: {}. Suricata: one worker, Hyperscan, its configuration as Debian ships it, and with its depths raised to all that is \
         said, which is what lockgate reads. Reading is processor time without loading: of Suricata that of all threads but the first, \
         which loads; of lockgate what a capture takes beyond one of one frame. By the clock it is what Suricata says itself (\"time \
         elapsed\"), and the same difference. MB are those of the frames, by processor time. The marks in the traffic make alerts: one at the \
         beginning and one at the end of a page or an attachment, in one connection of {}.",
        line.rules.words,
        traffic::MARKED_EVERY
    );
    let wanted = std::env::var(CAPTURES_NAME).unwrap_or_default();
    for spoken in [Spoken::Http, Spoken::Smtp] {
        for (name, segment_bytes) in SEGMENTS {
            let title = format!("{}, segments of {name}", spoken.name());
            if !title.contains(&wanted) {
                continue;
            }
            let path = line.path("capture.pcap");
            let made = traffic::write(spoken, segment_bytes, &path)?;
            let costs = line.costs(&READERS, &path)?;
            print(&title, made, &costs);
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn print(title: &str, made: Made, costs: &[Cost]) {
    let megabytes = made.bytes as f64 / 1e6;
    let heads = [
        "candidate",
        "reading s",
        "by the clock s",
        "loading s",
        "MB/s",
        "lockgate's over it",
        "asked",
        "MiB",
        "alerts",
    ];
    let mut table = Table::new(&format!("{title}: {megabytes:.0} MB in {} frames", made.frames), &heads);
    for (reader, cost) in READERS.iter().zip(costs) {
        let asked = if *reader == Reader::Lockgate { "-" } else { ">= 1, aim 1.5" };
        table.row(
            reader.name(),
            &[
                format!("{:.2}", cost.seconds),
                format!("{:.2}", cost.elapsed),
                format!("{:.2}", cost.loading),
                format!("{:.0}", megabytes / cost.seconds),
                format!("{:.2}", cost.seconds / costs[0].seconds),
                asked.to_owned(),
                format!("{}", cost.resident_bytes >> 20),
                format!("{}", cost.alerts),
            ],
        );
    }
    table.print();
}
