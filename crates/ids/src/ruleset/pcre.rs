//! `pcre`: an expression between slashes and the letters behind it. Rule: what the letters mean is said here alone.

use super::sticky::Sticky;
use lockgate_perl::{Flags, Perl};
use std::sync::Arc;

/// An expression and where it is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Pcre {
    pub perl: Arc<Perl>,
    pub is_negated: bool,
    /// `R`: from the end of the match before.
    pub is_relative: bool,
    /// `A`: at its first byte alone.
    pub is_anchored: bool,
}

/// Reads `/expression/letters`. The buffer is that of a letter, where there is one.
pub(crate) fn parse(text: &str, is_negated: bool) -> Result<(Pcre, Option<Sticky>), String> {
    let text = text.trim();
    let rest = text.strip_prefix("m/").or_else(|| text.strip_prefix('/'));
    let rest = rest.ok_or("an expression stands between slashes: \"/…/\"")?;
    let (expression, letters) = rest.rsplit_once('/').ok_or("the closing slash is missing")?;
    let mut flags = Flags::default();
    let mut sticky = None;
    let (mut is_relative, mut is_anchored) = (false, false);
    for letter in letters.chars() {
        match letter {
            'i' => flags.any_case = true,
            's' => flags.dot_all = true,
            'm' => flags.multi_line = true,
            'x' => flags.extended = true,
            'E' => flags.dollar_end_only = true,
            'G' => flags.ungreedy = true,
            'A' => is_anchored = true,
            'R' => is_relative = true,
            // The bytes as they are, and the match limit: we have one buffer and one limit.
            'B' | 'O' => {}
            letter => {
                let of = buffer_of(letter)
                    .ok_or_else(|| format!("{letter:?} is no letter that is known behind an expression"))?;
                if sticky.replace(of).is_some_and(|before| before != of) {
                    return Err("letters for two buffers".to_owned());
                }
            }
        }
    }
    // A semicolon and a quote have to be escaped in a rule, and mean themselves in an expression as well.
    let perl =
        Perl::parse(expression, flags).map_err(|unread| format!("at {}: {}", unread.at + 1, unread.what))?;
    Ok((Pcre { perl: Arc::new(perl), is_negated, is_relative, is_anchored }, sticky))
}

fn buffer_of(letter: char) -> Option<Sticky> {
    Some(match letter {
        'U' => Sticky::HttpUri,
        'I' => Sticky::HttpUriRaw,
        'P' => Sticky::HttpRequestBody,
        'Q' => Sticky::HttpResponseBody,
        'H' => Sticky::HttpHeader,
        'D' => Sticky::HttpHeaderRaw,
        'M' => Sticky::HttpMethod,
        'C' => Sticky::HttpCookie,
        'S' => Sticky::HttpStatusCode,
        'Y' => Sticky::HttpStatusMessage,
        'V' => Sticky::HttpUserAgent,
        'W' => Sticky::HttpHost,
        'Z' => Sticky::HttpHostRaw,
        _ => return None,
    })
}
