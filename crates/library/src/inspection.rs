//! One message: [`Inspection`]. Rule: all that is handed over is inspected before the call returns.

use crate::alert::{Alert, Verdict};
use crate::error::{Error, text};
use crate::named::Named;
use lockgate_inspect as inspect;
use lockgate_model::{Buffer, Direction};
use std::ffi::{CStr, CString};

/// A message on its way.
pub struct Inspection {
    inner: inspect::Inspection,
    direction: Direction,
    named: Named,
    is_finished: bool,
    /// What was told of so far, and what could not be inspected.
    alerts: Vec<Alert>,
    incomplete: Vec<CString>,
}

impl Inspection {
    /// One that was begun.
    pub fn new(inner: inspect::Inspection, direction: Direction) -> Self {
        Self {
            inner,
            direction,
            named: Named::default(),
            is_finished: false,
            alerts: Vec::new(),
            incomplete: Vec::new(),
        }
    }

    /// A buffer of the message, as the gateway names it.
    pub fn about(&mut self, buffer: Buffer, bytes: &[u8]) {
        if self.inner.wants(buffer) {
            self.inner.about(buffer, bytes);
        }
    }

    /// A buffer by the name that rules have for it.
    pub fn buffer(&mut self, name: &str, bytes: &[u8]) -> Result<Verdict, Error> {
        self.is_open()?;
        if self.named.take(name, bytes) {
            return Ok(self.verdict());
        }
        let known = Buffer::ALL.iter().copied().find(|buffer| buffer.name() == name);
        match known {
            Some(Buffer::FileData) => return self.push(bytes),
            Some(buffer) => self.about(buffer, bytes),
            None => return Err(Error::new(format!("{name:?} is no buffer that is known"))),
        }
        Ok(self.verdict())
    }

    /// The next bytes of its content.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Verdict, Error> {
        self.is_open()?;
        self.tell_named();
        let mut rest = bytes;
        loop {
            let pushed = self.inner.push(rest);
            let (consumed, progress) = (pushed.consumed, pushed.progress);
            rest = rest.get(consumed..).unwrap_or_default();
            if rest.is_empty() && progress == inspect::Progress::Through {
                return Ok(self.verdict());
            }
        }
    }

    /// Its content has ended.
    pub fn finish(&mut self) -> Result<Verdict, Error> {
        self.is_open()?;
        self.tell_named();
        self.is_finished = true;
        while self.inner.finish() == inspect::Progress::Busy {}
        Ok(self.verdict())
    }

    /// What is known so far.
    pub fn verdict(&self) -> Verdict {
        let judgement = self.inner.judgement();
        match () {
            () if judgement.verdict > lockgate_model::Verdict::Tag => Verdict::Drop,
            () if judgement.findings_count + judgement.incomplete_count > 0 => Verdict::Alert,
            () => Verdict::Pass,
        }
    }

    /// What was found, from 0.
    pub fn alert(&mut self, index: usize) -> Option<&Alert> {
        let found = &self.inner.judgement().findings;
        let new = found.get(self.alerts.len()..).unwrap_or_default();
        self.alerts.extend(new.iter().map(Alert::of));
        self.alerts.get(index)
    }

    /// What could not be inspected, from 0.
    pub fn incomplete(&mut self, index: usize) -> Option<&CStr> {
        let known = &self.inner.judgement().incomplete;
        let new = known.get(self.incomplete.len()..).unwrap_or_default();
        self.incomplete.extend(new.iter().map(|one| text(&format!("{}: {}", one.part, one.reason))));
        self.incomplete.get(index).map(CString::as_c_str)
    }

    fn is_open(&self) -> Result<(), Error> {
        match self.is_finished {
            true => Err(Error::new("the inspection is finished: begin another")),
            false => Ok(()),
        }
    }

    /// Buffers of a head that were named one by one are a head now.
    fn tell_named(&mut self) {
        let Some((line, header)) = std::mem::take(&mut self.named).head(self.direction) else { return };
        let (of_line, of_header) = match self.direction {
            Direction::ToServer => (Buffer::HttpRequestLine, Buffer::HttpHeader),
            Direction::ToClient => (Buffer::HttpResponseLine, Buffer::HttpResponseHeader),
        };
        self.about(of_line, &line);
        self.about(of_header, &header);
    }
}
