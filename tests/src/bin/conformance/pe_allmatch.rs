//! `pe-allmatch`: each database of ClamAV's `pe_allmatch` by itself. Rule: it alerts on the program that it is for, by its own
//! name, and on no other file.

use std::path::{Path, PathBuf};

use super::{files_below, name_of, scan};
use lockgate_tests::temporary::Directory;

/// What databases of programs for ClamAV's own machine end in: they are not run, and reported.
const PROGRAMS: &str = "cbc";

/// Checks each database of the set.
pub fn check(directory: &Path) -> Vec<String> {
    let files = files_below(directory);
    let within = |folder: &str| {
        let marked = format!("/pe_allmatch/{folder}");
        files.iter().filter(move |path| path.to_string_lossy().contains(&marked)).collect::<Vec<_>>()
    };
    let Some(program) = within("test.exe").pop() else { return vec![String::from("no test.exe")] };
    // What the others follow from, and finds nothing itself.
    let weak = within("weak-sigs");
    let clean: Vec<PathBuf> = ["/bin/sh", "/bin/ls", "/usr/bin/openssl"]
        .iter()
        .map(PathBuf::from)
        .chain(within("test-exe-src").into_iter().cloned())
        .filter(|path| path.exists())
        .collect();
    let (mut alerts, mut reported, mut wrong) = (0, 0, Vec::new());
    for database in within("alert-sigs") {
        let place = Directory::new("database");
        for path in weak.iter().chain([&database]) {
            let bytes = std::fs::read(path).expect("a database can be read");
            place.write(&name_of(path), bytes);
        }
        let name = name_of(database);
        if name.ends_with(PROGRAMS) {
            reported += 1;
            continue;
        }
        let wanted = name.split(".UNOFFICIAL").next().unwrap_or(&name);
        let lines = scan(place.path(), program).lines.join(" ");
        if lines.contains(&format!("\"{wanted}\"")) {
            alerts += 1;
        } else {
            wrong.push(format!("{name}: {lines}"));
        }
        for other in &clean {
            if scan(place.path(), other).status == 1 {
                wrong.push(format!("{name} alerts on {}", other.display()));
            }
        }
    }
    println!(
        "pe-allmatch: {alerts} databases alert by name, {reported} are programs and are reported; {} other files",
        clean.len()
    );
    wrong
}
