//! Which sticky buffers the waist fills, and from which of its own. Rule: what is filled whole has one name on both sides.

use crate::ruleset::sticky::Sticky;
use lockgate_model::{Buffer, BufferSet};

/// The buffers of the waist that protocols fill for rules, each instance whole.
const WHOLE: [Buffer; 31] = [
    Buffer::SmtpHelo,
    Buffer::SmtpMailFrom,
    Buffer::SmtpRcptTo,
    Buffer::FtpCommand,
    Buffer::FtpCommandData,
    Buffer::FtpReply,
    Buffer::FtpCompletionCode,
    Buffer::FtpDataCommand,
    Buffer::DnsQuery,
    Buffer::DnsQueryName,
    Buffer::DnsAnswerName,
    Buffer::DnsAuthorityName,
    Buffer::DnsAdditionalName,
    Buffer::DnsOpcode,
    Buffer::DnsResponseCode,
    Buffer::DnsRecordType,
    Buffer::TlsVersion,
    Buffer::TlsServerName,
    Buffer::TlsSubject,
    Buffer::TlsIssuer,
    Buffer::TlsSerial,
    Buffer::TlsFingerprint,
    Buffer::TlsCertificates,
    Buffer::TlsAlternativeNames,
    Buffer::TlsRandom,
    Buffer::TlsAlpn,
    Buffer::Ja3Hash,
    Buffer::Ja3String,
    Buffer::Ja3sHash,
    Buffer::Ja3sString,
    Buffer::Ja4Hash,
];

/// The sticky buffer that this one of the waist fills by itself.
pub(crate) fn sticky(buffer: Buffer) -> Option<Sticky> {
    WHOLE.contains(&buffer).then(|| Sticky::of(buffer.name())).flatten()
}

/// The buffer of the waist that fills this one by itself.
pub(crate) fn whole(sticky: Sticky) -> Option<Buffer> {
    match sticky {
        // Parts of the 32 bytes.
        Sticky::TlsRandomTime | Sticky::TlsRandomBytes => Some(Buffer::TlsRandom),
        sticky => WHOLE.iter().copied().find(|buffer| buffer.name() == sticky.name()),
    }
}

/// Whether the buffer is of a head of HTTP.
pub(crate) fn is_of_http(buffer: Buffer) -> bool {
    crate::database::OF_EXCHANGES.contains(buffer)
}

/// The buffers that are needed for that one.
pub(crate) fn with(buffer: Buffer) -> BufferSet {
    let set = BufferSet::EMPTY.with(buffer);
    // Which command it belongs to says whether it names an address.
    if buffer == Buffer::FtpCommandData { set.with(Buffer::FtpCommand) } else { set }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_name_on_both_sides() {
        for buffer in WHOLE {
            assert_eq!(sticky(buffer).and_then(whole), Some(buffer), "{}", buffer.name());
        }
        assert_eq!(sticky(Buffer::FileData), None);
        assert_eq!(whole(Sticky::HttpUri), None);
        assert_eq!(whole(Sticky::TlsRandomTime), Some(Buffer::TlsRandom));
    }
}
