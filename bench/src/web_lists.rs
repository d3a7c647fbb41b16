//! The lists that the web's candidates share: [`Lists`]. Rule: e2guardian's as Debian ships them, with all of its phrases in
//! use; sites of the category trees that are named, or as many made here.

use crate::mail::Random;
use crate::peers::{directory, run};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sites that are made where none are named; UT1's trees have as many.
pub const SITES: usize = 637_941;
/// Phrases that are made where e2guardian's lists are not installed.
const PHRASES: usize = 18_543;
/// Names a directory of category trees (`adult/domains`, `adult/urls`) whose sites are to be used.
const TREES: &str = "BENCH_SITES";
const SHIPPED: &str = "/etc/e2guardian/lists";

/// Lists in a directory of their own.
pub struct Lists {
    /// Where they are.
    pub directory: PathBuf,
    /// What they are, in words.
    pub words: String,
}

impl Lists {
    /// Makes them anew below `home`.
    pub fn make(home: &Path) -> std::io::Result<Self> {
        let _ = fs::remove_dir_all(home);
        directory(home, None)?;
        let lists = home.join("lists");
        let phrases = if Path::new(SHIPPED).exists() { shipped(&lists)? } else { made(&lists)? };
        let (includes, sites) = sites(&lists)?;
        append(&lists.join("bannedsitelist"), &includes)?;
        Ok(Self { directory: lists, words: format!("{sites}, {phrases}") })
    }
}

/// Debian's, with each phrase list in use, whatever its language.
fn shipped(lists: &Path) -> std::io::Result<String> {
    run(Command::new("cp").arg("-r").arg(SHIPPED).arg(lists))?;
    move_paths(lists, SHIPPED, lists)?;
    let mut files = Vec::new();
    files_below(&lists.join("phraselists"), &mut files)?;
    files.sort();
    let mut phrases = 0;
    for (start, name) in [
        ("weighted", "weightedphraselist"),
        ("banned", "bannedphraselist"),
        ("exception", "exceptionphraselist"),
    ] {
        let is_one =
            |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
        let mut text = String::new();
        for path in files.iter().filter(is_one) {
            phrases +=
                fs::read(path)?.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"<")).count();
            let _ = writeln!(text, ".Include<{}>", path.display());
        }
        fs::write(lists.join(name), text)?;
    }
    Ok(format!("all {phrases} lines of the phrase lists that e2guardian ships"))
}

/// Where nothing is shipped: phrases of made words.
fn made(lists: &Path) -> std::io::Result<String> {
    fs::create_dir_all(lists)?;
    fs::write(lists.join("bannedsitelist"), "")?;
    let mut random = Random::new(PHRASES as u64);
    let mut word = || {
        let number = random.number();
        (0..4 + number % 6)
            .map(|at| char::from(b'a' + (number >> (8 + 5 * at) & 31) as u8 % 26))
            .collect::<String>()
    };
    let lines: String = (1..=PHRASES).map(|n| format!("<{} {}><{}>\n", word(), word(), n % 90)).collect();
    fs::write(lists.join("weightedphraselist"), lines)?;
    Ok(format!("{PHRASES} made phrases"))
}

/// The lines of a list of sites that include all of them, and what they are.
fn sites(lists: &Path) -> std::io::Result<(String, String)> {
    let Some(trees) = std::env::var_os(TREES) else {
        let path = lists.join("bench-sites");
        fs::write(&path, made_sites())?;
        return Ok((format!("\n.Include<{}>\n", path.display()), format!("{SITES} made sites")));
    };
    let (mut includes, mut count) = ("\n".to_owned(), 0);
    let home = lists.join("blacklists");
    let mut categories: Vec<_> = fs::read_dir(trees)?.flatten().map(|entry| entry.path()).collect();
    categories.sort();
    for category in categories {
        let (Ok(domains), Some(name)) = (fs::read(category.join("domains")), category.file_name()) else {
            continue;
        };
        count += domains.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        fs::create_dir_all(home.join(name))?;
        let path = home.join(name).join("domains");
        fs::write(&path, domains)?;
        let _ = writeln!(includes, ".Include<{}>", path.display());
    }
    Ok((includes, format!("{count} sites of the category trees in ${TREES}")))
}

/// As many names of sites as a large collection of lists has.
pub fn made_sites() -> String {
    let mut random = Random::new(SITES as u64);
    let mut text = String::new();
    for _ in 0..SITES {
        let _ = writeln!(text, "{:016x}.example", random.number());
    }
    text
}

/// Names the files of the copy in place of those of the system.
pub fn move_paths(directory: &Path, from: &str, to: &Path) -> std::io::Result<()> {
    let expression = format!("s,{from},{},g", to.display());
    let mut find = Command::new("find");
    find.arg(directory).args(["-type", "f", "-exec", "sed", "-i", &expression, "{}", "+"]);
    run(&mut find)
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    bytes.extend_from_slice(text.as_bytes());
    fs::write(path, bytes)
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { files_below(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
