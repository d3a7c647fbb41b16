//! The pages that both filters judge. Rule: drawn by seed, and by the lists' own words: with no code of the gateway's.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::super::web_lines::{lines_of, phrases};
use super::super::{Dice, files_below};

const SEEDS: [u64; 3] = [50, 51, 52];
/// How many pages are made with any number of phrases by each seed.
const ANY: usize = 700;
/// How many are made for each limit, so that their points are near it.
pub const NEAR: usize = 300;
/// How many of each sort that e2guardian is known to read otherwise.
const ODD: usize = 4;
/// How many files of the data are taken at most, and how long.
const FILES_MAX: usize = 6000;
const FILE_BYTES_MAX: u64 = 400 << 10;
/// How many phrases are tried for a page that is to have a few points more.
const TRIES: usize = 30;

/// A page, and what it is of.
#[derive(Clone, Debug)]
pub struct Page {
    pub sort: Sort,
    pub name: String,
    pub content_type: String,
    pub bytes: Vec<u8>,
}

/// Where a page is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    File,
    Any,
    /// Near some limit.
    Near,
    /// Written as e2guardian does not read it.
    Odd,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "files of the data",
            Self::Any => "pages of any number of phrases",
            Self::Near => "pages made to be near a limit",
            Self::Odd => "pages with references, other charsets and marks",
        }
    }
}

/// Files of the data that are text, HTML or not.
pub fn files(data: &Path) -> Vec<Page> {
    let paths = files_below(data);
    let step = paths.len().div_ceil(FILES_MAX * 4).max(1);
    let page = |path: &PathBuf| {
        let length = fs::metadata(path).ok()?.len();
        let is_list = path.to_string_lossy().contains("web-lists");
        if is_list || !(40..FILE_BYTES_MAX).contains(&length) {
            return None;
        }
        let bytes = fs::read(path).ok()?;
        let is_control = |byte: &u8| *byte < 9 || (14..27).contains(byte);
        if bytes.iter().any(is_control) {
            return None;
        }
        let head = bytes.get(..2000).unwrap_or(&bytes).to_ascii_lowercase();
        let is_html = head.windows(5).any(|five| five == b"<html" || five == b"<body");
        let content_type = if is_html { "text/html" } else { "text/plain" }.to_owned();
        Some(Page { sort: Sort::File, name: path.display().to_string(), content_type, bytes })
    };
    paths.iter().step_by(step).filter_map(page).take(FILES_MAX).collect()
}

/// Pages made of ordinary words and of phrases of the lists.
pub fn made(lists: &Path, limits: &[i32]) -> Vec<Page> {
    let lists = Lists::read(lists);
    SEEDS.into_iter().flat_map(|seed| by_seed(seed, &lists, limits)).collect()
}

fn by_seed(seed: u64, lists: &Lists, limits: &[i32]) -> Vec<Page> {
    let mut dice = Dice(seed);
    let mut pages = Vec::new();
    for number in 0..ANY {
        let count = dice.roll(40);
        let some: Vec<&[u8]> = (0..count).map(|_| lists.drawn(ENGLISH, &mut dice)).collect();
        // One in so many ends with a phrase.
        let end = if number % 16 == 0 { "" } else { "a quiet evening" };
        pages.push(page(Sort::Any, format!("any {number}"), "text/html", &some, end, &mut dice));
    }
    for limit in limits {
        for number in 0..NEAR {
            let some = lists.near(*limit, &mut dice);
            let name = format!("near {limit} {number}");
            pages.push(page(Sort::Near, name, "text/html", &some, "a quiet evening", &mut dice));
        }
    }
    pages.extend(odd(lists, &mut dice));
    for page in &mut pages {
        page.name = format!("seed {seed}: {}", page.name);
    }
    pages
}

/// What stands between phrases.
fn page(sort: Sort, name: String, content_type: &str, phrases: &[&[u8]], end: &str, dice: &mut Dice) -> Page {
    let mut bytes = b"<html><head><title>A page</title></head>\n<body class=\"text\">\n<p>".to_vec();
    let gap = 3 + dice.roll(30);
    for phrase in phrases {
        for _ in 0..gap {
            bytes.extend_from_slice(WORDS[dice.roll(WORDS.len())].as_bytes());
            let between = [" ", " ", " ", ",\n", "</p>\n<p>", " <a href=\"/a\">x</a> "][dice.roll(6)];
            bytes.extend_from_slice(between.as_bytes());
        }
        bytes.extend_from_slice(phrase);
        bytes.push(b' ');
    }
    bytes.extend_from_slice(end.as_bytes());
    bytes.extend_from_slice(b"</p>\n</body></html>\n");
    Page { sort, name, content_type: content_type.to_owned(), bytes }
}

