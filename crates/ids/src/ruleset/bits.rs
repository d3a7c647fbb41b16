//! What a rule asks and says of its flow: `flow`, `flowbits`, `flowint`, `xbits`, `stream_size`. Rule: names stay names here.

use super::content::DISTANCE_MAX;
use super::integer::{self, Compare};
use lockgate_model::Direction;

/// `flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowTest {
    pub direction: Option<Direction>,
    pub state: Option<FlowState>,
    pub stream: Option<Stream>,
    /// Whether the packet was put together from fragments.
    pub is_fragmented: Option<bool>,
}

/// How far a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowState {
    Established,
    NotEstablished,
    Stateless,
}

/// Whether a rule is about the stream or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Only,
    No,
}

impl FlowTest {
    pub fn parse<'t>(words: impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let mut test = Self::default();
        for word in words {
            match word {
                "to_server" | "from_client" => test.direction = Some(Direction::ToServer),
                "to_client" | "from_server" => test.direction = Some(Direction::ToClient),
                "established" => test.state = Some(FlowState::Established),
                "not_established" => test.state = Some(FlowState::NotEstablished),
                "stateless" => test.state = Some(FlowState::Stateless),
                "only_stream" => test.stream = Some(Stream::Only),
                "no_stream" => test.stream = Some(Stream::No),
                "only_frag" => test.is_fragmented = Some(true),
                "no_frag" => test.is_fragmented = Some(false),
                other => return Err(format!("{other:?} is not known here")),
            }
        }
        Ok(test)
    }
}

/// What is done with a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BitAction {
    Set,
    Unset,
    Toggle,
    IsSet,
    IsNotSet,
}

/// Whose bit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Track {
    Flow,
    Source,
    Destination,
    /// Both addresses together.
    Pair,
    Transaction,
}

/// `flowbits`, `xbits`, `hostbits`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bit {
    pub action: BitAction,
    /// Of several, any for `isset`, each for the others.
    pub names: Box<[Box<str>]>,
    pub track: Track,
    /// After so many seconds it is set no more.
    pub expire: u32,
}

/// How long a bit of addresses stays where its rule says nothing.
const EXPIRE_DEFAULT: u32 = 30;

fn names_of(text: &str) -> Result<Box<[Box<str>]>, String> {
    let names = text.split(['|', '&']).map(str::trim).filter(|name| !name.is_empty());
    let names: Box<[Box<str>]> = names.map(Into::into).collect();
    if names.is_empty() { Err("the bit's name is missing".to_owned()) } else { Ok(names) }
}

fn action_of(word: &str) -> Result<BitAction, String> {
    Ok(match word {
        "set" | "setx" => BitAction::Set,
        "unset" => BitAction::Unset,
        "toggle" => BitAction::Toggle,
        "isset" => BitAction::IsSet,
        "isnotset" => BitAction::IsNotSet,
        other => {
            return Err(format!(
                "{other:?} is not known: set, unset, toggle, isset, isnotset and noalert are"
            ));
        }
    })
}

/// What `flowbits` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlowBits {
    Bit(Bit),
    NoAlert,
}

impl FlowBits {
    pub fn parse<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let word = words.next().unwrap_or_default();
        if word == "noalert" {
            return Ok(Self::NoAlert);
        }
        let (action, names) = (action_of(word)?, names_of(words.next().unwrap_or_default())?);
        Ok(Self::Bit(Bit { action, names, track: Track::Flow, expire: 0 }))
    }
}

/// `xbits:set,name,track ip_src,expire 60` and `hostbits:set,name,src`.
pub(crate) fn address_bits<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Bit, String> {
    let action = action_of(words.next().unwrap_or_default())?;
    let names = names_of(words.next().unwrap_or_default())?;
    let mut bit = Bit { action, names, track: Track::Source, expire: EXPIRE_DEFAULT };
    for word in words {
        match word.split_once(char::is_whitespace).map_or((word, ""), |(word, value)| (word, value.trim())) {
            ("track", "ip_src") | ("src", _) => bit.track = Track::Source,
            ("track", "ip_dst") | ("dst", _) => bit.track = Track::Destination,
            ("track", "ip_pair") | ("both", _) => bit.track = Track::Pair,
            ("track", "tx") => bit.track = Track::Transaction,
            ("expire", seconds) => {
                let seconds = seconds.parse().ok().filter(|seconds| *seconds > 0);
                bit.expire = seconds.ok_or("expire needs seconds")?;
            }
            _ => return Err(format!("{word:?} is not known here")),
        }
    }
    Ok(bit)
}

