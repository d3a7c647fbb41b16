//! `.ign` and `.ign2`: names of signatures to leave out. Rule: with a checksum, only that very line is left out.

use super::Fault;
use super::hash::from_hex;

/// One line of an ignore list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ignored<'a> {
    pub name: &'a str,
    /// The MD5 of the signature's line; another line of that name is loaded.
    pub line_md5: Option<[u8; 16]>,
}

pub(crate) fn parse(line: &str) -> Result<Ignored<'_>, Fault> {
    let fields: Vec<&str> = line.splitn(5, ':').collect();
    match fields[..] {
        [name] => Ok(Ignored { name, line_md5: None }),
        [name, md5] => {
            let line_md5 = from_hex(md5)
                .ok_or_else(|| Fault::at(name.len() + 2, "expected name:MD5 of the signature's line"))?;
            Ok(Ignored { name, line_md5: Some(line_md5) })
        }
        // The historical form names a database and a line in it; the name alone is what holds over updates.
        [_database, _line, name] | [_database, _line, name, _] => Ok(Ignored { name, line_md5: None }),
        _ => Err(Fault::new("expected a signature's name, or name:MD5 of its line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let md5 = "00112233445566778899aabbccddeeff";
        assert_eq!(parse("Test.A"), Ok(Ignored { name: "Test.A", line_md5: None }));
        let both = format!("Test.A:{md5}");
        assert_eq!(parse(&both), Ok(Ignored { name: "Test.A", line_md5: from_hex(md5) }));
        assert_eq!(parse("daily.ndb:12:Test.A"), Ok(Ignored { name: "Test.A", line_md5: None }));
        assert_eq!(parse("Test.A:zz").map_err(|fault| fault.column), Err(Some(8)));
        assert!(parse("a:b:c:d:e").is_err());
    }
}
