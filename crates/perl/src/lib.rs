//! Perl's regular expressions over bytes, as PCRE subsignatures use them. Rule: every search has a bound: linear where
//! the expression is regular, else a number of steps.
//!
//! ```
//! use lockgate_perl::{Flags, Found, Perl, Start};
//! let perl = Perl::parse(r"(a+)b\1", Flags::default()).unwrap();
//! assert_eq!(perl.find(b"xaabaa", 0, Start::Any, &mut 1000), Found::At(1, 6));
//! ```
//!
//! The syntax is that of the PCRE2 manual, "pcre2pattern", without Unicode and callouts. An expression that is
//! regular is given to the `regex` crate; one that needs backtracking (back references, look-around, atomic groups,
//! calls of groups, verbs) is run by [`machine`]. Case is that of ASCII, a character is a byte.

mod class;
mod escape;
mod group;
mod literal;
mod machine;
mod parser;
mod plain;
mod program;
mod syntax;
mod width;
mod writer;

use lockgate_stored::{Reader, Stored, Unfit, Writer};
use std::sync::OnceLock;

/// Letters behind an expression that change how it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `i`: letters agree in both cases.
    pub any_case: bool,
    /// `s`: a dot agrees with a line's end, too.
    pub dot_all: bool,
    /// `m`: `^` and `$` agree at each line.
    pub multi_line: bool,
    /// `x`: white space and comments in the expression mean nothing.
    pub extended: bool,
    /// `E`: `$` agrees at the very end alone.
    pub dollar_end_only: bool,
    /// `U`: repetitions take as little as they can.
    pub ungreedy: bool,
}

/// Where an expression cannot be read, from 0, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The byte, from 0.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// An expression, checked; what runs it is made when it is first asked for, since few ever are.
#[derive(Debug)]
pub struct Perl {
    text: Box<str>,
    flags: Flags,
    runner: OnceLock<Runner>,
    /// The expression as the machine runs it, for what a regular search does not tell.
    program: OnceLock<Box<program::Program>>,
}

/// What searches.
#[derive(Debug)]
enum Runner {
    Regular(Box<regex::bytes::Regex>),
    Backtracking(Box<program::Program>),
}

/// Whether a match may start later than at the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It begins there or nowhere.
    First,
    /// There, or later.
    Any,
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// From, and to.
    At(usize, usize),
    /// There is none.
    Nowhere,
    /// The steps are spent.
    Spent,
}

/// How many bytes a regular search reads for the price of a step.
const BYTES_OF_STEP: usize = 8;

impl Perl {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// [`Unread`] for what is no expression, or uses what is not understood.
    pub fn parse(text: &str, flags: Flags) -> Result<Self, Unread> {
        parser::parse(text.as_bytes(), flags)?;
        Ok(Self { text: text.into(), flags, runner: OnceLock::new(), program: OnceLock::new() })
    }

    /// Text that stands in whatever it matches, letters in either case; empty where none is certain.
    pub fn text_needed(&self) -> Vec<u8> {
        parser::parse(self.text.as_bytes(), self.flags).map_or(Vec::new(), |tree| literal::of(&tree))
    }

    /// The first match from `from` on. Each step is taken from `steps`.
    pub fn find(&self, bytes: &[u8], from: usize, start: Start, steps: &mut u64) -> Found {
        match self.runner.get_or_init(|| runner(&self.text, self.flags)) {
            Runner::Regular(regex) if start == Start::Any => {
                let cost = (bytes.len().saturating_sub(from) / BYTES_OF_STEP) as u64 + 1;
                let Some(left) = steps.checked_sub(cost) else { return Found::Spent };
                *steps = left;
                match regex.find_at(bytes, from.min(bytes.len())) {
                    Some(found) => Found::At(found.start(), found.end()),
                    None => Found::Nowhere,
                }
            }
            Runner::Regular(_) => machine::find(self.program(), bytes, from, start, steps),
            Runner::Backtracking(program) => machine::find(program, bytes, from, start, steps),
        }
    }

    /// Whether it has a group of that number, from 1.
    pub fn has_group(&self, number: u32) -> bool {
        (number as usize) < self.backtracking().entries.len()
    }

    /// What a group, from 1, has in the first match. Each step is taken from `steps`.
    ///
    /// ```
    /// use lockgate_perl::{Flags, Found, Perl};
    /// let perl = Perl::parse("GET (/[a-z]*)", Flags::default()).unwrap();
    /// assert_eq!(perl.find_group(b"GET /index HTTP/1.1", 1, &mut 1000), Found::At(4, 10));
    /// ```
    pub fn find_group(&self, bytes: &[u8], number: u32, steps: &mut u64) -> Found {
        machine::group(self.backtracking(), bytes, number, steps)
    }

    fn backtracking(&self) -> &program::Program {
        match self.runner.get_or_init(|| runner(&self.text, self.flags)) {
            Runner::Regular(_) => self.program(),
            Runner::Backtracking(program) => program,
        }
    }

    fn program(&self) -> &program::Program {
        self.program.get_or_init(|| Box::new(program::compile(&tree(&self.text, self.flags))))
    }
}

/// It has been read before, so it can be read again; an empty one finds nothing that matters.
fn tree(text: &str, flags: Flags) -> syntax::Node {
    parser::parse(text.as_bytes(), flags).unwrap_or_default()
}

fn runner(text: &str, flags: Flags) -> Runner {
    let tree = tree(text, flags);
    match plain::regex(&tree) {
        Some(regex) => Runner::Regular(Box::new(regex)),
        None => Runner::Backtracking(Box::new(program::compile(&tree))),
    }
}

lockgate_stored::stored!(struct Flags { any_case, dot_all, multi_line, extended, dollar_end_only, ungreedy });

impl Stored for Perl {
    const BYTES_MIN: usize = 4 + Flags::BYTES_MIN;

    fn store(&self, to: &mut Writer<'_>) {
        let Self { text, flags, runner: _, program: _ } = self;
        text.store(to);
        flags.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let (text, flags) = (Stored::load(from)?, Stored::load(from)?);
        Ok(Self { text, flags, runner: OnceLock::new(), program: OnceLock::new() })
    }
}

#[cfg(test)]
mod tests;
