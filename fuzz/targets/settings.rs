//! The configuration file. Rule: it gives settings, or problems of which each has its place in the file and says what to do.
#![no_main]

use lockgate::config::{Config, Problem, describe};
use std::path::Path;

const FILE: &str = "fuzz.toml";

libfuzzer_sys::fuzz_target!(|content: &[u8]| match parse(content) {
    Ok(config) => {
        let words = describe(&config);
        assert!(words.starts_with("configuration: fuzz.toml\n"));
        assert!(config.settings.listeners.iter().all(|listener| words.contains(&listener.name)));
        taken_whole(content);
    }
    Err(problems) => {
        assert!(!problems.is_empty());
        assert!(problems.is_sorted_by_key(|problem| (problem.line, problem.column)));
        have_their_place(&problems, content);
        problems.iter().for_each(says_what_to_do);
    }
});

fn parse(content: &[u8]) -> Result<Config, Vec<Problem>> {
    Config::parse(FILE, content, Path::new("base"))
}

/// What is accepted was read to its end: one more table that nobody knows is refused, where it stands.
fn taken_whole(content: &[u8]) {
    let more = [content, b"\n[nowhere]\n"].concat();
    let lines = content.iter().filter(|c| **c == b'\n').count() + 1;
    let problems = parse(&more).expect_err("nobody knows that table");
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].line, problems[0].column), (lines + 1, 2));
}

fn have_their_place(problems: &[Problem], content: &[u8]) {
    let text = String::from_utf8_lossy(content);
    let lengths: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    for problem in problems {
        assert_eq!(problem.file, FILE);
        assert!((1..=lengths.len()).contains(&problem.line), "{problem}");
        assert!((1..=lengths[problem.line - 1] + 1).contains(&problem.column), "{problem}");
    }
}

/// In one line, which nothing in the file can break.
fn says_what_to_do(problem: &Problem) {
    let message = &problem.message;
    assert!(!message.contains(char::is_control), "{message:?}");
    assert!(message.contains(": ") || message.contains(", expected "), "{message:?}");
}
