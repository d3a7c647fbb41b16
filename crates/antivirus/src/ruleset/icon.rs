//! `.idb`: icons, `name:group 1:group 2:look`. Rule: a look that no icon can have is a fault.

use super::hash::from_hex;
use super::{Fault, offset_in};
use crate::icons::{LISTED_BYTES, Look};

/// One line of an `.idb` database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IconSignature<'a> {
    pub name: &'a str,
    pub groups: [&'a str; 2],
    pub look: [u8; LISTED_BYTES],
}

pub(crate) fn parse(line: &str) -> Result<IconSignature<'_>, Fault> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, first, second, hex] = fields[..] else {
        return Err(Fault::new("expected name:group 1:group 2:look"));
    };
    let fault = || {
        let reason =
            "a look is 124 hexadecimal digits: a side of 10, 18 or 20, areas within it, colours up to 64";
        Fault::at(offset_in(line, hex) + 1, reason)
    };
    let look = from_hex(hex).ok_or_else(fault)?;
    Look::listed(&look).ok_or_else(fault)?;
    Ok(IconSignature { name, groups: [first, second], look })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let good = format!("Test.A:ONE:TWO:20{}", "0".repeat(122));
        let signature = parse(&good).unwrap();
        assert_eq!((signature.name, signature.groups, signature.look[0]), ("Test.A", ["ONE", "TWO"], 0x20));
        let cases = [
            ("Test.A:ONE:20".to_owned(), None),
            (format!("Test.A:ONE:TWO:20{}", "0".repeat(120)), Some(16)),
            (format!("Test.A:ONE:TWO:21{}", "0".repeat(122)), Some(16)),
            (format!("Test.A:ONE:TWO:20fff{}", "0".repeat(119)), Some(16)),
            (format!("Test.A:ONE:TWO:200001d{}", "0".repeat(117)), Some(16)),
            (format!("Test.A:ONE:TWO:20{}65", "0".repeat(120)), Some(16)),
            (format!("Test.A:ONE:TWO:20{}x", "0".repeat(121)), Some(16)),
        ];
        for (line, column) in cases {
            assert_eq!(parse(&line).map_err(|fault| fault.column), Err(column), "{line}");
        }
    }
}
