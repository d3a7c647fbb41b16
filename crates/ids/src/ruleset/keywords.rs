//! The keywords of rules, each with what it does to the [`Draft`]: one table. Rule: what is not in it is a fault of its rule.

use super::Fault;
use super::bits::{self, FlowBits, FlowInteger, FlowTest, StreamSize};
use super::bytes;
use super::content::{Amount, Content, DISTANCE_MAX, Fast, Place, bytes_of};
use super::draft::{Dialect, Draft, PlaceWord};
use super::header::{Application, Protocol};
use super::integer::{self, Compare};
use super::packet::{self, PacketTest};
use super::pcre;
use super::rule::Test;
use super::spoken;
use super::sticky::Sticky;
use super::threshold::{Threshold, ThresholdKind};
use super::transform::Transform;
use super::words::{Word, end_of_quote};
use super::{datasets, digests};

type Apply = fn(&mut Draft, &Word<'_>) -> Result<(), Fault>;

/// The keywords but for the sticky buffers and the transformations, which have tables of their own.
const KEYWORDS: &[(&str, Apply)] = &[
    ("msg", message),
    ("sid", |draft, word| set(&mut draft.rule.id, word)),
    ("rev", |draft, word| set(&mut draft.rule.revision, word)),
    ("gid", |draft, word| set(&mut draft.rule.generator, word)),
    ("classtype", |draft, word| {
        draft.rule.class = Some(word.unquoted()?.into());
        Ok(())
    }),
    ("priority", priority),
    ("reference", reference),
    ("metadata", metadata),
    ("content", content),
    ("uricontent", uri_content),
    ("nocase", |draft, word| {
        draft.content(word)?.any_case = true;
        Ok(())
    }),
    ("rawbytes", |draft, word| draft.content(word).map(drop)),
    ("offset", |draft, word| place(draft, word, &PlaceWord::Offset)),
    ("depth", |draft, word| place(draft, word, &PlaceWord::Depth)),
    ("distance", |draft, word| place(draft, word, &PlaceWord::Distance)),
    ("within", |draft, word| place(draft, word, &PlaceWord::Within)),
    ("startswith", starts_with),
    ("endswith", |draft, word| {
        draft.content(word)?.ends_buffer = true;
        Ok(())
    }),
    ("fast_pattern", fast_pattern),
    ("pcre", expression),
    ("byte_test", |draft, word| {
        let test = bytes::byte_test(word.fields()?, &draft.names).map_err(|reason| word.fault(reason))?;
        draft.ask(Test::ByteTest(test), word)
    }),
    ("byte_jump", |draft, word| {
        let jump = bytes::byte_jump(word.fields()?, &draft.names).map_err(|reason| word.fault(reason))?;
        draft.ask(Test::ByteJump(jump), word)
    }),
    ("byte_extract", |draft, word| {
        let extract =
            bytes::byte_extract(word.fields()?, &mut draft.names).map_err(|reason| word.fault(reason))?;
        draft.ask(Test::ByteExtract(extract), word)
    }),
    ("byte_math", |draft, word| {
        let math = bytes::byte_math(word.fields()?, &mut draft.names).map_err(|reason| word.fault(reason))?;
        draft.ask(Test::ByteMath(math), word)
    }),
    ("isdataat", |draft, word| {
        let is = bytes::is_data_at(word.fields()?, &draft.names).map_err(|reason| word.fault(reason))?;
        // Behind a content that is to be absent, too, it says that the content would stand at the end.
        if is.is_of_end() && draft.end_buffer() {
            return Ok(());
        }
        draft.ask(Test::IsDataAt(is), word)
    }),
    ("base64_decode", |draft, word| {
        let fields = word.value.unwrap_or_default().split(',').map(str::trim);
        let base64 = bytes::base64_decode(fields).map_err(|reason| word.fault(reason))?;
        draft.ask(Test::Base64(base64), word)
    }),
    ("bsize", |draft, word| {
        let size = compare(word)?;
        draft.ask(Test::Size(size), word)
    }),
    // Snort 3's name of it.
    ("bufferlen", |draft, word| {
        let size = inclusive(word)?;
        draft.ask(Test::Size(size), word)
    }),
    ("urilen", uri_length),
    ("absent", |draft, word| draft.ask(Test::Absent { or_else: word.value == Some("or_else") }, word)),
    ("flow", |draft, word| {
        draft.rule.flow = FlowTest::parse(word.fields()?).map_err(|reason| word.fault(reason))?;
        Ok(())
    }),
    ("flowbits", flow_bits),
    ("flowint", |draft, word| {
        draft.rule.integers.push(FlowInteger::parse(word.fields()?).map_err(|reason| word.fault(reason))?);
        Ok(())
    }),
    ("xbits", address_bits),
    ("hostbits", address_bits),
    ("stream_size", |draft, word| {
        draft.rule.stream_sizes.push(StreamSize::parse(word.fields()?).map_err(|reason| word.fault(reason))?);
        Ok(())
    }),
    ("threshold", |draft, word| threshold(draft, word, None)),
    ("detection_filter", |draft, word| threshold(draft, word, Some(ThresholdKind::Filter))),
    ("noalert", |draft, _| {
        draft.rule.is_silent = true;
        Ok(())
    }),
    ("alert", |draft, _| {
        draft.rule.is_told_of_pass = true;
        Ok(())
    }),
    ("app-layer-protocol", application),
    ("service", service),
    ("app-layer-event", |draft, word| {
        draft.rule.events.push(word.needed()?.into());
        Ok(())
    }),
    ("decode-event", |draft, word| {
        ask_packet(draft, Ok(PacketTest::DecodeEvent(word.needed()?.into())), word)
    }),
    ("stream-event", |draft, word| {
        ask_packet(draft, Ok(PacketTest::StreamEvent(word.needed()?.into())), word)
    }),
    ("dsize", |draft, word| ask_packet(draft, Ok(PacketTest::PayloadSize(compare(word)?)), word)),
    ("ttl", |draft, word| ask_packet(draft, Ok(PacketTest::TimeToLive(compare(word)?)), word)),
    ("tos", |draft, word| ask_packet(draft, Ok(PacketTest::TypeOfService(compare(word)?)), word)),
    ("id", |draft, word| ask_packet(draft, Ok(PacketTest::IpId(compare(word)?)), word)),
    ("ipopts", |draft, word| ask_packet(draft, Ok(PacketTest::IpOption(word.needed()?.into())), word)),
    ("sameip", |draft, word| ask_packet(draft, Ok(PacketTest::SameAddress), word)),
    ("fragbits", |draft, word| ask_packet(draft, packet::fragment_bits(word.needed()?), word)),
    ("fragoffset", |draft, word| ask_packet(draft, Ok(PacketTest::FragmentOffset(compare(word)?)), word)),
    ("ip_proto", |draft, word| ask_packet(draft, packet::ip_protocol(word.unquoted()?), word)),
    ("flags", |draft, word| ask_packet(draft, packet::tcp_flags(word.needed()?), word)),
    ("tcp.flags", |draft, word| ask_packet(draft, packet::tcp_flags(word.needed()?), word)),
    ("seq", |draft, word| ask_packet(draft, Ok(PacketTest::Sequence(compare(word)?)), word)),
    ("tcp.seq", |draft, word| ask_packet(draft, Ok(PacketTest::Sequence(compare(word)?)), word)),
    ("ack", |draft, word| ask_packet(draft, Ok(PacketTest::Acknowledgement(compare(word)?)), word)),
    ("tcp.ack", |draft, word| ask_packet(draft, Ok(PacketTest::Acknowledgement(compare(word)?)), word)),
    ("window", |draft, word| ask_packet(draft, Ok(PacketTest::Window(compare(word)?)), word)),
    ("tcp.window", |draft, word| ask_packet(draft, Ok(PacketTest::Window(compare(word)?)), word)),
    ("tcp.mss", |draft, word| ask_packet(draft, Ok(PacketTest::SegmentSizeMax(compare(word)?)), word)),
    ("itype", |draft, word| ask_packet(draft, Ok(PacketTest::IcmpType(compare(word)?)), word)),
    ("icode", |draft, word| ask_packet(draft, Ok(PacketTest::IcmpCode(compare(word)?)), word)),
    ("icmp_id", |draft, word| ask_packet(draft, Ok(PacketTest::IcmpId(compare(word)?)), word)),
    ("icmp_seq", |draft, word| ask_packet(draft, Ok(PacketTest::IcmpSequence(compare(word)?)), word)),
    ("icmpv6.mtu", |draft, word| ask_packet(draft, Ok(PacketTest::Icmpv6Mtu(compare(word)?)), word)),
    ("ipv4-csum", checksum),
    ("tcpv4-csum", checksum),
    ("tcpv6-csum", checksum),
    ("udpv4-csum", checksum),
    ("udpv6-csum", checksum),
    ("icmpv4-csum", checksum),
    ("icmpv6-csum", checksum),
    ("flow.age", |draft, word| ask_packet(draft, Ok(PacketTest::FlowAge(compare(word)?)), word)),
    ("fileext", file_extension),
    ("filename", file_name),
    // What changes nothing here: notes, hints to other engines, and what is logged in any case.
    ("dataset", datasets::apply),
    ("filesize", |draft, word| {
        let size = compare(word)?;
        draft.ask_in(Sticky::FileData, Test::Size(size), word)
    }),
    // What changes nothing here: notes, hints to other engines, and what is logged in any case.
    ("target", nothing),
    ("bypass", nothing),
    // Files are not stored: quarantine does so by verdict. The rule tells of them all the same.
    ("filestore", nothing),
    ("prefilter", nothing),
    ("tag", nothing),
    ("rem", nothing),
    ("requires", nothing),
    ("logto", nothing),
];

/// Keywords of Suricata and Snort that are known and not read, with the reason.
const UNREAD: &[(&str, &str)] = &[
    ("lua", "programs in rules are not run"),
    ("luajit", "programs in rules are not run"),
    ("asn1", "ASN.1 is not read"),
    ("filemagic", "libmagic's descriptions are not made"),
    ("datarep", "lists of reputation are not loaded"),
    ("iprep", "lists of reputation are not loaded"),
    ("geoip", "no table of countries is there"),
    ("replace", "content is let through or not, never changed by a rule"),
];

/// Does to the draft what the word says.
pub(crate) fn apply(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    if draft.dialect == Dialect::Suricata
        && let Some(sticky) = Sticky::of_modifier(word.name)
    {
        return draft.move_content(sticky, word);
    }
    if let Some((_, apply)) = KEYWORDS.iter().find(|(name, _)| *name == word.name) {
        return apply(draft, word);
    }
    if let Some(asked) = spoken::apply(draft, word).or_else(|| digests::apply(draft, word)) {
        return asked;
    }
    if let Some(sticky) = Sticky::of(word.name) {
        draft.look_into(sticky);
        return Ok(());
    }
    if let Some(transform) = Transform::of(word.name, word.value) {
        return draft.transform(
            transform.map_err(|reason| Fault::at(word.at, format!("{}: {reason}", word.name)))?,
            word,
        );
    }
    let unread = UNREAD.iter().find(|(name, _)| *name == word.name);
    let reason = unread.map_or("is no keyword that is known here", |(_, reason)| reason);
    Err(Fault::at(word.at, format!("{}: {reason}", word.name)))
}

fn nothing(_: &mut Draft, _: &Word<'_>) -> Result<(), Fault> {
    Ok(())
}

fn set(number: &mut u32, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    *number = text.parse().map_err(|_| word.fault(format!("{text:?} is no number")))?;
    Ok(())
}

fn compare(word: &Word<'_>) -> Result<Compare, Fault> {
    Compare::parse(word.unquoted()?).map_err(|reason| word.fault(reason))
}

/// Snort 3's ranges have their ends in them: `<=>`, and `<>` without.
fn inclusive(word: &Word<'_>) -> Result<Compare, Fault> {
    let text = word.unquoted()?;
    let text = text.split(',').next().unwrap_or_default();
    let Some((low, high)) = text.split_once("<=>") else {
        return Compare::parse(text).map_err(|reason| word.fault(reason));
    };
    let number = |text: &str| integer::number(text).map_err(|reason| word.fault(reason));
    let (low, high) = (number(low)?, number(high)?.saturating_add(1));
    Ok(match low.checked_sub(1) {
        Some(below) => Compare::Between(below, high),
        None => Compare::Less(high),
    })
}

fn message(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    let mut plain = String::with_capacity(text.len());
    let mut is_escaped = false;
    for c in text.chars() {
        if c == '\\' && !is_escaped {
            is_escaped = true;
            continue;
        }
        plain.push(c);
        is_escaped = false;
    }
    draft.rule.message = plain.into();
    Ok(())
}

fn priority(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    let number = text.parse().map_err(|_| word.fault(format!("{text:?} is no number from 0 to 255")))?;
    draft.rule.priority = Some(number);
    Ok(())
}

fn reference(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    let (kind, id) = text.split_once(',').ok_or_else(|| word.fault("a reference is: kind,text"))?;
    draft.rule.references.push((kind.trim().into(), id.trim().into()));
    Ok(())
}

fn metadata(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    for pair in word.fields()? {
        let (key, value) = pair.split_once(char::is_whitespace).unwrap_or((pair, ""));
        draft.rule.metadata.push((key.into(), value.trim().into()));
    }
    Ok(())
}

/// `!"bytes"`, in Snort 3 with modifiers behind commas.
fn content(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let value = word.needed()?;
    let (value, is_negated) =
        value.strip_prefix('!').map_or((value, false), |rest| (rest.trim_start(), true));
    let quoted = value.strip_prefix('"').ok_or_else(|| word.fault("a content stands in quotes"))?;
    let end = end_of_quote(quoted).ok_or_else(|| word.fault("the closing quote is missing"))?;
    let quoted_at =
        word.value_at + (quoted.as_ptr() as usize - word.value.unwrap_or_default().as_ptr() as usize);
    let bytes = bytes_of(&quoted[..end])
        .map_err(|(at, reason)| Fault::at(quoted_at + at, format!("{}: {reason}", word.name)))?;
    let content = Content {
        bytes: bytes.into(),
        is_negated,
        any_case: false,
        place: Place::ANYWHERE,
        ends_buffer: false,
        fast: Fast::Perhaps,
    };
    draft.ask(Test::Content(content), word)?;
    for modifier in quoted[end + 1..].split(',').map(str::trim).filter(|modifier| !modifier.is_empty()) {
        let (name, value) = modifier.split_once([' ', ':']).unwrap_or((modifier, ""));
        let value = Some(value.trim()).filter(|value| !value.is_empty());
        snort3_modifier(draft, &Word { name, at: word.at, value, value_at: word.value_at })?;
    }
    Ok(())
}

fn snort3_modifier(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    const MODIFIERS: [&str; 11] = [
        "nocase",
        "rawbytes",
        "offset",
        "depth",
        "distance",
        "within",
        "startswith",
        "endswith",
        "fast_pattern",
        "fast_pattern_offset",
        "fast_pattern_length",
    ];
    match word.name {
        "fast_pattern_offset" | "fast_pattern_length" => Ok(()),
        name if MODIFIERS.contains(&name) => apply(draft, word),
        name => Err(Fault::at(word.at, format!("{name:?} is no modifier of a content"))),
    }
}

/// What Snort looked into the address for, before it had buffers.
fn uri_content(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    content(draft, word)?;
    draft.move_content(Sticky::HttpUri, word)
}

fn place(draft: &mut Draft, word: &Word<'_>, of: &PlaceWord) -> Result<(), Fault> {
    let amount = draft.names.amount(word.unquoted()?).map_err(|reason| word.fault(reason))?;
    if let Amount::Number(number) = amount
        && number.abs() > DISTANCE_MAX
    {
        return Err(word.fault(format!("{number} is more than {DISTANCE_MAX}")));
    }
    let content = draft.content(word)?;
    let length = content.bytes.len() as i64;
    let is_bound = matches!(of, PlaceWord::Depth | PlaceWord::Within);
    if let Amount::Number(number) = amount
        && is_bound
        && number < length
    {
        return Err(word.fault(format!("{number} bytes have no room for the content's {length}")));
    }
    content.place(of, amount).map_err(|reason| word.fault(reason))
}

fn starts_with(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let content = draft.content(word)?;
    if content.place != Place::ANYWHERE {
        return Err(Fault::at(word.at, "startswith does not go with offset, depth, distance and within"));
    }
    let length = Amount::Number(content.bytes.len() as i64);
    content.place = Place::Absolute { offset: Amount::Number(0), depth: Some(length) };
    Ok(())
}

fn fast_pattern(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let fast = match word.value.filter(|value| !value.is_empty()) {
        None | Some("only") => Fast::Yes,
        Some(value) => {
            let chop = value.split_once(',').and_then(|(offset, length)| {
                Some((offset.trim().parse().ok()?, length.trim().parse().ok()?))
            });
            let (offset, length): (u16, u16) =
                chop.ok_or_else(|| word.fault("expected nothing, only, or offset,length"))?;
            Fast::Chop { offset, length }
        }
    };
    let content = draft.content(word)?;
    if let Fast::Chop { offset, length } = fast
        && (length == 0 || usize::from(offset) + usize::from(length) > content.bytes.len())
    {
        return Err(word.fault("these bytes are not in the content"));
    }
    content.fast = fast;
    Ok(())
}

fn expression(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let value = word.needed()?;
    let (value, is_negated) =
        value.strip_prefix('!').map_or((value, false), |rest| (rest.trim_start(), true));
    let text = super::words::unquoted(value);
    let (pcre, sticky) = pcre::parse(text, is_negated).map_err(|reason| word.fault(reason))?;
    match sticky {
        Some(sticky) => draft.ask_in(sticky, Test::Pcre(pcre), word),
        None => draft.ask(Test::Pcre(pcre), word),
    }
}

/// `urilen:4<>10,norm`: of the address as it came, unless it says otherwise.
fn uri_length(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let mut fields = word.fields()?;
    let size = Compare::parse(fields.next().unwrap_or_default()).map_err(|reason| word.fault(reason))?;
    let sticky = match fields.next() {
        None | Some("raw") => Sticky::HttpUriRaw,
        Some("norm") => Sticky::HttpUri,
        Some(other) => return Err(word.fault(format!("{other:?} is neither raw nor norm"))),
    };
    draft.ask_in(sticky, Test::Size(size), word)
}

fn flow_bits(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    match FlowBits::parse(word.fields()?).map_err(|reason| word.fault(reason))? {
        FlowBits::Bit(bit) => draft.rule.bits.push(bit),
        FlowBits::NoAlert => draft.rule.is_silent = true,
    }
    Ok(())
}

fn address_bits(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let fields = word.fields()?;
    if fields.clone().next() == Some("noalert") {
        draft.rule.is_silent = true;
        return Ok(());
    }
    draft.rule.bits.push(bits::address_bits(fields).map_err(|reason| word.fault(reason))?);
    Ok(())
}

fn threshold(draft: &mut Draft, word: &Word<'_>, kind: Option<ThresholdKind>) -> Result<(), Fault> {
    let threshold = Threshold::parse(word.fields()?, kind).map_err(|reason| word.fault(reason))?;
    match draft.rule.threshold.replace(threshold) {
        None => Ok(()),
        Some(_) => Err(Fault::at(word.at, "a rule has one threshold or detection_filter")),
    }
}

fn application(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    let text = text.split(',').next().unwrap_or_default();
    let (name, is_that) = text.strip_prefix('!').map_or((text, true), |name| (name, false));
    let protocol = Protocol::of_application(name);
    if protocol.is_none() && name != "failed" {
        return Err(word.fault(format!("{name:?} is no protocol that is known here")));
    }
    draft.rule.applications.push(Application { protocol, is_spoken: is_that });
    Ok(())
}

/// Snort 3: one of these protocols.
fn service(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let mut known = word.fields()?.filter_map(Protocol::of_application);
    if let Some(protocol) = known.next().filter(|_| known.next().is_none()) {
        draft.rule.applications.push(Application { protocol: Some(protocol), is_spoken: true });
    }
    Ok(())
}

fn ask_packet(draft: &mut Draft, test: Result<PacketTest, String>, word: &Word<'_>) -> Result<(), Fault> {
    draft.rule.packet.push(test.map_err(|reason| word.fault(reason))?);
    Ok(())
}

fn checksum(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    ask_packet(draft, packet::checksum(word.name, word.needed()?), word)
}

fn file_extension(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    in_name(draft, word, ".", true)
}

fn file_name(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    in_name(draft, word, "", false)
}

/// That is in the file's name, or at its end, in any case.
fn in_name(draft: &mut Draft, word: &Word<'_>, prefix: &str, is_end: bool) -> Result<(), Fault> {
    let value = word.needed()?;
    let (value, is_negated) =
        value.strip_prefix('!').map_or((value, false), |rest| (rest.trim_start(), true));
    let bytes = [prefix, super::words::unquoted(value)].concat().into_bytes().into();
    let content = Content {
        bytes,
        is_negated,
        any_case: true,
        place: Place::ANYWHERE,
        ends_buffer: is_end,
        fast: Fast::Perhaps,
    };
    draft.ask_in(Sticky::FileName, Test::Content(content), word)
}
