//! Letters other than ASCII's in a host's name (RFC 3492). Rule: one label in, its encoding without `xn--` out.

const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 128;

/// The label's encoding (section 6.3), or `None` where it is too long for a name.
pub(crate) fn encode(label: &str) -> Option<String> {
    // No label has more characters than 63; a longer one would only take time.
    if label.chars().count() > 63 {
        return None;
    }
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let (mut n, mut delta, mut bias, mut handled) = (INITIAL_N, 0_u32, INITIAL_BIAS, basic);
    let count = u32::try_from(label.chars().count()).ok()?;
    while handled < count {
        let next = label.chars().map(u32::from).filter(|c| *c >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(handled + 1)?)?;
        n = next;
        for c in label.chars().map(u32::from) {
            if c < n {
                delta = delta.checked_add(1)?;
            }
            if c == n {
                digits(&mut out, delta, bias);
                bias = adapt(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(out)
}

/// A number of variable length (section 3.3).
fn digits(out: &mut String, delta: u32, bias: u32) {
    let mut q = delta;
    let mut k = BASE;
    loop {
        let t = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if q < t {
            return out.push(digit(q));
        }
        out.push(digit(t + (q - t) % (BASE - t)));
        q = (q - t) / (BASE - t);
        k += BASE;
    }
}

fn digit(value: u32) -> char {
    char::from_digit(value, BASE).map_or('0', |_| {
        let byte = if value < 26 { b'a' + value as u8 } else { b'0' + (value - 26) as u8 };
        char::from(byte)
    })
}

/// Section 6.1.
fn adapt(delta: u32, points: u32, is_first: bool) -> u32 {
    let mut delta = delta / if is_first { DAMP } else { 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples() {
        for (label, expected) in [
            ("bücher", "bcher-kva"),
            ("münchen", "mnchen-3ya"),
            ("中国", "fiqs8s"),
            ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
            ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
            ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
        ] {
            assert_eq!(encode(label).as_deref(), Some(expected), "{label}");
        }
        assert_eq!(encode(&"é".repeat(64)), None);
    }
}
