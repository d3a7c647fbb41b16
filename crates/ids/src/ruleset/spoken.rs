//! Keywords about what DNS, FTP and TLS say that have a value of their own: one table. Rule: each becomes a question to a buffer.

use super::Fault;
use super::content::{Amount, Content, Fast, Place};
use super::draft::Draft;
use super::integer::{Compare, number};
use super::rule::Test;
use super::sticky::Sticky;
use super::words::{Word, unquoted};
use lockgate_model::Direction;

type Apply = fn(&mut Draft, &Word<'_>) -> Result<(), Fault>;

const KEYWORDS: &[(&str, Apply)] = &[
    ("dns.opcode", |draft, word| ask_number(draft, Sticky::DnsOpcode, word)),
    ("dns.rcode", |draft, word| ask_number(draft, Sticky::DnsResponseCode, word)),
    ("dns.rrtype", |draft, word| ask_number(draft, Sticky::DnsRecordType, word)),
    // Any address that is not the client's own.
    ("ftpbounce", |draft, word| draft.ask_in(Sticky::FtpBounce, Test::Size(Compare::Greater(0)), word)),
    // The file is stored, or retrieved.
    ("ftpdata_command", data_command),
    ("tls.version", tls_version),
    ("ssl_version", ssl_version),
    ("ssl_state", ssl_state),
    ("tls.subject", |draft, word| ask_text(draft, Sticky::TlsSubject, Place::ANYWHERE, word)),
    ("tls.issuerdn", |draft, word| ask_text(draft, Sticky::TlsIssuer, Place::ANYWHERE, word)),
    ("tls.fingerprint", |draft, word| ask_text(draft, Sticky::TlsFingerprint, Place::ANYWHERE, word)),
    // Certificates are not stored; the rule's alert has what they say.
    ("tls.store", |_, _| Ok(())),
    ("tls_store", |_, _| Ok(())),
];

/// The versions of SSL and TLS by the names that rules have for them, with their numbers.
const VERSIONS: [(&str, u16); 6] = [
    ("sslv2", 0x0002),
    ("sslv3", 0x0300),
    ("tls1.0", 0x0301),
    ("tls1.1", 0x0302),
    ("tls1.2", 0x0303),
    ("tls1.3", 0x0304),
];

/// The states of a handshake that are told apart: its hellos, and whose they are.
const STATES: [(&str, Direction); 2] =
    [("client_hello", Direction::ToServer), ("server_hello", Direction::ToClient)];

/// Does to the draft what the word says; `None` where it is none of these.
pub(crate) fn apply(draft: &mut Draft, word: &Word<'_>) -> Option<Result<(), Fault>> {
    KEYWORDS.iter().find(|(name, _)| *name == word.name).map(|(_, apply)| apply(draft, word))
}

fn ask_number(draft: &mut Draft, sticky: Sticky, word: &Word<'_>) -> Result<(), Fault> {
    let compare = Compare::parse(word.unquoted()?).map_err(|reason| word.fault(reason))?;
    draft.ask_in(sticky, Test::Number(compare), word)
}

fn data_command(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    if !["retr", "stor"].contains(&text) {
        return Err(word.fault(format!("{text:?} is neither retr nor stor")));
    }
    let test = exactly(text.as_bytes().into(), false, Place::ANYWHERE);
    draft.ask_in(Sticky::FtpDataCommand, test, word)
}

/// `!"text"`, in the buffer.
fn ask_text(draft: &mut Draft, sticky: Sticky, place: Place, word: &Word<'_>) -> Result<(), Fault> {
    let value = word.needed()?;
    let (value, is_negated) =
        value.strip_prefix('!').map_or((value, false), |rest| (rest.trim_start(), true));
    let bytes = unquoted(value).as_bytes().into();
    draft.ask_in(sticky, exactly(bytes, is_negated, place), word)
}

fn exactly(bytes: Box<[u8]>, is_negated: bool, place: Place) -> Test {
    Test::Content(Content {
        bytes,
        is_negated,
        any_case: false,
        place,
        ends_buffer: false,
        fast: Fast::Perhaps,
    })
}

/// `1.2`, or its number.
fn tls_version(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let text = word.unquoted()?;
    let (text, is_negated) = text.strip_prefix('!').map_or((text, false), |text| (text, true));
    let named = VERSIONS.iter().find(|(name, _)| name.strip_prefix("tls") == Some(text.trim()));
    let version = match named {
        Some((_, version)) => *version,
        None => number(text).ok().and_then(|number| u16::try_from(number).ok()).ok_or_else(|| {
            word.fault(format!("{text:?} is no version: 1.0, 1.1, 1.2, 1.3 and 0x0303 are"))
        })?,
    };
    let place = Place::Absolute { offset: Amount::Number(0), depth: Some(Amount::Number(2)) };
    let test = exactly(version.to_be_bytes().into(), is_negated, place);
    draft.ask_in(Sticky::TlsVersion, test, word)
}

/// `tls1.0,sslv3`: a hello of one of these; `!sslv3`: of none of these.
fn ssl_version(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let (mut any, mut none) = (Vec::new(), Vec::new());
    for field in word.fields()? {
        let (name, into) = match field.strip_prefix('!') {
            Some(name) => (name.trim(), &mut none),
            None => (field, &mut any),
        };
        let known = VERSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, version) = known.ok_or_else(|| {
            word.fault(format!("{name:?} is no version: sslv2, sslv3 and tls1.0 to tls1.3 are"))
        })?;
        into.push(*version);
    }
    for (values, is_negated) in [(any, false), (none, true)] {
        if !values.is_empty() {
            let test = Test::OneOf { values: values.into(), is_negated };
            draft.ask_in(Sticky::TlsVersion, test, word)?;
        }
    }
    Ok(())
}

/// `client_hello`, `!server_hello`, or both with `|` between them: whose hello it is that has been seen.
fn ssl_state(draft: &mut Draft, word: &Word<'_>) -> Result<(), Fault> {
    let mut sides = Vec::new();
    for field in word.unquoted()?.split(['|', ',']).map(str::trim) {
        let (name, is_that) = field.strip_prefix('!').map_or((field, true), |name| (name.trim(), false));
        let known = STATES.iter().find(|(known, _)| *known == name).map(|(_, side)| *side);
        let side = known.ok_or_else(|| {
            word.fault(format!("{name:?} is not told apart: client_hello and server_hello are"))
        })?;
        sides.push(if is_that { side } else { side.reverse() });
    }
    if let [first, others @ ..] = sides.as_slice()
        && others.iter().all(|side| side == first)
        && draft.rule.flow.direction.is_none()
    {
        draft.rule.flow.direction = Some(*first);
    }
    draft.ask_in(Sticky::TlsRandom, Test::Size(Compare::Greater(0)), word)
}