/// Pages with phrases in ways that e2guardian reads otherwise.
fn odd(lists: &Lists, dice: &mut Dice) -> Vec<Page> {
    let latin =
        ["pornography/weighted_german", "pornography/weighted_french", "pornography/weighted_spanish"];
    let utf_8 = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>().into_bytes();
    let numbers = |bytes: &[u8]| bytes.iter().flat_map(|byte| format!("&#{byte};").into_bytes()).collect();
    let marked = |bytes: &[u8]| [&b"\xe2\x80\x9c"[..], bytes.trim_ascii(), b"\xe2\x80\x9d"].concat();
    let spaced =
        |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).replace(' ', "&nbsp;").into_bytes();
    let same = |bytes: &[u8]| bytes.to_vec();
    type Written<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let sorts: [(&str, &[&str], Written<'_>); 8] = [
        ("text/html", ENGLISH, &numbers),
        ("text/html", ENGLISH, &spaced),
        ("text/html; charset=utf-8", ENGLISH, &marked),
        ("text/html; charset=utf-8", &latin, &utf_8),
        ("text/html", &latin, &same),
        ("text/html; charset=iso-8859-1", &latin, &same),
        ("text/html; charset=iso-8859-2", &["pornography/weighted_polish"], &same),
        ("text/html; charset=windows-1251", &["pornography/weighted_russian"], &same),
    ];
    let mut pages = Vec::new();
    for (sort, (content_type, files, written)) in sorts.iter().enumerate() {
        for number in 0..ODD {
            let count = 1 + dice.roll(6);
            let some: Vec<_> = (0..count).map(|_| written(lists.drawn(files, dice))).collect();
            let some: Vec<&[u8]> = some.iter().map(Vec::as_slice).collect();
            let name = format!("odd {sort} {number}");
            pages.push(page(Sort::Odd, name, content_type, &some, "a quiet evening", dice));
        }
    }
    pages
}

const WORDS: [&str; 24] = [
    "ordinary", "weather", "bread", "garden", "the", "of", "with", "stone", "river", "winter", "table",
    "letter", "was", "seen", "by", "many", "who", "walked", "along", "quiet", "roads", "before", "noon",
    "again",
];

/// Lists in English that are in use.
const ENGLISH: &[&str] = &[
    "pornography/weighted",
    "goodphrases/weighted_general",
    "proxies/weighted",
    "warezhacking/weighted",
    "nudism/weighted",
];

/// The lines of the lists with points.
struct Lists {
    by_file: HashMap<String, Vec<Vec<u8>>>,
    /// The phrases of each line that may be found in a page of English words, and its points.
    weighted: Vec<(Vec<String>, i32)>,
}

impl Lists {
    fn read(lists: &Path) -> Self {
        let mut read = Self { by_file: HashMap::new(), weighted: Vec::new() };
        let below = lists.join("phraselists");
        let in_use = fs::read_to_string(lists.join("weightedphraselist")).unwrap_or_default();
        // In one order: of two lines for the same words it is always the same that counts here.
        let in_use: BTreeSet<&str> = in_use
            .lines()
            .filter_map(|line| {
                line.strip_prefix(".Include<")?.split('>').next()?.split("phraselists/").nth(1)
            })
            .collect();
        for file in in_use {
            for line in lines_of(&below.join(file).display().to_string()) {
                let parts = phrases(&line.bytes);
                if !line.bytes.starts_with(b"<") || parts.is_empty() {
                    continue;
                }
                // With a space behind each, so that phrases which begin or end with one are found.
                let words = parts.iter().flat_map(|part| [part, &b" "[..]].concat()).collect();
                read.by_file.entry(file.to_owned()).or_default().push(words);
                if let Some(points) = points(&line.bytes) {
                    let parts = parts.iter().map(|part| text(&part.to_ascii_lowercase())).collect();
                    read.weighted.push((parts, points));
                }
            }
        }
        assert!(!read.weighted.is_empty(), "e2guardian's lists are installed");
        read
    }

    /// The words of some line of some of these lists.
    fn drawn(&self, files: &[&str], dice: &mut Dice) -> &[u8] {
        let lines = &self.by_file[files[dice.roll(files.len())]];
        &lines[dice.roll(lines.len())]
    }

    /// Words of lines, so many that they have about as many points as the limit.
    fn near(&self, limit: i32, dice: &mut Dice) -> Vec<&[u8]> {
        let wanted = limit * 7 / 10 + dice.roll(limit as usize * 6 / 10) as i32;
        let mut chosen: Vec<&[u8]> = Vec::new();
        for _ in 0..TRIES {
            chosen.push(self.drawn(ENGLISH, dice));
            let points = self.points(&chosen);
            if points > limit * 13 / 10 {
                chosen.pop();
            } else if points >= wanted {
                break;
            }
        }
        chosen
    }

    /// What such words come to, each phrase once: about what e2guardian counts.
    fn points(&self, chosen: &[&[u8]]) -> i32 {
        let words: Vec<u8> = chosen.iter().flat_map(|words| [b" x ", *words, b" "].concat()).collect();
        let words = text(&words.to_ascii_lowercase());
        let has = |phrase: &String| words.contains(phrase.as_str());
        let found = self.weighted.iter().filter(|(parts, _)| parts.iter().all(has));
        let found: HashMap<&Vec<String>, i32> = found.map(|(parts, points)| (parts, *points)).collect();
        found.values().sum()
    }
}

/// A character for each byte.
fn text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The number behind a line's phrases.
fn points(line: &[u8]) -> Option<i32> {
    let at = line.windows(2).position(|two| two == b"><")?;
    let behind = &line[at + 2..];
    let end = behind.iter().position(|byte| *byte == b'>')?;
    std::str::from_utf8(&behind[..end]).ok()?.parse().ok()
}
