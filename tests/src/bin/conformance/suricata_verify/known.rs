//! The tests that fail, and why. Rule: one reason each, that a reader can check.

/// Test and reason.
const KNOWN: &[(&str, &str)] = &[
    ("bpf-command-line", "captures are not filtered by expressions of libpcap"),
    ("bug-130", "the content of a response that two readers read in two ways is told with a later packet"),
    ("bug-4376", "a connection begins twice with different timestamps of TCP"),
    ("bug-5929-02", "HTTP/2 without TLS is not read on the wire"),
    ("bug-7199", "a rule that asks of no transaction is told with none"),
    ("detect-engine-proto", "TCP Fast Open: where a stream begins"),
    ("detect-udp-flow-rule-02", UNREAD),
    ("drop-protocol-change", CHANGED),
    ("engine-state/detect-engine-state-05", FILES),
    ("eve-overlap-payload-03-ips", "what came second to the same place of a stream is looked at by itself"),
    ("filesize-keyword", UNREAD),
    ("filestore-alert-log", "libmagic's descriptions of files are not made"),
    ("http-gap-simple-frames-ips", "frames are not there"),
    ("mime/smtp-mime-encap-8649-baseline", FILES),
    ("output-eve-ftp-data", "whose connection a file comes by is known by the server's announcement alone"),
    ("protocol-change-failed-event", CHANGED),
    ("tcp-rst-unacked-stream-04-gap-ips", "inline, what stands behind a gap is told when the flow ends"),
    ("tcp-urgp-01-oob", URGENT),
    ("tcp-urgp-02-drop-ips", URGENT),
];

const CHANGED: &str = "STARTTLS without TLS behind it is not told";
const FILES: &str = "an alert does not tell of the files that its transaction carries";
const UNREAD: &str = "a protocol that is not taken apart (SIP, SMB)";
const URGENT: &str = "urgent data is read where it stands, as most servers do";

/// Why a test fails.
pub fn reason(test: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(name, _)| *name == test).map(|(_, reason)| *reason)
}
