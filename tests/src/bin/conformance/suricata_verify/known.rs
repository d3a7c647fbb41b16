//! The tests that fail, and why. Rule: one reason each, that a reader can check.

/// Test and reason.
const KNOWN: &[(&str, &str)] = &[
    ("alert-max/alert-max-append-higher-priority", ALL_TOLD),
    ("bpf-command-line", "captures are not filtered by expressions of libpcap"),
    ("bug-130", "the content of a response that two readers read in two ways is told with a later packet"),
    ("bug-2511", "six codings in one another are undone without a word"),
    ("bug-2576-01", DIGESTS),
    ("bug-2576-02", DIGESTS),
    ("bug-2576-02-ips", DIGESTS),
    ("bug-2576-03", DIGESTS),
    ("bug-4376", "a connection begins twice with different timestamps of TCP"),
    ("bug-4571-03-pre-8", "what an alert's packet was carried in is not told"),
    ("bug-5929-02", "HTTP/2 without TLS is not read on the wire"),
    ("bug-7199", "a rule that asks of no transaction is told with none"),
    ("bug-8021-alert-max-verdict-01", ALL_TOLD),
    ("defrag/bug-6887-defrag-ppp-ipv4-tcp-syn", REBUILT),
    ("defrag/bug-6887-defrag-ppp-ipv6-tcp", REBUILT),
    ("detect-engine-proto", "TCP Fast Open: where a stream begins"),
    ("detect-pcrexform-01", "pcrexform is not there"),
    ("detect-pcrexform-05", "pcrexform is not there"),
    ("detect-udp-flow-rule-02", UNREAD),
    ("drop-protocol-change", CHANGED),
    ("engine-state/detect-engine-state-05", FILES),
    ("eve-metadata", "flowbits are not told with alerts"),
    ("eve-overlap-payload-03-ips", "what came second to the same place of a stream is looked at by itself"),
    (
        "eve-payload-02-tcp-exact-overlap-policy-oldlinux",
        "of two whole segments in one place, old Linux takes the later",
    ),
    (
        "exception-policy-default-03",
        "inline, a connection without a beginning is asked about unless --unbegun says otherwise",
    ),
    ("filesize-keyword", UNREAD),
    ("filestore-alert-log", "libmagic's descriptions of files are not made"),
    ("http-event-chunk", "extensions of chunks in requests are not told"),
    ("http-gap-simple-frames-ips", "frames are not there"),
    ("http-xff-eve-forward-overwrite", FORWARDED),
    ("http-xff-eve-reverse-overwrite", FORWARDED),
    ("mime/smtp-mime-encap-8649-baseline", FILES),
    ("output-eve-ftp-data", "whose connection a file comes by is known by the server's announcement alone"),
    ("protocol-change-failed-event", CHANGED),
    ("tcp-rst-unacked-stream-04-gap-ips", "inline, what stands behind a gap is told when the flow ends"),
    ("tcp-urgp-01-oob", URGENT),
    ("tcp-urgp-02-drop-ips", URGENT),
];

const ALL_TOLD: &str = "of one packet all rules are told that match, however many";
const CHANGED: &str = "STARTTLS without TLS behind it is not told";
const DIGESTS: &str = "rules by lists of digests are not asked: such lists are loaded as virus signatures";
const FILES: &str = "an alert does not tell of the files that its transaction carries";
const FORWARDED: &str = "X-Forwarded-For is not told in the place of an address";
const REBUILT: &str = "what is put together of fragments has no header of PPP";
const UNREAD: &str = "a protocol that is not taken apart (SIP, SMB)";
const URGENT: &str = "urgent data is read where it stands, as most servers do";

/// Why a test fails.
pub fn reason(test: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(name, _)| *name == test).map(|(_, reason)| *reason)
}
