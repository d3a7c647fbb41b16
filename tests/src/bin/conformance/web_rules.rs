//! Lists of headers, browsers, referers, searched words, clients and rewritten URLs, made by seed, and a request for each of their
//! lines. Rule: a line that is not named must be named where it is alone, so that another line is why.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lockgate_tests::e2guardian::LISTS;
use lockgate_tests::gateway::binary;
use lockgate_tests::temporary::Directory;
use serde_json::Value;

use super::Dice;
use super::web_lines::example;
use super::web_lists::answered;

/// How many lines of each list are made.
const EACH: usize = 40;

/// One line of a list, and what it is about.
struct Rule {
    list: &'static str,
    /// From 1.
    number: usize,
    text: String,
    /// A line of the request's header, a client or nothing.
    option: Option<[String; 2]>,
    url: String,
}

/// Makes the lists, asks for each line, and says which is not named.
pub fn check(seed: u64) -> Vec<String> {
    let place = Directory::new("web-rules");
    let mut dice = Dice(seed);
    let mut rules = Vec::new();
    for (list, make) in LINES {
        rules.extend((1..=EACH).map(|number| Rule { number, ..make(list, number, &mut dice) }));
    }
    rules.extend(shipped());
    let lists = place.join("lists");
    write(&lists, &rules.iter().collect::<Vec<_>>());
    let (mut tallies, mut wrong) = (BTreeMap::<&str, (usize, usize)>::new(), Vec::new());
    for rule in &rules {
        let (named, alone) = tallies.entry(rule.list).or_default();
        if is_named(rule, rule.number, &lists) {
            *named += 1;
            continue;
        }
        let by_itself = Directory::new("web-rule");
        write(by_itself.path(), &[rule]);
        if is_named(rule, 1, by_itself.path()) {
            *alone += 1;
        } else {
            wrong.push(format!("seed {seed}: {}:{} {:?}: {}", rule.list, rule.number, rule.text, rule.url));
        }
    }
    for (list, (named, alone)) in tallies {
        println!(
            "web-lists: seed {seed}: {list}: {named} named, {alone} only where no line before it changes the URL"
        );
    }
    wrong
}

/// Writes each list with its lines, where they have to be.
fn write(directory: &Path, rules: &[&Rule]) {
    fs::create_dir_all(directory).expect("a directory can be made");
    let mut lists: BTreeMap<&str, String> = BTreeMap::new();
    for rule in rules {
        *lists.entry(rule.list).or_default() += &format!("{}\n", rule.text);
    }
    for (list, text) in lists {
        fs::write(directory.join(list), text).expect("a list can be written");
    }
    let searches = fs::read(Path::new(LISTS).join("searchregexplist")).unwrap_or_default();
    fs::write(directory.join("searchregexplist"), searches).expect("a list can be written");
}

fn is_named(rule: &Rule, number: usize, lists: &Path) -> bool {
    let mut command = Command::new(binary());
    command.args(["url", "--json", "--lists"]).arg(lists).args(rule.option.iter().flatten());
    let answers = answered(command.arg("--").arg(&rule.url));
    let Some(answer) = answers.first() else { return false };
    let is_it = |said: &Value| {
        let file = said["file"].as_str().unwrap_or_default();
        file.rsplit('/').next() == Some(rule.list) && said["line"] == number
    };
    let all = |name: &str| answer[name].as_array().into_iter().flatten();
    // What changes the URL is named by its rule, what has the request with its file.
    let name = format!("{}:{number}", rule.list);
    is_it(answer) || all("also").any(is_it) || all("by").any(|by| *by == *name)
}

