//! A finding for C: [`Alert`]. Rule: its text lives as long as what it was found in.

use crate::error::text;
use lockgate_model::{Class, Finding, Wish};
use serde_json::Value;
use std::ffi::CString;

/// What is to become of a message or packet, as the header numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Verdict {
    Failed = -1,
    #[default]
    Pass = 0,
    Alert = 1,
    Drop = 2,
}

/// A finding.
#[derive(Debug)]
pub struct Alert {
    pub gid: u32,
    pub sid: u32,
    pub rev: u32,
    pub severity: u32,
    pub verdict: Verdict,
    pub message: CString,
    pub category: CString,
    pub engine: CString,
    pub rule: CString,
    pub buffer: CString,
    pub part: CString,
    pub offset: i64,
}

impl Alert {
    /// Of what was found in a message.
    pub fn of(finding: &Finding) -> Self {
        let signature = finding.signature.as_deref();
        let stops = match signature {
            Some(signature) => signature.wish == Wish::Stop,
            None => matches!(finding.class, Class::Virus | Class::Intrusion),
        };
        Self {
            gid: signature.map_or(0, |signature| signature.generator),
            sid: signature.map_or(0, |signature| signature.id),
            rev: signature.map_or(0, |signature| signature.revision),
            severity: signature.map_or(1, |signature| u32::from(signature.severity)),
            verdict: if stops { Verdict::Drop } else { Verdict::Alert },
            message: text(&finding.name),
            category: text(signature.map_or(finding.class.name(), |signature| &signature.category)),
            engine: text(finding.engine.name()),
            rule: text(&finding.rule),
            buffer: text(finding.buffer.name()),
            part: text(&finding.part),
            offset: finding.offset.and_then(|offset| i64::try_from(offset).ok()).unwrap_or(-1),
        }
    }

    /// Of an event on the wire, if it is an alert.
    pub fn of_event(line: &str) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let alert = event.get("alert")?;
        let number =
            |name| alert.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let words = |name| text(alert.get(name).and_then(Value::as_str).unwrap_or_default());
        let stops = alert.get("action").and_then(Value::as_str) == Some("blocked");
        Some(Self {
            gid: number("gid"),
            sid: number("signature_id"),
            rev: number("rev"),
            severity: number("severity"),
            verdict: if stops { Verdict::Drop } else { Verdict::Alert },
            message: words("signature"),
            category: words("category"),
            engine: text(if alert.get("signature_id").is_some() { "ids" } else { "" }),
            rule: words("rule"),
            buffer: CString::default(),
            part: words("part"),
            offset: -1,
        })
    }
}
