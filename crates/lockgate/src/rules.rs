//! From a configuration to a database of intrusion rules: [`load`]. Rule: as with signatures, what cannot be read, or a file of
//! which nothing can be used, is an error, so that a reload keeps what was loaded.

use crate::config::{Config, Source};
use crate::loading::files_below;
use lockgate_ids::{Clock, Database, Report, Sources};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What the demonstration rules are called.
pub const DEMONSTRATION_NAME: &str = "builtin:demonstration.rules";

/// The demonstration rules within the program.
pub const DEMONSTRATION: &[u8] = include_bytes!("../../../config/demonstration/demonstration.rules");

/// What was loaded, and what was not.
pub struct Rules {
    /// Ready to be asked.
    pub database: Database,
    /// What became of the rules.
    pub report: Report,
    /// What keeps it from serving.
    pub errors: Vec<String>,
}

/// Loads every rule that the configuration names, for a gateway: seconds are counted from now.
pub fn load(config: &Config) -> Rules {
    let begun = Instant::now();
    let mut rules = load_by(config, Arc::new(move || begun.elapsed().as_secs()));
    let useless = rules.report.useless.iter();
    rules.errors.extend(
        useless.map(|first| format!("{first} (none of the file's rules can be used, this is the first)")),
    );
    rules
}

/// The same, where somebody else knows the time, and does what can be done.
pub fn load_by(config: &Config, clock: Clock) -> Rules {
    let (mut sources, mut errors) = (Sources::new(), Vec::new());
    for (name, list) in &config.rule_variables {
        errors.extend(
            set(&mut sources, name, list).err().map(|reason| format!("ids.variables: {name}: {reason}")),
        );
    }
    sources.set_lists(Box::new(list_beside));
    let order: Vec<&str> = config.action_order.iter().map(String::as_str).collect();
    errors.extend(
        sources.set_action_order(&order).err().map(|reason| format!("ids.action_order: {reason} are wanted")),
    );
    for source in &config.rules {
        match source {
            Source::Demonstration => sources.add(DEMONSTRATION_NAME, DEMONSTRATION),
            Source::Path(path) => match files(path) {
                Ok(files) => files.iter().for_each(|file| read(&mut sources, file, &mut errors)),
                Err(error) => errors.push(format!("{}: {error}", path.display())),
            },
        }
    }
    let (database, report) = sources.compile(clock);
    Rules { database, report, errors }
}

/// A list that a rule names: beside the rule's file, where its name does not say otherwise.
fn list_beside(rules: &str, list: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(rules).parent().unwrap_or(Path::new(".")).join(list);
    std::fs::read(&path).map_err(|error| format!("cannot be read: {error}"))
}

/// A variable is of ports where its name says so.
fn set(sources: &mut Sources, name: &str, list: &str) -> Result<(), String> {
    if name.ends_with("_PORTS") || name.ends_with("_PORT") {
        sources.set_ports(name, list)
    } else {
        sources.set_addresses(name, list)
    }
}

fn read(sources: &mut Sources, file: &Path, errors: &mut Vec<String>) {
    let name = file.display().to_string();
    match std::fs::read(file) {
        Ok(bytes) => sources.add(&name, bytes),
        Err(error) => errors.push(format!("{name}: cannot be read: {error}")),
    }
}

/// The files that a path names: itself, those of a directory and below that are rules or classes of rules, or those that fit a
/// name with a star in it.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some((before, behind)) = name.split_once('*') {
        let directory = path.parent().unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(directory).map_err(|error| format!("cannot be read: {error}"))?;
        let fits = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.len() >= before.len() + behind.len() && name.starts_with(before) && name.ends_with(behind)
        };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(fits).collect();
        files.sort();
        return if files.is_empty() { Err("there is no such file".to_owned()) } else { Ok(files) };
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = files_below(path).map_err(|error| format!("cannot be read: {error}"))?;
    files.retain(|file| {
        let is_rules = file.extension().is_some_and(|ending| ending == "rules");
        is_rules || file.file_name().is_some_and(|name| name == "classification.config")
    });
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn config(rules: &[PathBuf]) -> Config {
        let mut config = Config::load(None).unwrap();
        config.rules = rules.iter().cloned().map(Source::Path).collect();
        config
    }

    #[test]
    fn the_demonstration_rules_load() {
        let rules = load(&Config::load(None).unwrap());
        assert_eq!(rules.errors, [""; 0]);
        assert_eq!((rules.report.rules_failed(), rules.report.wire), (0, 0));
        assert!(rules.report.both > 0);
    }

    #[test]
    fn directories_stars_and_what_is_wrong() {
        let scratch = Scratch::new("rules");
        let good = "alert http any any -> any any (msg:\"m\"; content:\"x\"; http_uri; sid:1;)\n";
        scratch.write("below/a.rules", good);
        scratch.write("below/notes.txt", "no rule");
        let broken = scratch.write("b.rules", "alert tcp\nalert http any any -> any any (sid:2)\n");
        assert_eq!(load(&config(&[scratch.path().join("below")])).report.both, 1);
        assert_eq!(load(&config(&[scratch.path().join("below/*.rules")])).report.both, 1);
        for wrong in [broken, scratch.path().join("c*.rules"), scratch.path().join("missing.rules")] {
            assert_eq!(load(&config(std::slice::from_ref(&wrong))).errors.len(), 1, "{}", wrong.display());
        }
        let mut bad = config(&[scratch.path().join("below")]);
        bad.rule_variables = vec![("HOME_NET".to_owned(), "nowhere".to_owned())];
        assert!(load(&bad).errors[0].contains("ids.variables: HOME_NET"));
    }
}
