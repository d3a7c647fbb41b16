//! How a rule compares an integer. Rule: ranges are without their ends, as the manual has it ("Integer Keywords").

/// What an integer is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal(u64),
    NotEqual(u64),
    Less(u64),
    LessOrEqual(u64),
    Greater(u64),
    GreaterOrEqual(u64),
    /// Greater than the first and less than the second.
    Between(u64, u64),
    /// Not so.
    NotBetween(u64, u64),
    /// These bits are those of the value, or are not.
    Bits {
        mask: u64,
        value: u64,
        are: bool,
    },
}

type Make = fn(u64) -> Compare;

impl Compare {
    pub fn holds(self, number: u64) -> bool {
        match self {
            Self::Equal(value) => number == value,
            Self::NotEqual(value) => number != value,
            Self::Less(value) => number < value,
            Self::LessOrEqual(value) => number <= value,
            Self::Greater(value) => number > value,
            Self::GreaterOrEqual(value) => number >= value,
            Self::Between(low, high) => number > low && number < high,
            Self::NotBetween(low, high) => number <= low || number >= high,
            Self::Bits { mask, value, are } => (number & mask == value) == are,
        }
    }

    /// `5`, `=5`, `!5`, `!=5`, `<5`, `<=5`, `>5`, `>=5`, `1<>5`, `1-5`, `!1-5`, `&0xc0=0x80`, `&0xc0!=0`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(bits) = text.strip_prefix('&') {
            let (mask, value) =
                bits.split_once('=').ok_or_else(|| format!("{text:?} has no = behind the mask"))?;
            let (mask, are) = mask.strip_suffix('!').map_or((mask, true), |mask| (mask, false));
            return Ok(Self::Bits { mask: number(mask)?, value: number(value)?, are });
        }
        let (rest, is_negated) = match text.strip_prefix('!') {
            Some(rest) if !rest.starts_with('=') => (rest.trim_start(), true),
            _ => (text, false),
        };
        // An end that is left out is that of the type.
        let ends = rest.split_once("<>").or_else(|| rest.split_once('-').filter(|(low, _)| !low.is_empty()));
        if let Some((low, high)) = ends {
            let (low, high) = (number(low)?, number(high)?);
            if low >= high {
                return Err(format!("{text:?} is no range: its first number is to be the smaller one"));
            }
            return Ok(if is_negated { Self::NotBetween(low, high) } else { Self::Between(low, high) });
        }
        let operators: [(&str, Make); 6] = [
            ("<=", Self::LessOrEqual),
            (">=", Self::GreaterOrEqual),
            ("!=", Self::NotEqual),
            ("<", Self::Less),
            (">", Self::Greater),
            ("=", Self::Equal),
        ];
        let found = operators.iter().find_map(|(sign, make)| Some((rest.strip_prefix(sign)?, make)));
        match found {
            Some((rest, make)) if !is_negated => number(rest).map(make),
            Some(_) => Err(format!("{text:?} is negated twice")),
            None if is_negated => number(rest).map(Self::NotEqual),
            None => number(rest).map(Self::Equal),
        }
    }
}

/// A number in decimal or, behind `0x`, hexadecimal, with a unit such as `kb` behind it.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is no number that is known here");
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).map_err(|_| wrong());
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let unit: u64 = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" => 1,
        "kb" | "kib" => 1 << 10,
        "mb" | "mib" => 1 << 20,
        "gb" | "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    value.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_and_its_limits() {
        for (text, holds, fails) in [
            ("5", vec![5], vec![4, 6]),
            ("=0x5", vec![5], vec![4, 6]),
            ("!5", vec![4, 6], vec![5]),
            ("!=5", vec![4, 6], vec![5]),
            ("<5", vec![0, 4], vec![5]),
            ("<= 5", vec![5], vec![6]),
            (">5", vec![6], vec![5]),
            (">=5", vec![5], vec![4]),
            ("1<>5", vec![2, 4], vec![1, 5]),
            ("1 - 5", vec![2, 4], vec![1, 5]),
            ("!1-5", vec![1, 5], vec![2, 4]),
            ("&0xc0=0x80", vec![0x80, 0xbf], vec![0xc0, 0]),
            ("&0xc0!=0", vec![0x80], vec![0x3f]),
            ("1kb", vec![1024], vec![1]),
        ] {
            let compare = Compare::parse(text).unwrap();
            assert!(holds.iter().all(|number| compare.holds(*number)), "{text}");
            assert!(!fails.iter().any(|number| compare.holds(*number)), "{text}");
        }
        for wrong in ["", "five", "5<>1", "!<5", "&5", "-5", "99999999999999999999", "17179869184gb"] {
            assert!(Compare::parse(wrong).is_err(), "{wrong}");
        }
    }
}
