//! One message on its way through the inspection: [`Content`]. Rule: its head leaves with the first content that is let
//! go, and its end only when all of it was.

use super::range::Window;
use crate::paced;
use lockgate_inspect::{Inspection, Progress, Released};
use lockgate_proto::http::{Fields, Framing};
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// Where a message leaves, in whatever version of HTTP is spoken there.
pub trait Outlet {
    /// What stands before the content.
    type Head;

    /// Writes a piece of the content, with the head in front of it if it is the first, and behind the last the trailers,
    /// where there is a place for them.
    fn write(
        &mut self,
        head: Option<&Self::Head>,
        framing: Framing,
        content: &Released<'_>,
        last: Last<'_>,
    ) -> io::Result<()>;
}

/// A request or a response while it is inspected.
pub struct Content<H> {
    inspection: Inspection,
    head: H,
    /// How the content is framed on its way out.
    framing: Framing,
    /// What was let go before there was a connection to write it to.
    parked: Vec<Released<'static>>,
    /// Content that came when the time of one push was spent.
    backlog: Vec<u8>,
    place: Place,
    progress: Progress,
    said: Said,
    /// How long the tail is held, where that has an end …
    tail_time: Option<Duration>,
    /// … and when the one that is held now leaves.
    tail_due: Option<Instant>,
    ending: Ending,
    /// What of it leaves, where that is not all.
    window: Option<Window>,
    /// What leaves behind it.
    trailers: Fields,
}

/// What becomes of content that was held whole and may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It leaves.
    LetGo,
    /// It waits to be told to: others leave together with it, or something leaves in its place.
    Withheld,
}

/// Where the content stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    InContent,
    /// All of it has come.
    AtEnd,
    /// All of it may leave, when it is told to.
    Whole,
    /// All of it was let go.
    Through,
    /// It was not.
    Refused,
}

/// What the other side has of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing, so that something else can be said in its place.
    Nothing,
    /// Its head, and some of the content.
    Begun,
    /// All of it.
    All,
}

/// What is known of it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, or waits for more.
    More,
    /// It has been let go to its end.
    Complete,
    /// It is there in whole and may leave, which it does when it is told to.
    Whole,
    /// It is not let go: nothing more of it leaves.
    Refused,
}

/// Whether a piece is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last<'t> {
    /// The message ends with it.
    Yes,
    /// The message ends with these fields behind it.
    With(&'t Fields),
    /// More follows.
    No,
}

impl<H> Content<H> {
    /// Behind its head, which leaves as it is given here.
    pub fn new(inspection: Inspection, head: H, framing: Framing) -> Self {
        Self {
            inspection,
            head,
            framing,
            parked: Vec::new(),
            backlog: Vec::new(),
            place: Place::InContent,
            progress: Progress::Through,
            said: Said::Nothing,
            tail_time: None,
            tail_due: None,
            ending: Ending::LetGo,
            window: None,
            trailers: Fields::new(),
        }
    }

    /// The same, which does not leave by itself when it was held whole.
    pub fn withheld(self) -> Self {
        Self { ending: Ending::Withheld, ..self }
    }

    /// What inspected it, when it is not needed itself any more.
    pub fn into_inspection(self) -> Inspection {
        self.inspection
    }

    /// The same, of a stream that says little at a time: its tail is held for so long and no longer.
    pub fn with_tail_for(self, tail_time: Duration) -> Self {
        Self { tail_time: Some(tail_time), ..self }
    }

    /// What inspects it.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// Whether quanta of work are to be done before more content is read.
    pub fn is_busy(&self) -> bool {
        self.progress == Progress::Busy
    }

    /// Whether more of it is to come.
    pub fn is_open(&self) -> bool {
        self.place == Place::InContent
    }

    /// Whether all of it may leave, when it is told to.
    pub fn is_whole(&self) -> bool {
        self.place == Place::Whole
    }

    /// Whether all of it was let go.
    pub fn is_through(&self) -> bool {
        self.place == Place::Through
    }

    /// Whether something was let go that waits for a connection.
    pub fn is_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// What the other side has of it.
    pub fn said(&self) -> Said {
        self.said
    }

    /// Lets the head go before any content.
    pub fn begin(&mut self, out: &mut impl Outlet<Head = H>) -> io::Result<()> {
        self.write(&Released::default(), Last::No, out)
    }

    /// More of it, without its framing.
    pub fn push(&mut self, content: &[u8], out: Option<&mut impl Outlet<Head = H>>) -> io::Result<Outcome> {
        if self.place == Place::Refused {
            return Ok(Outcome::Refused);
        }
        self.inspect(content, out)
    }

    /// The same, of which only a part leaves.
    pub fn through(self, window: Option<Window>) -> Self {
        Self { window, ..self }
    }

    /// When the tail that is held now has been held for its time.
    pub fn tail_due(&self) -> Option<Instant> {
        self.tail_due.filter(|_| !self.is_busy())
    }

    /// Lets the tail go, if it is time.
    pub fn pass_tail(
        &mut self,
        now: Instant,
        out: Option<&mut impl Outlet<Head = H>>,
    ) -> io::Result<Outcome> {
        if self.tail_due().is_none_or(|due| now < due) {
            return Ok(Outcome::More);
        }
        // What was too little to tell its type by has not been looked at by any engine yet.
        self.progress = self.inspection.settle();
        if self.inspection.is_refused() {
            return Ok(self.refuse());
        }
        if !self.is_busy() {
            self.tail_due = None;
            let released = self.inspection.release_tail();
            if !released.is_empty() {
                self.let_go(released, Last::No, out)?;
            }
        }
        Ok(Outcome::More)
    }

