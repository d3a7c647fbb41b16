//! One mail on its way to its reader: [`Mail`]. Rule: the reply ends well only if all of it was let go, or if its end
//! says what is missing.

use super::notice;
use crate::events::{self, Action, Record};
use crate::heading::Heading;
use crate::paced;
use crate::quarantine::{Copy, is_used_by};
use crate::reasons::because;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::smtp::trace;
use crate::stream::Stream;
use lockgate_inspect::{Inspection, Progress};
use lockgate_model::{Flow, Transaction, Verdict};
use lockgate_proto::pop3::exchange::Extent;
use lockgate_proto::pop3::sender::status_line;
use lockgate_proto::pop3::{Status, StatusLine, Stuffing};
use std::io;

/// One mail while it is inspected.
pub struct Mail {
    about: Transaction,
    extent: Extent,
    /// The server's status line, which waits: its octets may not be those that are sent.
    status: StatusLine,
    inspection: Inspection,
    stuffing: Stuffing,
    heading: Heading,
    place: Place,
    said: Said,
    /// Content that came when the time of one push was spent.
    backlog: Vec<u8>,
    progress: Progress,
    copy: Kept,
}

/// The copy for the quarantine: the client may delete its mail once it has had the notice.
enum Kept {
    /// Policy does not ask for it, or only the top of the mail was asked for.
    NotAsked,
    /// So far it is written.
    Open(Copy),
    /// The verdict asks for it.
    Wanted(Copy),
    /// It is on the disk.
    Safe,
    /// It is not, and why.
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    InContent,
    /// All of it has come from the server.
    AtEnd,
}

/// What the client has of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    /// The status line, and content behind it.
    Begun,
    /// All of it: what still comes from the server is dropped.
    All(Action),
}

/// What is to be done with the client next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply goes on, or waits for more.
    More,
    /// The reply is complete.
    Complete,
    /// It cannot be completed in a way that the client would take for broken off: leave it.
    BreakOff,
}

impl Mail {
    /// Behind a positive status line.
    pub fn new(
        about: Transaction,
        extent: Extent,
        status: StatusLine,
        inspection: Inspection,
        settings: &Settings,
    ) -> Self {
        let copy = if extent == Extent::Whole && is_used_by(inspection.group()) {
            Kept::Open(Copy::begin(inspection.group(), settings, &about))
        } else {
            Kept::NotAsked
        };
        Self {
            about,
            extent,
            status,
            inspection,
            stuffing: Stuffing::new(),
            heading: Heading::default(),
            place: Place::InContent,
            said: Said::Nothing,
            backlog: Vec::new(),
            progress: Progress::Through,
            copy,
        }
    }

    /// Puts the copy on the disk, if the verdict asks for it.
    pub async fn keep(&mut self) {
        if let Kept::Wanted(copy) = std::mem::replace(&mut self.copy, Kept::NotAsked) {
            self.copy = match copy.keep().await {
                Ok(()) => Kept::Safe,
                Err(error) => Kept::Failed(error.to_string()),
            };
        }
    }

    /// Whether [`Mail::keep`] has something to do before the next quantum.
    pub fn is_to_be_kept(&self) -> bool {
        matches!(self.copy, Kept::Wanted(_))
    }

    /// Whether quanta of work are to be done before more content is read.
    pub fn is_busy(&self) -> bool {
        self.progress == Progress::Busy
    }

    /// Whether the client has seen nothing of the reply.
    pub fn is_unsaid(&self) -> bool {
        self.said == Said::Nothing
    }

    /// Content from the server, dot stuffing removed.
    pub fn push(&mut self, content: &[u8], client: &mut Stream, hostname: &str) -> io::Result<()> {
        if matches!(self.said, Said::All(_)) {
            return Ok(());
        }
        self.heading.push(content);
        self.inspect(content, client, hostname)
    }

    /// The content has ended.
    pub fn end(&mut self, client: &mut Stream, hostname: &str) -> io::Result<Outcome> {
        self.place = Place::AtEnd;
        self.progress = Progress::Busy;
        self.finish(client, hostname)
    }

    /// One quantum of what is left to do.
    pub fn work(&mut self, client: &mut Stream, hostname: &str) -> io::Result<Outcome> {
        let backlog = std::mem::take(&mut self.backlog);
        self.progress = Progress::Through;
        if self.place == Place::InContent || !backlog.is_empty() {
            self.inspect(&backlog, client, hostname)?;
        }
        if self.is_busy() || self.place == Place::InContent {
            return Ok(Outcome::More);
        }
        self.progress = Progress::Busy;
        self.finish(client, hostname)
    }

    fn inspect(&mut self, mut content: &[u8], client: &mut Stream, hostname: &str) -> io::Result<()> {
        loop {
            let pushed = paced::push(&mut self.inspection, content);
            if let Kept::Open(copy) = &mut self.copy {
                copy.write(&content[..pushed.consumed]);
            }
            content = &content[pushed.consumed..];
            self.progress = pushed.progress;
            if !pushed.released.is_empty() {
                if self.said == Said::Nothing {
                    client.queue(&self.status.line)?;
                    client.queue(b"\r\n")?;
                    self.said = Said::Begun;
                }
                client.write_stuffed_reply(&pushed.released, &mut self.stuffing)?;
            }
            // A verdict only hardens: nothing that still comes can change this one.
            if self.inspection.judgement().verdict == Verdict::Reject {
                self.progress = Progress::Through;
                return self.replace(client, hostname);
            }
            if content.is_empty() || self.is_busy() {
                self.backlog = content.to_vec();
                return Ok(());
            }
        }
    }

