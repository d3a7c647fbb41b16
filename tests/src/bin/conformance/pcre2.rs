//! `pcre2`: every expression of PCRE2's `testinput1` with each of its subjects. Rule: the answer expected is PCRE2's own, from
//! `testoutput1`; what a rule cannot write is listed with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::iter::Peekable;
use std::path::Path;

use super::files_below;
use lockgate_perl::{Flags, Found, Perl, Start};

/// Steps for one search: beyond PCRE2's own limit of ten million none of these goes.
const STEPS_MAX: u64 = 20_000_000;

/// An expression as the test writes it.
struct Case {
    line: usize,
    /// Between the slashes.
    expression: Vec<u8>,
    modifiers: String,
    subjects: Vec<Subject>,
}

struct Subject {
    line: usize,
    text: Vec<u8>,
    /// What PCRE2 matched, one after the other, as it prints it; empty where nothing.
    expected: Vec<String>,
}

/// Checks the set.
pub fn check(directory: &Path) -> Vec<String> {
    let files = files_below(directory);
    let read = |name: &str| {
        let path = files.iter().find(|path| path.ends_with(name))?;
        fs::read(path).ok()
    };
    let (Some(input), Some(output)) = (read("testinput1"), read("testoutput1")) else {
        return vec![String::from("no testinput1 with its testoutput1")];
    };
    let cases = cases(&input, &output);
    let (mut subjects, mut same, mut unexpressed) = (0, 0, BTreeMap::<String, u32>::new());
    let mut wrong = Vec::new();
    for case in &cases {
        subjects += case.subjects.len();
        match compiled(case) {
            Ok(perl) => {
                for subject in &case.subjects {
                    match answer(case, &perl, subject) {
                        Ok(()) => same += 1,
                        Err(reason) => wrong.push(reason),
                    }
                }
            }
            Err(reason) => {
                println!("pcre2: line {}: {reason}: {}", case.line, case.expression.escape_ascii());
                *unexpressed.entry(reason).or_default() += case.subjects.len() as u32;
            }
        }
    }
    println!(
        "pcre2: {} expressions, {subjects} subjects: {same} the same, {} otherwise, {} not expressed {unexpressed:?}",
        cases.len(),
        wrong.len(),
        unexpressed.values().sum::<u32>()
    );
    if subjects == 0 {
        wrong.push(String::from("nothing was asked"));
    }
    wrong.extend(unexpressed.into_iter().map(|(reason, count)| format!("{count} not expressed: {reason}")));
    wrong
}

/// The expression as a rule would write it: what is no letter of a rule stands in front of it.
fn compiled(case: &Case) -> Result<Perl, String> {
    let mut flags = Flags::default();
    let mut expression = case.expression.clone();
    for modifier in case.modifiers.split(',').map(str::trim).filter(|modifier| !modifier.is_empty()) {
        match modifier {
            // What is printed, and how PCRE2 runs it.
            "g" | "gm" | "mark" | "aftertext" | "jitstack=256" | "subject_literal" => {
                flags.multi_line |= modifier == "gm";
            }
            "no_start_optimize" => {}
            "dupnames" => expression.splice(..0, *b"(?J)").for_each(drop),
            "xx" => expression.splice(..0, *b"(?xx)").for_each(drop),
            "hex" => expression = hexadecimal(&expression),
            letters => {
                for letter in letters.chars() {
                    match letter {
                        'i' => flags.any_case = true,
                        's' => flags.dot_all = true,
                        'm' => flags.multi_line = true,
                        'x' => flags.extended = true,
                        _ => return Err(format!("the modifier {modifier}")),
                    }
                }
            }
        }
    }
    if case.modifiers.contains("no_start_optimize") {
        expression.splice(..0, *b"(*NO_START_OPT)").for_each(drop);
    }
    Perl::parse(&in_ascii(&expression), flags).map_err(|unread| unread.what.to_owned())
}

/// With `\xff` for what is no ASCII.
fn in_ascii(expression: &[u8]) -> String {
    let mut text = String::new();
    let mut is_escaped = false;
    for byte in expression {
        match byte {
            0..=0x7f => text.push(char::from(*byte)),
            byte if is_escaped => text.push_str(&format!("x{byte:02x}")),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    text
}

/// Whether the expression matches what it should. Where all matches are asked for, they are as far as none is empty.
fn answer(case: &Case, perl: &Perl, subject: &Subject) -> Result<(), String> {
    let is_global = case.modifiers.split(',').any(|modifier| modifier.starts_with('g'));
    let mut found = Vec::new();
    let mut from = 0;
    loop {
        let mut steps = STEPS_MAX;
        match perl.find(&subject.text, from, Start::Any, &mut steps) {
            Found::At(start, end) => {
                found.push(printed(subject.text.get(start..end).unwrap_or_default()));
                if !is_global || end <= from || start == end {
                    break;
                }
                from = end;
            }
            Found::Nowhere => break,
            Found::Spent => {
                found.push(String::from("(spent)"));
                break;
            }
        }
    }
    let expected = match is_global && found.len() < subject.expected.len() {
        true => subject.expected.get(..found.len()).unwrap_or_default(),
        false => subject.expected.as_slice(),
    };
    if found == expected && found.is_empty() == subject.expected.is_empty() {
        return Ok(());
    }
    Err(format!(
        "line {}: /{}/{} on line {}: {found:?}, expected {:?}",
        case.line,
        case.expression.escape_ascii(),
        case.modifiers,
        subject.line,
        subject.expected
    ))
}

/// As `pcre2test` prints a match.
fn printed(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            0x20..=0x7e => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\x{other:02x}")),
        }
    }
    text
}

