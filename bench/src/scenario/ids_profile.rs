//! Where the time of the rules on the wire goes, part by part: matching, rules, session look-up, reassembly, decoding. Rule: the captures and rules
//! of `ids_speed`; a sample counts for the innermost part that it is in.

use crate::gateway::binary;
use crate::report::Table;
use crate::scenario::ids_speed::Line;
use crate::traffic::{self, SEGMENTS, Spoken};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// What the functions of a part have in their names; the first that fits counts.
const PARTS: [(&str, &[&str]); 8] = [
    (
        "loading",
        &[
            "lockgate_ids::compiler",
            "lockgate_ids::ruleset",
            "lockgate::rules",
            "drop_in_place<lockgate_ids::database",
        ],
    ),
    ("matching", &["lockgate_matcher::", "lockgate_ids::search"]),
    ("rule evaluation", &["lockgate_ids::", "lockgate_perl::"]),
    ("reassembly", &["lockgate_packet::stream", "lockgate_packet::pieces", "lockgate_packet::fragments"]),
    ("session look-up", &["lockgate_packet::flows", "lockgate_packet::tracker"]),
    ("decoding: packets", &["lockgate_packet::"]),
    (
        "decoding: protocols and content",
        &[
            "lockgate_proto::",
            "lockgate_content::",
            "lockgate_inspect::",
            "lockgate_capture::speech",
            "lockgate_capture::conversation",
        ],
    ),
    ("reading and telling", &["lockgate_capture::", "lockgate_eve::", "lockgate::"]),
];
const OTHERS: &str = "what is in none of them";

/// Runs it and prints a table for what is spoken, a column for each length of segments.
pub fn run(directory: &Path) -> io::Result<()> {
    let line = Line::open(&directory.join("ids-profile"))?;
    for spoken in [Spoken::Http, Spoken::Smtp] {
        let mut columns = Vec::new();
        for (_, segment_bytes) in SEGMENTS {
            let path = line.path("capture.pcap");
            traffic::write(spoken, segment_bytes, &path)?;
            columns.push(profile(&line, &path)?);
            fs::remove_file(path)?;
        }
        let names = SEGMENTS.map(|(name, _)| format!("segments of {name}"));
        let heads: Vec<&str> =
            ["percent of the time"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let mut table =
            Table::new(&format!("{}: where the time goes ({})", spoken.name(), line.rules.words), &heads);
        for part in PARTS.iter().map(|(part, _)| *part).chain([OTHERS]) {
            let cells: Vec<String> = columns
                .iter()
                .map(|samples| {
                    let all: u64 = samples.values().sum();
                    format!(
                        "{:.1}",
                        100.0 * samples.get(part).copied().unwrap_or(0) as f64 / all.max(1) as f64
                    )
                })
                .collect();
            table.row(part, &cells);
        }
        table.print();
    }
    Ok(())
}

/// How many samples are in which part.
fn profile(line: &Line, capture: &Path) -> io::Result<BTreeMap<&'static str, u64>> {
    let samples = line.path("perf.data");
    let mut record = Command::new("perf");
    // Without counters of the processor, as in most virtual machines, the clock of the kernel samples.
    record
        .args(["record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,8192", "-o"])
        .arg(&samples);
    record.arg(binary()?).args(["ids", "--checksums", "ignore", "--eve", "/dev/null", "--rules"]);
    record.arg(&line.rules.directory).arg("--pcap").arg(capture);
    let is_there = record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there.map_err(|_| io::Error::other("perf is not there; install linux-perf for the profile"))?;
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-F", "ip,sym", "-i"]).arg(&samples);
    let mut script = script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut counts = BTreeMap::new();
    if let Some(out) = script.stdout.take() {
        // A sample is the functions that it is in, the innermost first, and an empty line.
        let mut part = None;
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line.trim().is_empty() {
                *counts.entry(part.take().unwrap_or(OTHERS)).or_default() += 1;
            } else if part.is_none() {
                part = part_of(&line);
            }
        }
    }
    script.wait()?;
    fs::remove_file(samples)?;
    Ok(counts)
}

/// The part that a function belongs to.
fn part_of(function: &str) -> Option<&'static str> {
    let fits = |(_, words): &&(&str, &[&str])| words.iter().any(|word| function.contains(word));
    PARTS.iter().find(fits).map(|(part, _)| *part)
}