    fn finish(&mut self, client: &mut Stream, hostname: &str) -> io::Result<Outcome> {
        if matches!(self.said, Said::All(_)) {
            self.progress = Progress::Through;
            return Ok(Outcome::Complete);
        }
        if !self.backlog.is_empty() || paced::finish(&mut self.inspection) == Progress::Busy {
            return Ok(Outcome::More);
        }
        self.progress = Progress::Through;
        match self.inspection.judgement().verdict {
            Verdict::Pass | Verdict::Tag => self.let_go(client)?,
            Verdict::Quarantine => return self.quarantine(client, hostname),
            Verdict::Reject => self.replace(client, hostname)?,
            Verdict::Defer => {
                let why = format!("not inspected: {}", because(self.inspection.judgement()));
                return self.put_off(client, &why);
            }
        }
        Ok(Outcome::Complete)
    }

    /// The notice leaves only when the copy is safe.
    fn quarantine(&mut self, client: &mut Stream, hostname: &str) -> io::Result<Outcome> {
        self.copy = match std::mem::replace(&mut self.copy, Kept::NotAsked) {
            Kept::Open(copy) => Kept::Wanted(copy),
            settled => settled,
        };
        match &self.copy {
            Kept::Open(_) | Kept::Wanted(_) => {
                self.progress = Progress::Busy;
                Ok(Outcome::More)
            }
            Kept::Failed(why) => {
                let why = not_kept(why);
                self.put_off(client, &why)
            }
            Kept::NotAsked | Kept::Safe => {
                self.replace(client, hostname)?;
                Ok(Outcome::Complete)
            }
        }
    }

    /// The client is told to come again.
    fn put_off(&mut self, client: &mut Stream, why: &str) -> io::Result<Outcome> {
        if self.said != Said::Nothing {
            // A reply that ended well would let the client delete the mail, and it has not had it.
            return Ok(Outcome::BreakOff);
        }
        let text = format!("[SYS/TEMP] {why}; try again later [{}]", self.about.id);
        client.queue(&status_line(Status::Err, &text))?;
        self.said = Said::All(Action::Deferred);
        Ok(Outcome::Complete)
    }

    /// The mail goes on as it came, marked if policy says so and nothing has left.
    fn let_go(&mut self, client: &mut Stream) -> io::Result<()> {
        let judgement = self.inspection.judgement();
        // A part shown by TOP is cut by its nature; the mark is for the whole.
        let is_marked = judgement.verdict == Verdict::Tag && self.extent == Extent::Whole;
        let prefix = if is_marked { trace::tag(judgement, self.about.id) } else { Vec::new() };
        if self.said == Said::Nothing {
            client.queue(&self.status.line)?;
            client.queue(b"\r\n")?;
        }
        client.write_stuffed_reply(&self.inspection.release(&prefix), &mut self.stuffing)?;
        client.queue(self.stuffing.end())?;
        self.said = Said::All(Action::Forwarded);
        Ok(())
    }

    /// A notice in its place, or at its end.
    fn replace(&mut self, client: &mut Stream, hostname: &str) -> io::Result<()> {
        let judgement = self.inspection.judgement();
        let (text, action) = if self.said == Said::Nothing {
            client.queue(&status_line(Status::Ok, "a notice in place of the mail follows"))?;
            (notice::mail(judgement, &self.heading, self.about.id, hostname), Action::Replaced)
        } else {
            (notice::end(judgement, self.about.id), Action::Cut)
        };
        self.stuffing.pieces(text.as_bytes()).try_for_each(|piece| client.queue(piece))?;
        client.queue(self.stuffing.end())?;
        self.said = Said::All(action);
        Ok(())
    }

    /// Writes down what became of it.
    pub fn note(&self, flow: &Flow, shared: &Shared) {
        let judgement = self.inspection.judgement();
        let action = match (self.said, &self.copy) {
            (Said::All(action), _) => action,
            (Said::Begun, Kept::Failed(_)) => Action::Deferred,
            (Said::Begun, _) if judgement.verdict == Verdict::Defer => Action::Deferred,
            (Said::Nothing | Said::Begun, _) => Action::Lost,
        };
        if self.extent == Extent::Top && judgement.verdict <= Verdict::Tag {
            // Clients look at the tops of all mails again and again.
            return;
        }
        let reply = match &self.copy {
            Kept::Safe => format!("kept in quarantine: {}", because(judgement)),
            Kept::Failed(why) => not_kept(why),
            _ if judgement.verdict > Verdict::Tag => because(judgement),
            _ => String::new(),
        };
        shared.events.load().verdict(&Record {
            flow,
            about: &self.about,
            mail: events::Mail {
                helo: None,
                from: self.heading.from.as_deref(),
                to: self.heading.to.as_deref(),
                subject: self.heading.subject.as_deref(),
                message_id: self.heading.message_id.as_deref(),
            },
            http: None,
            judgement,
            action,
            reply: &reply,
            wire_bytes: self.inspection.wire_bytes(),
            released_bytes: self.inspection.released_bytes(),
        });
    }
}

fn not_kept(why: &str) -> String {
    format!("the quarantine failed: {why}")
}