/// `flowint`: a number of the flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowInteger {
    pub name: Box<str>,
    pub action: IntegerAction,
}

/// What is asked of a flow's number, or done with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IntegerAction {
    IsSet,
    IsNotSet,
    Set(IntegerValue),
    Add(IntegerValue),
    Subtract(IntegerValue),
    Compare(IntegerCompare, IntegerValue),
}

/// How two numbers of a flow are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IntegerCompare {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

/// A number, or another number of the flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IntegerValue {
    Number(u32),
    Named(Box<str>),
}

impl FlowInteger {
    pub fn parse<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let name = words.next().filter(|name| !name.is_empty()).ok_or("the name is missing")?;
        let operator = words.next().unwrap_or_default();
        let value = words.next().map(|value| match value.parse() {
            Ok(number) => IntegerValue::Number(number),
            Err(_) => IntegerValue::Named(value.into()),
        });
        let action = match operator {
            "isset" => IntegerAction::IsSet,
            "notset" | "isnotset" => IntegerAction::IsNotSet,
            operator => {
                let value = value.ok_or("the value is missing")?;
                let compare = |how| IntegerAction::Compare(how, value.clone());
                match operator {
                    "=" => IntegerAction::Set(value),
                    "+" => IntegerAction::Add(value),
                    "-" => IntegerAction::Subtract(value),
                    "<" => compare(IntegerCompare::Less),
                    "<=" => compare(IntegerCompare::LessOrEqual),
                    "==" => compare(IntegerCompare::Equal),
                    "!=" => compare(IntegerCompare::NotEqual),
                    ">=" => compare(IntegerCompare::GreaterOrEqual),
                    ">" => compare(IntegerCompare::Greater),
                    other => return Err(format!("{other:?} is no operator: + - = < <= == != >= > are")),
                }
            }
        };
        Ok(Self { name: name.into(), action })
    }
}

/// Whose bytes `stream_size` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    Client,
    Server,
    /// Each of both.
    Both,
    /// Either of both.
    Either,
}

/// `stream_size:client,<,6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamSize {
    pub of: Counted,
    pub size: Compare,
}

impl StreamSize {
    pub fn parse<'t>(mut words: impl Iterator<Item = &'t str>) -> Result<Self, String> {
        let of = match words.next().unwrap_or_default() {
            "client" | "to_server" => Counted::Client,
            "server" | "to_client" => Counted::Server,
            "both" => Counted::Both,
            "either" => Counted::Either,
            other => return Err(format!("{other:?} is no side: client, server, both and either are")),
        };
        let operator = words.next().unwrap_or_default();
        let size = words.next().map_or_else(|| operator.to_owned(), |size| format!("{operator}{size}"));
        Ok(Self { of, size: Compare::parse(&size)? })
    }
}

/// Seconds or counts of a keyword.
pub(crate) fn small(text: &str) -> Result<u32, String> {
    let number = integer::number(text)?;
    u32::try_from(number)
        .ok()
        .filter(|_| number < DISTANCE_MAX as u64 * 1024)
        .ok_or_else(|| format!("{text} is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_flows_and_of_addresses() {
        let words = |text: &'static str| text.split(',').map(str::trim);
        let FlowBits::Bit(bit) = FlowBits::parse(words("isset,a|b")).unwrap() else { panic!("no bit") };
        assert_eq!((bit.action, bit.names.len()), (BitAction::IsSet, 2));
        assert_eq!(FlowBits::parse(words("noalert")), Ok(FlowBits::NoAlert));
        let bit = address_bits(words("set,x,track ip_pair,expire 9")).unwrap();
        assert_eq!((bit.track, bit.expire), (Track::Pair, 9));
        for wrong in ["", "set", "lost,a"] {
            assert!(FlowBits::parse(words(wrong)).is_err(), "{wrong}");
        }
        let integer = FlowInteger::parse(words("n,>=,3")).unwrap();
        assert_eq!(
            integer.action,
            IntegerAction::Compare(IntegerCompare::GreaterOrEqual, IntegerValue::Number(3))
        );
        assert_eq!(StreamSize::parse(words("client,<,6")).unwrap().size, Compare::Less(6));
        assert!(FlowTest::parse(words("to_server,established")).unwrap().direction.is_some());
        assert!(FlowTest::parse(words("sideways")).is_err());
    }
}
