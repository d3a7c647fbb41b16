//! In which language somebody wants to read: [`Language`]. Rule: what is asked for in a way that nobody understands is English.

/// A language that the gateway's words for people are there in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
}

/// How many languages a field may list before the rest is taken no notice of.
const RANGES_MAX: usize = 32;

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// Its tag (RFC 5646).
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The one that `Accept-Language` likes best (RFC 9110 section 12.5.4): by weight, and of the same weight the first.
    pub fn wanted(accept_language: &str) -> Self {
        let mut best: Option<(u16, Self)> = None;
        for range in accept_language.split(',').take(RANGES_MAX) {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let Some(weight) = weight(parameters) else { continue };
            let primary = tag.trim().split('-').next().unwrap_or_default();
            // Any language will do: ours, where no other is liked as well.
            let named = Self::ALL.into_iter().find(|known| known.tag().eq_ignore_ascii_case(primary));
            let Some(language) = named.or((primary == "*").then_some(Self::English)) else { continue };
            if weight > best.map_or(0, |(best, _)| best) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language).unwrap_or_default()
    }
}

/// `q=0.5` in thousandths; 1 where there is none. `None` for what is no weight.
fn weight(parameters: &str) -> Option<u16> {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return Some(1000);
    }
    let value = parameters.strip_prefix("q=").or_else(|| parameters.strip_prefix("Q="))?.trim();
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let fraction: u16 = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_ask_for() {
        use Language::{English, German};
        let many = "fr,".repeat(10_000) + "de";
        for (field, expected) in [
            ("", English),
            ("de", German),
            ("de-AT", German),
            ("DE-ch-1996", German),
            ("de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", German),
            ("en-GB,en;q=0.9,de;q=0.8", English),
            ("en;q=0.8, de", German),
            ("fr, de;q=0.3, en;q=0.2", German),
            ("fr", English),
            ("*", English),
            ("*;q=0.1, de;q=0.1", English),
            ("de;q=0", English),
            ("de;q=0, en;q=0", English),
            ("de;q=0.001", German),
            ("de;q=1.000", German),
            ("de;q=1.001", English),
            ("de;q=2, en;q=0.1", English),
            ("de;q=0.5555", English),
            ("de;q=, en", English),
            ("de;q=-1", English),
            ("den", English),
            ("de_DE", English),
            ("\u{2028};;;,,,=q", English),
            (&many, English),
        ] {
            assert_eq!(Language::wanted(field), expected, "{}", &field[..field.len().min(60)]);
        }
    }

    #[test]
    fn a_field_cut_anywhere_is_still_read() {
        let field = "de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7";
        for end in 0..=field.len() {
            let expected = if end < 2 { Language::English } else { Language::German };
            assert_eq!(Language::wanted(&field[..end]), expected, "{}", &field[..end]);
        }
    }
}
