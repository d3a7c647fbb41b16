//! Whose bytes count where segments overlap: [`StreamPolicy`]. Rule: what the target system would read is what is inspected.
//!
//! Novak and Sturges, "Target-Based TCP Stream Reassembly" (2007); where Suricata and the paper differ, Suricata's table,
//! since rules and captures are tried against it.

use std::ops::Range;
use std::str::FromStr;

/// A family of systems by how it treats segments that overlap. The names are those of Suricata's `host-os-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the system of its name")]
pub enum StreamPolicy {
    /// What came first stays.
    First,
    /// What came last counts.
    Last,
    #[default]
    Bsd,
    BsdRight,
    Linux,
    OldLinux,
    Solaris,
    OldSolaris,
    Hpux10,
    Hpux11,
    Irix,
    Macos,
    Windows,
    Windows2k3,
    Vista,
}

impl FromStr for StreamPolicy {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "first" => Self::First,
            "last" => Self::Last,
            "bsd" => Self::Bsd,
            "bsd-right" => Self::BsdRight,
            "linux" => Self::Linux,
            "old-linux" => Self::OldLinux,
            "solaris" => Self::Solaris,
            "old-solaris" => Self::OldSolaris,
            "hpux10" => Self::Hpux10,
            "hpux11" => Self::Hpux11,
            "irix" => Self::Irix,
            "macos" => Self::Macos,
            "windows" => Self::Windows,
            "windows2k3" => Self::Windows2k3,
            "vista" => Self::Vista,
            _ => return Err(()),
        })
    }
}

impl StreamPolicy {
    /// Whether bytes of the segment `new` take the place of those that the segment `old` brought.
    pub(crate) fn new_wins(self, new: &Range<u64>, old: &Range<u64>) -> bool {
        let starts_before = new.start < old.start;
        let starts_with = new.start == old.start;
        match self {
            Self::First | Self::Vista => false,
            Self::Last => true,
            Self::Bsd
            | Self::Hpux10
            | Self::Irix
            | Self::Macos
            | Self::Windows
            | Self::Windows2k3
            | Self::OldSolaris => starts_before,
            Self::BsdRight => new.start >= old.start,
            Self::Linux => starts_before || starts_with && new.end > old.end,
            Self::OldLinux => starts_before || starts_with && new.end >= old.end,
            Self::Solaris | Self::Hpux11 => {
                if starts_before || starts_with {
                    new.end >= old.end
                } else {
                    new.end > old.end
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// New segments around the old one, 10..20: before, around and with its start, within, and over its end.
    const NEW: [Range<u64>; 8] = [5..15, 5..20, 5..25, 10..15, 10..20, 10..25, 12..18, 15..25];

    #[test]
    fn each_policy_has_its_row() {
        for (name, row) in [
            ("first", "oooooooo"),
            ("vista", "oooooooo"),
            ("last", "nnnnnnnn"),
            ("bsd", "nnnooooo"),
            ("windows", "nnnooooo"),
            ("macos", "nnnooooo"),
            ("linux", "nnnoonoo"),
            ("old-linux", "nnnonnoo"),
            ("solaris", "onnonnon"),
            ("hpux11", "onnonnon"),
            ("bsd-right", "ooonnnnn"),
        ] {
            let policy: StreamPolicy = name.parse().unwrap();
            let ours: String =
                NEW.iter().map(|new| if policy.new_wins(new, &(10..20)) { 'n' } else { 'o' }).collect();
            assert_eq!(ours, row, "{name}");
        }
        assert_eq!("beos".parse::<StreamPolicy>(), Err(()));
    }
}
