//! What a rule asks for, as far as traffic is made of it: [`Rule`]. Rule: who reads it here is nobody of the engines that are compared.

use crate::random::Random;
use crate::sentence::sentence;

/// A rule as it is written.
pub struct Rule {
    pub sid: u32,
    pub protocol: String,
    /// Addresses, ports, the arrow, addresses, ports.
    header: [String; 5],
    /// All within the parentheses.
    options: String,
    /// What is asked of which buffer, in the rule's order.
    pub buffers: Vec<(String, Vec<Ask>)>,
    pub is_to_client: bool,
}

/// One thing that is asked of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// These bytes are there.
    Bytes(Bytes),
    /// What an expression stands for is there: an example of it.
    Example { bytes: Vec<u8>, is_relative: bool, is_at_start: bool, is_at_end: bool },
    /// It goes on for so long, behind the last match or in all.
    GoesOn { bytes: usize, is_relative: bool },
    /// It is so long.
    Long(usize),
}

/// Bytes, and where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    pub bytes: Vec<u8>,
    pub offset: Option<usize>,
    pub depth: Option<usize>,
    pub distance: Option<i64>,
    pub within: Option<usize>,
    pub is_at_start: bool,
    pub is_at_end: bool,
    pub is_negated: bool,
}

/// What says nothing of what traffic has to be like.
const SILENT: [&str; 19] = [
    "msg",
    "reference",
    "classtype",
    "sid",
    "rev",
    "gid",
    "metadata",
    "flow",
    "fast_pattern",
    "nocase",
    "rawbytes",
    "target",
    "priority",
    "threshold",
    "flowbits",
    "tag",
    "dotprefix",
    "to_lowercase",
    "strip_whitespace",
];
/// Buffers by their old names.
const OLD_NAMES: [(&str, &str); 6] = [
    ("pkt_data", ""),
    ("file_data", "file.data"),
    ("dns_query", "dns.query"),
    ("tls_sni", "tls.sni"),
    ("tls_cert_subject", "tls.cert_subject"),
    ("tls_cert_issuer", "tls.cert_issuer"),
];

impl Rule {
    /// Reads a line, where it is a rule that is on.
    pub fn read(line: &str) -> Option<Self> {
        let (head, options) = line.strip_prefix("alert ")?.split_once('(')?;
        let options = options.trim_end().strip_suffix(')')?.to_owned();
        let mut words = head.split_whitespace().map(str::to_owned);
        let protocol = words.next()?;
        let header = [words.next()?, words.next()?, words.next()?, words.next()?, words.next()?];
        let sid = split(&options).find_map(|(name, value)| (name == "sid").then(|| value.parse().ok())?)?;
        let is_to_client = split(&options).any(|(name, value)| {
            name == "flow" && (value.contains("to_client") || value.contains("from_server"))
        });
        Some(Self { sid, protocol, header, options, buffers: Vec::new(), is_to_client })
    }

    /// The rule as it is written.
    pub fn text(&self) -> String {
        format!("alert {} {} ({})", self.protocol, self.header.join(" "), self.options)
    }

    /// The same about whoever speaks to whom.
    pub fn text_of_anybody(&self) -> String {
        format!("alert {} any any -> any any ({})", self.protocol, self.options)
    }

    /// The addresses and ports on the client's side, and on the server's.
    pub fn ends(&self) -> [(&str, &str); 2] {
        let [from, from_port, _, to, to_port] = &self.header;
        let (from, to) = ((from.as_str(), from_port.as_str()), (to.as_str(), to_port.as_str()));
        if self.is_to_client { [to, from] } else { [from, to] }
    }

