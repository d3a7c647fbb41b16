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

/// What the functions have in their names that make what is searched for, when rules are loaded and when a flow of a new kind comes. All that
/// they call is of that, too.
const LOADING: &[&str] = &[
    "lockgate::rules",
    "lockgate_ids::compiler",
    "lockgate_matcher::set::PatternSet::compile",
    "lockgate_matcher::database::Database::new",
    "drop_in_place<lockgate_ids::database",
];
const LOADING_NAME: &str = "loading, and making searches";

/// What the functions of a part have in their names; the first that fits counts.
const PARTS: [(&str, &[&str]); 7] = [
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
        for part in [LOADING_NAME].into_iter().chain(PARTS.map(|(part, _)| part)).chain([OTHERS]) {
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
        // A sample is the functions that it is in, the innermost first, between empty lines.
        let mut functions = Vec::new();
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if !line.trim().is_empty() {
                functions.push(line);
            } else if !functions.is_empty() {
                *counts.entry(part_of(&functions)).or_default() += 1;
                functions.clear();
            }
        }
    }
    script.wait()?;
    fs::remove_file(samples)?;
    Ok(counts)
}

/// The part that a sample belongs to.
fn part_of(functions: &[String]) -> &'static str {
    let has = |function: &String, words: &[&str]| words.iter().any(|word| function.contains(word));
    if functions.iter().any(|function| has(function, LOADING)) {
        return LOADING_NAME;
    }
    let of = |function| PARTS.iter().find(|(_, words)| has(function, words)).map(|(part, _)| *part);
    functions.iter().find_map(of).unwrap_or(OTHERS)
}
