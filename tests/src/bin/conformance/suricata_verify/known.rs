//! The tests that fail, and why. Rule: one reason each, that a reader can check.

/// Test and reason.
const KNOWN: &[(&str, &str)] = &[
    ("bpf-command-line", "captures are not filtered by expressions of libpcap"),
    ("bug-130", "a rule of the stream is told with the packet that brought what it found, which is earlier"),
    ("detect-engine-proto", "TCP Fast Open: where a stream begins"),
    ("detect-udp-flow-rule-02", UNREAD),
    ("drop-protocol-change", CHANGED),
    ("engine-state/detect-engine-state-05", "of several files of one transaction a rule is told once"),
    ("eve-overlap-payload-03-ips", "what came second to the same place of a stream is looked at by itself"),
    ("filesize-keyword", UNREAD),
    ("filestore-alert-log", "libmagic's descriptions of files are not made"),
    ("http-gap-simple-frames-ips", FRAMES),
    ("protocol-change-failed-event", CHANGED),
    ("tcp-rst-unacked-stream-04-gap-ips", "inline, what stands behind a gap is told when the flow ends"),
    ("tcp-urgp-01-oob", FRAMES),
    ("tcp-urgp-02-drop-ips", "packets with urgent bytes are not dropped for that"),
];

const CHANGED: &str =
    "that another protocol is announced and not spoken, or spoken without a request, is not told";
const UNREAD: &str = "what SIP and SMB say is not taken apart";
const FRAMES: &str = "rules cannot ask of frames";

/// Why a test fails.
pub fn reason(test: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(name, _)| *name == test).map(|(_, reason)| *reason)
}