    /// These come behind it. They leave with its end, if it leaves as it came: what they say is of all of it.
    pub fn set_trailers(&mut self, trailers: Fields) {
        if self.window.is_none() {
            self.trailers = trailers;
        }
    }

    /// It has ended.
    pub fn end(&mut self, out: Option<&mut impl Outlet<Head = H>>) -> io::Result<Outcome> {
        if self.place == Place::Refused {
            return Ok(Outcome::Refused);
        }
        self.place = Place::AtEnd;
        self.progress = Progress::Busy;
        self.finish(out)
    }

    /// One quantum of what is left to do.
    pub fn work(&mut self, mut out: Option<&mut impl Outlet<Head = H>>) -> io::Result<Outcome> {
        let backlog = std::mem::take(&mut self.backlog);
        self.progress = Progress::Through;
        if self.place == Place::InContent || !backlog.is_empty() {
            let outcome = self.inspect(&backlog, out.as_deref_mut())?;
            if outcome == Outcome::Refused || self.is_busy() || self.place == Place::InContent {
                return Ok(outcome);
            }
        }
        self.progress = Progress::Busy;
        self.finish(out)
    }

    /// There is a connection now: what waited for it is written.
    pub fn unpark(&mut self, out: &mut impl Outlet<Head = H>) -> io::Result<()> {
        let mut parked = std::mem::take(&mut self.parked).into_iter().peekable();
        while let Some(released) = parked.next() {
            let is_last = parked.peek().is_none() && self.place == Place::Through;
            self.write(&released, if is_last { Last::Yes } else { Last::No }, out)?;
        }
        Ok(())
    }

    /// Says once more, by another connection, what was all without content.
    pub fn repeat(&mut self, out: &mut impl Outlet<Head = H>) -> io::Result<()> {
        out.write(Some(&self.head), self.framing, &Released::default(), Last::Yes)
    }

    fn inspect(
        &mut self,
        mut content: &[u8],
        mut out: Option<&mut impl Outlet<Head = H>>,
    ) -> io::Result<Outcome> {
        loop {
            let pushed = paced::push(&mut self.inspection, content);
            let released = pushed.released;
            content = &content[pushed.consumed..];
            self.progress = pushed.progress;
            if !released.is_empty() {
                self.let_go(released, Last::No, out.as_deref_mut())?;
            }
            // A verdict only hardens: nothing that still comes can change this one into one that lets go.
            if self.inspection.is_refused() {
                return Ok(self.refuse());
            }
            self.time_tail();
            if content.is_empty() || self.is_busy() {
                self.backlog = content.to_vec();
                return Ok(Outcome::More);
            }
        }
    }

    /// What is held from now on leaves when it has been held for its time.
    fn time_tail(&mut self) {
        match self.tail_time {
            Some(time) if self.inspection.held_bytes() > 0 => {
                self.tail_due.get_or_insert_with(|| Instant::now() + time);
            }
            _ => self.tail_due = None,
        }
    }

    fn finish(&mut self, out: Option<&mut impl Outlet<Head = H>>) -> io::Result<Outcome> {
        if !self.backlog.is_empty() || paced::finish(&mut self.inspection) == Progress::Busy {
            return Ok(Outcome::More);
        }
        self.progress = Progress::Through;
        if self.inspection.is_refused() {
            return Ok(self.refuse());
        }
        if self.ending == Ending::Withheld && !self.inspection.is_streaming() {
            self.place = Place::Whole;
            return Ok(Outcome::Whole);
        }
        self.place = Place::Through;
        let released = self.inspection.release(b"");
        self.let_go(released, Last::Yes, out)?;
        Ok(Outcome::Complete)
    }

    /// Lets it go, when it was held whole.
    pub fn let_go_whole(&mut self, out: &mut impl Outlet<Head = H>) -> io::Result<()> {
        self.place = Place::Through;
        let released = self.inspection.release(b"");
        self.let_go(released, Last::Yes, Some(out))
    }

    fn refuse(&mut self) -> Outcome {
        self.place = Place::Refused;
        self.progress = Progress::Through;
        (self.parked, self.backlog) = (Vec::new(), Vec::new());
        Outcome::Refused
    }

    fn let_go(
        &mut self,
        released: Released<'_>,
        last: Last<'_>,
        out: Option<&mut impl Outlet<Head = H>>,
    ) -> io::Result<()> {
        let released = match &mut self.window {
            None => released,
            Some(window) => window.pass(released, last == Last::Yes),
        };
        if released.is_empty() && last == Last::No {
            return Ok(());
        }
        match out {
            Some(out) => self.write(&released, last, out),
            None => {
                self.parked.push(released.into_owned());
                Ok(())
            }
        }
    }

    fn write(
        &mut self,
        released: &Released<'_>,
        last: Last<'_>,
        out: &mut impl Outlet<Head = H>,
    ) -> io::Result<()> {
        let head = (self.said == Said::Nothing).then_some(&self.head);
        self.said = if last == Last::No { Said::Begun } else { Said::All };
        let last = match last {
            Last::Yes if !self.trailers.is_empty() => Last::With(&self.trailers),
            last => last,
        };
        out.write(head, self.framing, released, last)
    }
}
