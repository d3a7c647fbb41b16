//! Packets per second and memory under floods: `lockgate ids` beside Suricata. Rule: what is made to cost memory costs no more than the bound.

use crate::peers::suricata::Depths;
use crate::report::Table;
use crate::scenario::ids_speed::{Line, Reader};
use crate::traffic::{self, Flood};
use std::fs;
use std::io;
use std::path::Path;

const READERS: [Reader; 2] = [Reader::Lockgate, Reader::Suricata(Depths::Shipped)];

/// Runs it and prints a table for each flood.
pub fn run(directory: &Path) -> io::Result<()> {
    let line = Line::open(&directory.join("ids-flood"))?;
    println!("\nRules: {}. Memory is the most that was resident, rules included.", line.rules.words);
    let loading = line.loading(&READERS)?;
    for flood in [Flood::HalfOpen, Flood::Fragments, Flood::Overlapping] {
        let path = line.path("capture.pcap");
        let made = traffic::flood(flood, &path)?;
        let costs = line.costs(&READERS, &path)?;
        let heads = ["candidate", "reading s", "loading s", "packets/s", "MiB", "of it loading"];
        let mut table = Table::new(&format!("{}: {} frames", flood.name(), made.frames), &heads);
        for ((reader, cost), loading) in READERS.iter().zip(&costs).zip(&loading) {
            table.row(
                reader.name(),
                &[
                    format!("{:.2}", cost.seconds),
                    format!("{:.2}", cost.loading),
                    format!("{:.0}", made.frames as f64 / cost.seconds),
                    format!("{}", cost.resident_bytes >> 20),
                    format!("{}", loading.resident_bytes >> 20),
                ],
            );
        }
        table.print();
        fs::remove_file(path)?;
    }
    Ok(())
}