/// The output is the input with the answers between its lines.
fn cases(input: &[u8], output: &[u8]) -> Vec<Case> {
    let mut answers = output.split(|byte| *byte == b'\n').peekable();
    let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let mut cases: Vec<Case> = Vec::new();
    // `#pattern` sets modifiers for all expressions that follow.
    let (mut at, mut is_literal, mut everywhere) = (0, false, "");
    while let Some(&line) = lines.get(at) {
        let begins = at;
        at += 1;
        // The answers behind a line are those up to the next line of the input.
        while answers.next_if(|answer| *answer != line).is_some() {}
        answers.next();
        if line.first() == Some(&b'/') {
            let mut text = line.to_vec();
            while closing(&text).is_none() && at < lines.len() {
                text.push(b'\n');
                text.extend_from_slice(lines[at]);
                answers.next();
                at += 1;
            }
            let close = closing(&text).unwrap_or(text.len() - 1);
            let own = String::from_utf8_lossy(text.get(close + 1..).unwrap_or_default()).into_owned();
            let modifiers = format!("{},{everywhere}", own.trim());
            is_literal = modifiers.contains("subject_literal");
            let expression = text.get(1..close).unwrap_or_default().to_vec();
            cases.push(Case { line: begins + 1, expression, modifiers, subjects: Vec::new() });
            continue;
        }
        match line.trim_ascii() {
            b"#pattern no_start_optimize" => everywhere = "no_start_optimize",
            b"#pattern -no_start_optimize" => everywhere = "",
            _ => {}
        }
        let is_subject = line.first().is_some_and(u8::is_ascii_whitespace) && !line.trim_ascii().is_empty();
        if !is_subject || line.starts_with(b"\\=") {
            continue;
        }
        let next = lines.get(at).copied().unwrap_or_default();
        let mut expected = Vec::new();
        while let Some(answer) = answers.next_if(|answer| *answer != next || answer.starts_with(b" 0: ")) {
            if let Some(matched) = answer.strip_prefix(b" 0: ") {
                expected.push(String::from_utf8_lossy(matched).into_owned());
            }
        }
        let text = line.trim_ascii();
        let text = if is_literal { text.to_vec() } else { unescaped(text) };
        if let Some(case) = cases.last_mut() {
            case.subjects.push(Subject { line: begins + 1, text, expected });
        }
    }
    cases
}

/// The slash that closes an expression.
fn closing(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'\\' if !is_escaped => is_escaped = true,
            b'/' if !is_escaped => return Some(at),
            _ => is_escaped = false,
        }
    }
    None
}

/// A subject with its escapes undone (`pcre2test`, "Subject line syntax").
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some(letter) = rest.next() else { break };
        bytes.push(match letter {
            b'a' => 7,
            b'b' => 8,
            b'e' => 27,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'v' => 11,
            b'0'..=b'7' => digits(&mut rest, 8, u32::from(letter - b'0')),
            b'x' if rest.next_if_eq(&b'{').is_some() => {
                let value = rest
                    .by_ref()
                    .take_while(|byte| *byte != b'}')
                    .filter_map(|byte| char::from(byte).to_digit(16));
                value.fold(0, |value, digit| value * 16 + digit) as u8
            }
            b'x' => digits(&mut rest, 16, 0),
            b'=' => break,
            other => other,
        });
    }
    bytes
}

/// Two digits at most, behind one that is read.
fn digits(rest: &mut Peekable<impl Iterator<Item = u8>>, base: u32, first: u32) -> u8 {
    let mut value = first;
    for _ in 0..2 {
        let Some(digit) = rest.peek().and_then(|byte| char::from(*byte).to_digit(base)) else { break };
        value = value * base + digit;
        rest.next();
    }
    value as u8
}

/// An expression that is written in pairs of digits, and in quotes as it is.
fn hexadecimal(text: &[u8]) -> Vec<u8> {
    let words = text.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok());
    words.filter_map(|word| u8::from_str_radix(word, 16).ok()).collect()
}
