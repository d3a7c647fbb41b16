//! What the wire's candidates are asked to look for: [`Rules`]. Rule: the same files for all of a run.

use crate::mail::Random;
use crate::traffic::MARKS;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

/// The variable that names a file of rules, or a directory of them with its `classification.config`, to be used in place of made ones.
const RULES: &str = "BENCH_RULES";
/// How many rules are made where none are named.
const MADE: usize = 20_000;

/// The first number of the rules for what the traffic is marked with.
const MARKS_SID: u32 = 9_100_001;

/// Files of rules in a directory of their own.
pub struct Rules {
    /// Where they are.
    pub directory: PathBuf,
    /// What they are, in words.
    pub words: String,
}

impl Rules {
    /// Those that `BENCH_RULES` names, or made ones, written anew below `home`.
    ///
    /// # Errors
    ///
    /// Those of the file system, and where no rule is named.
    pub fn make(home: &Path) -> io::Result<Self> {
        let directory = home.join("rules");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory)?;
        let words = match std::env::var_os(RULES).map(PathBuf::from) {
            Some(from) => copied(&from, &directory)?,
            None => {
                fs::write(directory.join("made.rules"), made())?;
                format!("{MADE} made rules")
            }
        };
        fs::write(directory.join("marks.rules"), of_marks())?;
        if !directory.join("classification.config").exists() {
            fs::write(directory.join("classification.config"), "")?;
        }
        Ok(Self { directory, words })
    }

    /// The name that stands for all of them.
    pub fn pattern(&self) -> PathBuf {
        self.directory.join("*.rules")
    }

    /// The file with their classes.
    pub fn classes(&self) -> PathBuf {
        self.directory.join("classification.config")
    }
}

/// Rules for what the traffic is marked with, so that it is seen how far somebody has read.
fn of_marks() -> String {
    let places = MARKS.iter().flat_map(|mark| [("http", mark), ("smtp", mark)]);
    let rule = |((protocol, mark), sid)| {
        format!(
            "alert {protocol} any any -> any any (msg:\"bench {mark}\"; flow:established; file.data; \
             content:\"{mark}\"; sid:{sid};)\n"
        )
    };
    places.zip(MARKS_SID..).map(rule).collect()
}

fn copied(from: &Path, to: &Path) -> io::Result<String> {
    let files: Vec<PathBuf> = match from.is_dir() {
        true => fs::read_dir(from)?.flatten().map(|entry| entry.path()).collect(),
        false => vec![from.to_owned()],
    };
    let mut count = 0;
    for file in files {
        let Some(name) = file.file_name() else { continue };
        let is_rules = file.extension() == Some(OsStr::new("rules"));
        if !is_rules && name != "classification.config" {
            continue;
        }
        let text = fs::read(&file)?;
        if is_rules {
            let lines = text.split(|byte| *byte == b'\n');
            count += lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).count();
        }
        fs::write(to.join(name), text)?;
    }
    match count {
        0 => Err(io::Error::other(format!("{RULES}: no rule in {}", from.display()))),
        count => Ok(format!("the {count} active rules in ${RULES}")),
    }
}

/// Rules of the kinds that published ones are of, about words that nobody says.
fn made() -> String {
    let mut random = Random::new(MADE as u64);
    let mut text = String::new();
    for number in 1..=MADE {
        let word = |random: &mut Random| {
            let (bits, length) = (random.number(), 5 + random.number() % 12);
            (0..length)
                .map(|at| char::from(b'a' + (bits >> (4 * at) & 15) as u8 + (at % 7) as u8))
                .collect::<String>()
        };
        let (one, other) = (word(&mut random), word(&mut random));
        let head = match number % 8 {
            0 | 1 => format!(
                "alert http $HOME_NET any -> $EXTERNAL_NET any (flow:established,to_server; http.uri; content:\"/{one}\"; content:\"{other}\"; distance:0;"
            ),
            2 => format!(
                "alert http $HOME_NET any -> $EXTERNAL_NET any (flow:established,to_server; http.user_agent; content:\"{one}\"; nocase;"
            ),
            3 => format!(
                "alert http $HOME_NET any -> $EXTERNAL_NET any (flow:established,to_server; http.host; content:\"{one}.test\";"
            ),
            4 => format!(
                "alert http $EXTERNAL_NET any -> $HOME_NET any (flow:established,to_client; file.data; content:\"{one}\"; nocase; content:\"{other}\"; within:100;"
            ),
            5 => format!(
                "alert tcp $EXTERNAL_NET any -> $HOME_NET any (flow:established; content:\"{one}\"; content:\"|00|{other}\"; distance:4;"
            ),
            6 => format!(
                "alert smtp $EXTERNAL_NET any -> $HOME_NET any (flow:established,to_server; file.data; content:\"{one}\"; content:\"{other}\";"
            ),
            _ => {
                let address =
                    std::net::Ipv4Addr::from_bits(0x4000_0000 | random.number() as u32 & 0x3fff_ffff);
                format!("alert ip {address} any -> $HOME_NET any (")
            }
        };
        let _ = writeln!(text, "{head} msg:\"bench {number}\"; sid:{number};)");
    }
    text
}

/// How many alerts are told of in a file of events, a line each.
pub fn alerts(events: &Path) -> usize {
    alert_lines(events).count()
}

/// Whether a rule of that number is told of there.
pub fn has_alert_of(events: &Path, signature: u32) -> bool {
    let number = format!("\"signature_id\":{signature},");
    alert_lines(events).any(|line| memchr::memmem::find(&line, number.as_bytes()).is_some())
}

fn alert_lines(events: &Path) -> impl Iterator<Item = Vec<u8>> {
    let is_alert = |line: &Vec<u8>| memchr::memmem::find(line, b"\"event_type\":\"alert\"").is_some();
    let file = fs::File::open(events).ok().map(io::BufReader::new);
    file.into_iter().flat_map(|file| file.split(b'\n').map_while(Result::ok)).filter(is_alert)
}
