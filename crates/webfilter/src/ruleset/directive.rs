//! What a line says of its list and not of a site: comments, includes, categories, time limits. Rule: e2guardian's own spelling,
//! which stands partly within comments.

use super::kind::Content;
use super::{Fault, Line};

/// The line, where it is no entry.
pub(crate) fn parse(content: Content, line: &str) -> Result<Option<Line>, Fault> {
    if content == Content::Filters {
        return Ok(None);
    }
    // Phrase lists are made small before they are read.
    let include = line.strip_prefix(".Include<").or_else(|| line.strip_prefix(".include<"));
    if let Some(rest) = include {
        let path = rest.split('>').next().filter(|path| rest.len() > path.len() && !path.trim().is_empty());
        return match path {
            Some(path) => Ok(Some(Line::Include(path.trim().to_owned()))),
            None => Err(Fault("an include is written as .Include<PATH>".to_owned())),
        };
    }
    if let Some(rest) = line.strip_prefix("#time:") {
        return rest.parse().map(|limit| Some(Line::Time(limit))).map_err(Fault);
    }
    if let Some(rest) = line.strip_prefix("#listcategory:") {
        let name = rest.trim().trim_matches('"').trim();
        return match name {
            "" => Err(Fault("a category is written as #listcategory: \"NAME\"".to_owned())),
            name => Ok(Some(Line::Category(name.to_owned()))),
        };
    }
    let is_comment = match content {
        Content::Sites | Content::Urls => line.starts_with(['#', ';']),
        _ => line.starts_with('#'),
    };
    Ok(is_comment.then_some(Line::Comment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_entry() {
        let parse = |line| parse(Content::Sites, line);
        assert_eq!(parse(".Include</a/b> # why"), Ok(Some(Line::Include("/a/b".into()))));
        assert_eq!(parse("#listcategory: \"Banned Sites\""), Ok(Some(Line::Category("Banned Sites".into()))));
        assert!(matches!(parse("#time: 9 0 17 0 01234"), Ok(Some(Line::Time(_)))));
        for comment in ["# a", "##time: 9 0 17 0 01234", "#.Include</a>", ";x"] {
            assert_eq!(parse(comment), Ok(Some(Line::Comment)), "{comment}");
        }
        for wrong in [".Include</a", ".Include<>", "#time: now", "#listcategory: \"\""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("a.example"), Ok(None));
    }
}
