//! A mail's content, from the client through the inspection to its destination: [`Incoming`]. Rule: what is read is
//! framed, inspected and handed on in one go; nothing is read while the destination does not keep up.

use super::downstream::{Downstream, Over};
use super::replies;
use super::transfer::{Destination, Transfer};
use crate::heading::Heading;
use crate::paced;
use crate::quarantine::Copy;
use crate::scratch::with_scratch;
use crate::settings::Timeouts;
use crate::stream::ReadOutcome;
use crate::turn;
use lockgate_inspect::{Inspection, Progress};
use lockgate_proto::smtp::{Frame, Reply};
use std::time::Instant;

/// One mail while its content comes in.
pub struct Incoming {
    /// What is known of the content.
    pub inspection: Inspection,
    /// Where it goes.
    pub transfer: Transfer,
    /// What is kept of it where it goes no further.
    pub copy: Copy,
    /// What people know it by.
    pub heading: Heading,
    bytes_max: u64,
    bytes: u64,
    refusal: Option<Reply>,
    /// Content that was framed but not inspected when the time of one push was spent.
    backlog: Vec<u8>,
    progress: Progress,
}

/// What one look at the client came to.
enum Took {
    Nothing,
    Some,
    Busy,
    End,
}

impl Incoming {
    /// No content yet.
    pub fn new(inspection: Inspection, transfer: Transfer, copy: Copy, bytes_max: u64) -> Self {
        Self {
            inspection,
            transfer,
            copy,
            heading: Heading::default(),
            bytes_max,
            bytes: 0,
            refusal: None,
            backlog: Vec::new(),
            progress: Progress::Through,
        }
    }

    /// Why the mail is refused whatever is in it.
    pub fn refusal(&self) -> Option<&Reply> {
        self.refusal.as_ref().or(self.transfer.failure())
    }

    /// Reads content up to its end: the whole mail of a DATA, or one chunk.
    pub async fn receive(
        &mut self,
        down: &mut Downstream,
        destination: &mut Destination,
        timeouts: &Timeouts,
    ) -> Result<(), Over> {
        loop {
            let took = if turn::is_crowded() {
                self.take_in_turn(down, destination).await?
            } else {
                self.take(down, destination)?
            };
            if let Took::Busy = took {
                self.work_off(destination, timeouts).await;
            }
            if self.transfer.is_unsettled(destination) {
                self.transfer.settle(destination, timeouts).await;
            }
            match took {
                Took::End => return Ok(()),
                Took::Some | Took::Busy => {}
                Took::Nothing => await_content(down, timeouts).await?,
            }
        }
    }

    /// All content has come: waits until it is inspected.
    pub async fn finish(&mut self) {
        while self.refusal().is_none() && paced::finish(&mut self.inspection) == Progress::Busy {
            turn::quantum(|| ()).await;
        }
    }

    /// Where many wait for their turn, what they have read adds up: so one reads when its turn has come, as much as that is
    /// enough for.
    async fn take_in_turn(
        &mut self,
        down: &mut Downstream,
        destination: &mut Destination,
    ) -> Result<Took, Over> {
        turn::quantum(|| {
            let begun = Instant::now();
            loop {
                let took = self.take(down, destination)?;
                let is_over = begun.elapsed() >= turn::QUANTUM || self.transfer.is_unsettled(destination);
                if is_over || !matches!(took, Took::Some) {
                    return Ok(took);
                }
            }
        })
        .await
    }

    /// Reads once, and works through what was read.
    fn take(&mut self, down: &mut Downstream, destination: &mut Destination) -> Result<Took, Over> {
        with_scratch(|scratch| {
            let count = match down.accepted.stream.try_read(&mut scratch[..turn::read_bytes()])? {
                ReadOutcome::Bytes(count) => count,
                ReadOutcome::WouldBlock => 0,
                ReadOutcome::End => return Err(Over::Gone),
            };
            let mut took = if count == 0 { Took::Nothing } else { Took::Some };
            let mut rest = &scratch[..count];
            loop {
                let step = down.receiver.step(rest);
                rest = &rest[step.consumed..];
                match step.frame {
                    Frame::NeedInput => break,
                    Frame::Content(content) => self.push(content, destination),
                    Frame::Refused(refusal) => self.refuse(replies::refused_line_ends(refusal)),
                    Frame::EndOfContent | Frame::Line(_) | Frame::BadLine(_) => took = Took::End,
                }
                if self.progress == Progress::Busy {
                    took = Took::Busy;
                }
                if matches!(took, Took::End | Took::Busy) {
                    break;
                }
            }
            down.accepted.stream.unread(rest);
            Ok(took)
        })
    }

    /// Inspects content and hands on what may leave.
    fn push(&mut self, mut content: &[u8], destination: &mut Destination) {
        self.bytes += content.len() as u64;
        self.heading.push(content);
        if self.bytes > self.bytes_max {
            self.refuse(replies::too_long(self.bytes_max));
        }
        self.copy.write(content);
        while self.refusal.is_none() {
            let pushed = paced::push(&mut self.inspection, content);
            content = &content[pushed.consumed..];
            self.transfer.write(pushed.released, destination);
            self.progress = pushed.progress;
            if self.progress == Progress::Busy {
                self.backlog.extend_from_slice(content);
                return;
            }
            if content.is_empty() {
                return;
            }
        }
    }

    /// Works on what is left, one quantum after another, while other sessions run in between.
    async fn work_off(&mut self, destination: &mut Destination, timeouts: &Timeouts) {
        while self.progress == Progress::Busy {
            turn::quantum(|| {
                let backlog = std::mem::take(&mut self.backlog);
                let pushed = paced::push(&mut self.inspection, &backlog);
                let consumed = pushed.consumed;
                self.transfer.write(pushed.released, destination);
                self.progress = pushed.progress;
                self.backlog = backlog;
                self.backlog.drain(..consumed);
            })
            .await;
            self.transfer.settle(destination, timeouts).await;
            if self.progress == Progress::Through && !self.backlog.is_empty() {
                self.progress = Progress::Busy;
            }
        }
        self.backlog = Vec::new();
    }

    fn refuse(&mut self, reply: Reply) {
        self.refusal.get_or_insert(reply);
    }
}

/// Waits for more of the client's bytes (RFC 5321 section 4.5.3.2.5).
async fn await_content(down: &mut Downstream, timeouts: &Timeouts) -> Result<(), Over> {
    let stream = &mut down.accepted.stream;
    let wait = async {
        stream.flush().await?;
        stream.readable().await
    };
    match tokio::time::timeout(timeouts.data_block, wait).await {
        Ok(ready) => Ok(ready?),
        Err(_) => Err(Over::Silent),
    }
}
