//! YARA rules without modules. Rule: a rule is understood in whole or not at all.
//!
//! The format is that of the YARA manual, "Writing YARA rules"; ClamAV's manual, "Using YARA rules", says which rules it
//! takes: no modules, no global rules, no external variables, at most 64 strings.

mod condition;
mod parser;

pub(crate) use condition::{Condition, Facts};
pub(crate) use parser::{Rule, StringKind, rules};