type Make = fn(&'static str, usize, &mut Dice) -> Rule;

const LINES: [(&str, Make); 11] = [
    ("bannedregexpheaderlist", header),
    ("exceptionregexpheaderlist", header),
    ("bannedregexpuseragentlist", user_agent),
    ("exceptionregexpuseragentlist", user_agent),
    ("refererexceptionsitelist", referer),
    ("refererexceptionurllist", referer),
    ("bannedsearchlist", words),
    ("bannedsearchoveridelist", words),
    ("localbannedsearchlist", words),
    ("bannediplist", client),
    ("urlredirectregexplist", redirect),
];

const WORDS: [&str; 16] = [
    "amber", "brook", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll",
    "lagoon", "marsh", "north", "ocean", "plain",
];

fn word(dice: &mut Dice) -> &'static str {
    WORDS[dice.roll(WORDS.len())]
}

/// An expression with a word of its own, and some text that it matches.
fn expression(number: usize, dice: &mut Dice) -> String {
    let (one, other) = (word(dice), word(dice));
    [
        format!("{one}{number}"),
        format!("{one}/[0-9]+ .*{other}{number}"),
        format!("({one}|{other})-{number}(; *{one})?"),
        format!("[a-f]{one}\\.{number}"),
    ][dice.roll(4)]
    .clone()
}

fn made(list: &'static str, text: String, option: Option<[String; 2]>, url: String) -> Rule {
    Rule { list, number: 0, text, option, url }
}

fn line_of_header(line: String) -> Option<[String; 2]> {
    Some([String::from("--header"), line])
}

fn header(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let (name, expression) = (word(dice), expression(number, dice));
    let value = example(&expression).unwrap_or_default();
    let text = format!("^X-{name}: .*{expression}");
    made(
        list,
        text,
        line_of_header(format!("x-{name}: some {value} thing")),
        String::from("http://a.example/"),
    )
}

fn user_agent(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let expression = expression(number, dice);
    let value = example(&expression).unwrap_or_default();
    let option = line_of_header(format!("User-Agent: Browser/5.0 ({value})"));
    made(list, expression, option, String::from("http://a.example/"))
}

fn referer(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let site = format!("{}{number}.{}.example", word(dice), word(dice));
    let text = if list.ends_with("urllist") { format!("{site}/{}", word(dice)) } else { site };
    let slash = if text.contains('/') { "" } else { "/" };
    let option = line_of_header(format!("Referer: http://www.{text}{slash}/deep?x=1"));
    made(list, text, option, String::from("http://a.example/"))
}

fn words(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let mut words = vec![word(dice).to_owned(), word(dice).to_owned(), format!("{list}{number}")];
    words.truncate(1 + dice.roll(3));
    words.push(format!("{list}{number}x"));
    words.sort();
    words.dedup();
    let text = words.join("+");
    let by = dice.roll(words.len());
    words.rotate_left(by);
    made(list, text, None, format!("http://www.google.com/search?q={}", words.join("+")))
}

fn client(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let (third, bits) = (dice.roll(256), [24, 28, 32][dice.roll(3)]);
    let text = format!("10.{number}.{third}.0/{bits}");
    let option = Some([String::from("--client"), format!("10.{number}.{third}.0")]);
    made(list, text, option, String::from("http://a.example/"))
}

fn redirect(list: &'static str, number: usize, dice: &mut Dice) -> Rule {
    let (site, path) = (format!("{}{number}.example", word(dice)), expression(number, dice));
    let text = format!("\"^http://{site}/{path}\"->\"http://other.example/{number}\"");
    let url = format!("http://{site}/{}", example(&path).unwrap_or_default().replace(' ', ""));
    made(list, text.replace(' ', ""), None, url)
}

/// The lines that e2guardian ships as examples of what changes URLs, in use.
fn shipped() -> Vec<Rule> {
    let text = fs::read_to_string(Path::new(LISTS).join("urlregexplist")).unwrap_or_default();
    let lines =
        text.lines().filter_map(|line| line.strip_prefix('#').filter(|line| line.starts_with("\"(^http")));
    let rule = |line: &str| {
        let expression = line[1..].split("\"->\"").next()?;
        Some(made("urlregexplist", line.to_owned(), None, example(expression)?))
    };
    let rules = lines.filter_map(rule).zip(1..);
    rules.map(|(rule, number)| Rule { number, ..rule }).collect()
}
