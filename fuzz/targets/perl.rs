//! An expression and a text. Rule: every expression is read or refused, every search ends within its steps, and a match lies
//! where it was looked for.
#![no_main]

use lockgate_perl::{Flags, Found, Perl, Start};

/// What one search may cost.
const STEPS_MAX: u64 = 20_000;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((letters, rest)) = input.split_first() else { return };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (expression, text) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let Ok(expression) = std::str::from_utf8(expression) else { return };
    let flags = Flags {
        any_case: letters & 1 != 0,
        dot_all: letters & 2 != 0,
        multi_line: letters & 4 != 0,
        extended: letters & 8 != 0,
        dollar_end_only: letters & 16 != 0,
        ungreedy: letters & 32 != 0,
    };
    let Ok(perl) = Perl::parse(expression, flags) else { return };
    let needed = perl.text_needed();
    for (start, from) in [(Start::Any, 0), (Start::First, 0), (Start::Any, text.len() / 2)] {
        let mut steps = STEPS_MAX;
        match perl.find(text, from, start, &mut steps) {
            Found::At(begin, end) => {
                assert!(from <= begin && begin <= end && end <= text.len());
                assert!(start == Start::Any || begin >= from);
                let has = |window: &[u8]| window.eq_ignore_ascii_case(&needed);
                assert!(needed.is_empty() || text.windows(needed.len()).any(has));
            }
            Found::Nowhere => {}
            Found::Spent => assert!(steps < STEPS_MAX),
        }
    }
});