    /// Reads what it asks for; `None` where it asks for what traffic is not made for.
    pub fn asking(mut self, random: &mut Random) -> Option<Self> {
        let mut buffers: Vec<(String, Vec<Ask>)> = Vec::new();
        let mut name = String::new();
        let options = self.options.clone();
        for (option, value) in split(&options) {
            if option == "flowbits" && (value.starts_with("isset") || value == "noalert") {
                return None;
            }
            let old = OLD_NAMES.iter().find(|(old, _)| *old == option);
            if let Some(buffer) =
                old.map(|(_, new)| *new).or(value.is_empty().then_some(option)).filter(|its| is_buffer(its))
            {
                buffer.clone_into(&mut name);
                continue;
            }
            if SILENT.contains(&option) {
                continue;
            }
            let at = buffers.iter().position(|(its, _)| *its == name).unwrap_or(buffers.len());
            if at == buffers.len() {
                buffers.push((name.clone(), Vec::new()));
            }
            if option == "urilen" {
                buffers.push((String::from("http.uri"), vec![Ask::Long(least(value)?)]));
            } else {
                read_ask(option, value, &mut buffers[at].1, random)?;
            }
        }
        for (_, asks) in &mut buffers {
            asks.retain(|ask| !matches!(ask, Ask::Bytes(bytes) if bytes.is_negated));
        }
        buffers.retain(|(_, asks)| !asks.is_empty());
        self.buffers = buffers;
        (!self.buffers.is_empty()).then_some(self)
    }
}

fn is_buffer(name: &str) -> bool {
    name.is_empty() || name.contains('.')
}

/// One option that asks for something; `None` where it is not understood.
fn read_ask(option: &str, value: &str, asks: &mut Vec<Ask>, random: &mut Random) -> Option<()> {
    let (is_negated, plain) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest.trim()));
    match option {
        "content" => {
            let bytes = bytes_of(plain.trim_matches('"'))?;
            asks.push(Ask::Bytes(Bytes { bytes, is_negated, ..Bytes::default() }));
        }
        "pcre" if is_negated => {}
        "pcre" => asks.push(example(plain.trim_matches('"'), random)?),
        "isdataat" if is_negated => {}
        "isdataat" => {
            let (bytes, how) = plain.split_once(',').unwrap_or((plain, ""));
            asks.push(Ask::GoesOn {
                bytes: bytes.trim().parse().ok()?,
                is_relative: how.contains("relative"),
            });
        }
        "bsize" | "dsize" => asks.push(Ask::Long(least(value)?)),
        _ => {
            let Some(Ask::Bytes(last)) = asks.last_mut() else { return None };
            match option {
                "offset" => last.offset = Some(value.parse().ok()?),
                "depth" => last.depth = Some(value.parse().ok()?),
                "distance" => last.distance = Some(value.parse().ok()?),
                "within" => last.within = Some(value.parse().ok()?),
                "startswith" => last.is_at_start = true,
                "endswith" => last.is_at_end = true,
                _ => return None,
            }
        }
    }
    Some(())
}

/// Of `/expression/flags`.
fn example(written: &str, random: &mut Random) -> Option<Ask> {
    let (expression, flags) = written.strip_prefix('/')?.rsplit_once('/')?;
    Some(Ask::Example {
        bytes: sentence(expression, random)?,
        is_relative: flags.contains('R'),
        is_at_start: expression.starts_with('^') || flags.contains('A'),
        is_at_end: expression.ends_with('$'),
    })
}

/// The least length that is asked for: `12`, `>12`, `12<>20`, `<12`.
fn least(value: &str) -> Option<usize> {
    let value = value.trim_end_matches(",raw").trim_end_matches(",norm").trim();
    if let Some(more) = value.strip_prefix('>') {
        return more.trim_start_matches('=').trim().parse().ok().map(|least: usize| least + 1);
    }
    if value.starts_with('<') {
        return Some(0);
    }
    let (from, to) = value.split_once("<>").map_or((value, false), |(from, _)| (from, true));
    from.trim().parse().ok().map(|least: usize| least + usize::from(to))
}

/// `a|0d 0a|b\;` as bytes.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut is_hex) = (Vec::new(), false);
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '|' => is_hex = !is_hex,
            ' ' if is_hex => {}
            high if is_hex => {
                let low = rest.next()?;
                bytes.push(u8::from_str_radix(&format!("{high}{low}"), 16).ok()?);
            }
            '\\' => bytes.push(u8::try_from(rest.next()?).ok()?),
            _ => bytes.push(u8::try_from(letter).ok()?),
        }
    }
    Some(bytes)
}

/// The options: each name, and its value.
fn split(options: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let pieces = options.split(move |letter| {
        let was_escaped = is_escaped;
        is_escaped = letter == '\\' && !was_escaped;
        if letter == '"' && !was_escaped {
            is_quoted = !is_quoted;
        }
        letter == ';' && !is_quoted && !was_escaped
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty()).map(|piece| {
        let (name, value) = piece.split_once(':').unwrap_or((piece, ""));
        (name.trim(), value.trim())
    })
}
