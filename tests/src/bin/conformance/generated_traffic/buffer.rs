//! A buffer that is as a rule asks: [`made`]. Rule: as short as it comes; whether it does is for the engines to say.

use super::rule::{Ask, Bytes};

/// What stands where nothing is asked for.
const FILLER: u8 = b'x';
/// Longer ones are not made.
const BYTES_MAX: usize = 4096;

/// A buffer of which all this is asked.
pub fn made(asks: &[Ask]) -> Option<Vec<u8>> {
    let mut buffer = Buffer::default();
    for ask in asks {
        match ask {
            Ask::Bytes(bytes) => buffer.place(bytes),
            Ask::Example { bytes, is_relative, is_at_start, is_at_end } => {
                let place = Bytes {
                    bytes: bytes.clone(),
                    distance: is_relative.then_some(0),
                    is_at_start: *is_at_start && !is_relative,
                    is_at_end: *is_at_end,
                    ..Bytes::default()
                };
                buffer.example(&place);
            }
            Ask::GoesOn { bytes, is_relative } => {
                let from = if *is_relative { buffer.last_end } else { 0 };
                buffer.extend(from + bytes + 1);
            }
            Ask::Long(bytes) => buffer.extend(*bytes),
        }
        if buffer.bytes.len() > BYTES_MAX {
            return None;
        }
    }
    Some(buffer.bytes)
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Behind the last match.
    last_end: usize,
    /// From where on it stands at the end.
    end: Option<usize>,
}

impl Buffer {
    /// Makes it so long, but for what stands at the end.
    fn extend(&mut self, length: usize) {
        if length <= BYTES_MAX + 1 && self.bytes.len() < length {
            let more = length - self.bytes.len();
            self.insert(self.end.unwrap_or(self.bytes.len()), &vec![FILLER; more]);
        }
    }

    fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.extend(at);
        let there = self.bytes.get_mut(at..at + bytes.len());
        if let Some(there) = there.filter(|there| there.iter().all(|byte| *byte == FILLER)) {
            return there.copy_from_slice(bytes);
        }
        self.bytes.splice(at..at, bytes.iter().copied());
        if let Some(end) = self.end.as_mut().filter(|end| **end >= at) {
            *end += bytes.len();
        }
    }

    fn find(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        let range = self.bytes.get(from..to.min(self.bytes.len()))?;
        range.windows(bytes.len().max(1)).position(|window| window == bytes).map(|at| from + at)
    }

    /// Puts bytes where they are asked for, unless they are there.
    fn place(&mut self, asked: &Bytes) {
        let length = asked.bytes.len();
        let is_relative = asked.distance.is_some() || asked.within.is_some();
        let from = match asked.distance {
            _ if asked.is_at_start => 0,
            _ if is_relative => {
                let moved = self.last_end as i64 + asked.distance.unwrap_or(0);
                usize::try_from(moved).unwrap_or(0)
            }
            _ => asked.offset.unwrap_or(0),
        };
        let to = match (asked.depth, asked.within) {
            _ if asked.is_at_start => Some(length),
            (_, Some(within)) => Some(from + within),
            (Some(depth), _) => Some(from + depth),
            _ => None,
        };
        if asked.is_at_end {
            if !self.bytes.ends_with(&asked.bytes) {
                self.bytes.extend_from_slice(&asked.bytes);
            }
            self.last_end = self.bytes.len();
            self.end = Some(self.bytes.len() - length);
            return;
        }
        let at = self.find(&asked.bytes, from, to.unwrap_or(usize::MAX)).unwrap_or_else(|| {
            let at = if to.is_some() { from } else { from.max(self.end.unwrap_or(self.bytes.len())) };
            self.insert(at, &asked.bytes);
            at
        });
        self.last_end = at + length;
    }

    /// Puts an example there; where it has all that there is, it stands for it.
    fn example(&mut self, asked: &Bytes) {
        let has_all = asked.distance.is_none() && {
            let held = Self { bytes: asked.bytes.clone(), ..Self::default() };
            held.find(&self.bytes, 0, usize::MAX).is_some()
        };
        if has_all {
            self.bytes.clone_from(&asked.bytes);
            self.last_end = self.bytes.len();
        } else {
            self.place(asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated_traffic::rule::Rule;
    use crate::random::Random;

    fn of(options: &str) -> String {
        let rule = Rule::read(&format!("alert tcp any any -> any any ({options} sid:1;)")).unwrap();
        let rule = rule.asking(&mut Random::new(1)).unwrap();
        String::from_utf8(made(&rule.buffers[0].1).unwrap()).unwrap()
    }

    #[test]
    fn buffers_are_as_they_are_asked_for() {
        assert_eq!(of(r#"content:"ab"; content:"c"; distance:2; content:"d"; within:1;"#), "abxxcd");
        assert_eq!(
            of(r#"content:"bc"; offset:1; depth:2; content:"a"; startswith; content:"z"; endswith;"#),
            "abcz"
        );
        assert_eq!(of(r#"content:"a|3b|"; isdataat:3,relative; content:!"z";"#), "a;xxxx");
        assert_eq!(of(r#"content:"/a"; content:".php"; endswith; bsize:8;"#), "/axx.php");
        assert_eq!(of(r#"content:"a="; pcre:"/^[a]{4}&b=[7]$/R";"#), "a=aaaa&b=7");
        assert_eq!(of(r#"content:"id"; pcre:"/^\/x\?id$/";"#), "/x?id");
    }
}
