//! Where a body signature may stand: `*`, `n`, `EOF-n`, `EP+n`, `Sx+n`, `SL+n`, `SEx`, `VI`. Rule: every one may float by `,shift`.

use super::Fault;

/// Where a match may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Offset {
    Anywhere,
    /// From the first byte.
    Start {
        first: u64,
        shift: u64,
    },
    /// So many bytes before the end, or up to `shift` bytes later.
    End {
        distance: u64,
        shift: u64,
    },
    /// Relative to the entry point of a program.
    Entry {
        delta: i64,
        shift: u64,
    },
    /// Relative to the start of a section's data.
    Section {
        section: Section,
        delta: u64,
        shift: u64,
    },
    /// Anywhere in a section's data.
    WithinSection {
        section: u16,
    },
    /// At a string of a Windows program's version information.
    Version,
}

/// Which section of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Section {
    Number(u16),
    Last,
}

pub(crate) fn parse(text: &str) -> Result<Offset, Fault> {
    if text == "*" {
        return Ok(Offset::Anywhere);
    }
    if text == "VI" {
        return Ok(Offset::Version);
    }
    let (base, shift) = match text.split_once(',') {
        Some((base, shift)) => (base, number(shift)?),
        None => (text, 0),
    };
    if let Some(distance) = base.strip_prefix("EOF-") {
        return Ok(Offset::End { distance: number(distance)?, shift });
    }
    if let Some(delta) = base.strip_prefix("EP") {
        return Ok(Offset::Entry { delta: signed(delta)?, shift });
    }
    if let Some(delta) = base.strip_prefix("SL+") {
        return Ok(Offset::Section { section: Section::Last, delta: number(delta)?, shift });
    }
    if let Some(section) = base.strip_prefix("SE") {
        return Ok(Offset::WithinSection { section: number(section)? });
    }
    if let Some((section, delta)) = base.strip_prefix('S').and_then(|rest| rest.split_once('+')) {
        let section = Section::Number(number(section)?);
        return Ok(Offset::Section { section, delta: number(delta)?, shift });
    }
    Ok(Offset::Start { first: number(base)?, shift })
}

fn signed(text: &str) -> Result<i64, Fault> {
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(unknown(text)),
    };
    Ok(sign * i64::from(number::<u32>(text.get(1..).unwrap_or_default())?))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Fault> {
    // `parse` would take a sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unknown(text));
    }
    text.parse().map_err(|_| unknown(text))
}

fn unknown(text: &str) -> Fault {
    Fault::new(format!(
        "offset: {text:?} is no number; expected *, n, EOF-n, EP+n, EP-n, Sx+n, SL+n, SEx or VI"
    ))
}

lockgate_stored::stored!(enum Section { 0 => Number(number), 1 => Last });
lockgate_stored::stored!(enum Offset {
    0 => Anywhere,
    1 => Start { first, shift },
    2 => End { distance, shift },
    3 => Entry { delta, shift },
    4 => Section { section, delta, shift },
    5 => WithinSection { section },
    6 => Version,
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let cases = [
            ("*", Offset::Anywhere),
            ("0", Offset::Start { first: 0, shift: 0 }),
            ("10,5", Offset::Start { first: 10, shift: 5 }),
            ("EOF-12", Offset::End { distance: 12, shift: 0 }),
            ("EOF-12,3", Offset::End { distance: 12, shift: 3 }),
            ("EP+0", Offset::Entry { delta: 0, shift: 0 }),
            ("EP-7,2", Offset::Entry { delta: -7, shift: 2 }),
            ("S2+78", Offset::Section { section: Section::Number(2), delta: 78, shift: 0 }),
            ("SL+550,1", Offset::Section { section: Section::Last, delta: 550, shift: 1 }),
            ("SE1", Offset::WithinSection { section: 1 }),
            ("VI", Offset::Version),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        for text in ["", "-1", "+1", "EOF", "EOF+1", "EP", "EP1", "S+1", "Sx+1", "$12", "10,", "10,x"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
