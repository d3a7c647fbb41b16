//! What follows a 101 (RFC 9110 section 7.8): [`Upgraded`]. Rule: what is said in the other protocol is inspected on its
//! way as any content is, and what cannot be read in one way ends it.
//!
//! Of WebSocket each message is inspected as a file is, and leaves in frames of our own when its end has been judged; so is
//! what all messages say one behind the other. Of any other protocol the bytes are inspected as they come. What has no end
//! to wait for is held for `tail_time_max` at most.

use super::content::{Content, Last, Outcome, Outlet};
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use crate::turn;
use lockgate_inspect::{Inspection, Released};
use lockgate_proto::http::Framing;
use lockgate_proto::websocket::{Piece, Reader, Side, Writer};
use std::collections::hash_map::RandomState;
use std::future::pending;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Bytes that may wait for one side before the other is not read any more.
const PENDING_BYTES_MAX: usize = 64 << 10;
/// Ends of messages and control frames that may wait for the content before them.
const WAITING_MAX: usize = 256;

/// Both ways of an upgraded connection.
pub struct Upgraded<'s> {
    /// To the server.
    pub up: Way<'s>,
    /// To the client.
    pub down: Way<'s>,
    /// How long nothing may move.
    pub patience: Duration,
}

/// One way of it.
pub struct Way<'s> {
    /// All that is said. Of a WebSocket nothing leaves from here.
    whole: Content<()>,
    frames: Option<Frames<'s>>,
    place: Place,
}

/// The frames of one way of a WebSocket.
struct Frames<'s> {
    reader: Reader,
    out: Framed,
    /// The message that is being said.
    message: Option<Content<()>>,
    /// Begins to inspect a message.
    open: Box<dyn Fn() -> Inspection + 's>,
    tail_time: Duration,
    buffer: Vec<u8>,
}

/// How the frames of one way leave.
struct Framed {
    writer: Writer,
    masks: Masks,
}

/// Masks that nobody can know before (RFC 6455 section 5.3).
#[derive(Default)]
struct Masks {
    secret: RandomState,
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Open,
    /// All has come.
    Ended,
    /// The other side has been told so.
    Said,
}

/// Why it ended before both sides had said all.
#[derive(Debug)]
pub enum Broken {
    /// One side broke, or nothing moved for too long.
    Lost,
    /// Something is not let go.
    Refused,
    /// The frames cannot be read in one way.
    Frames(&'static str),
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

impl<'s> Way<'s> {
    /// One whose bytes are inspected as they are.
    pub fn plain(inspection: Inspection, tail_time: Duration) -> Self {
        let whole = Content::new(inspection, (), Framing::UntilClose).with_tail_for(tail_time);
        Self { whole, frames: None, place: Place::Open }
    }

    /// One in frames of this side, whose messages `open` begins to inspect. What inspects the whole lets nothing go.
    pub fn framed(
        whole: Inspection,
        side: Side,
        tail_time: Duration,
        open: impl Fn() -> Inspection + 's,
    ) -> Self {
        let out = Framed { writer: Writer::new(side), masks: Masks::default() };
        let (reader, open) = (Reader::new(side), Box::new(open));
        let frames = Frames { reader, out, message: None, open, tail_time, buffer: Vec::new() };
        Self { frames: Some(frames), ..Self::plain(whole, tail_time) }
    }

    /// What inspects all of it, or the message that was not let go.
    pub fn inspection(&self) -> &Inspection {
        let message = self.frames.as_ref().and_then(|frames| frames.message.as_ref());
        let refused = message.map(Content::inspection).filter(|inspection| inspection.is_refused());
        refused.unwrap_or(self.whole.inspection())
    }

    /// Content bytes that have come.
    pub fn bytes(&self) -> u64 {
        self.whole.inspection().wire_bytes()
    }

    fn is_busy(&self) -> bool {
        self.whole.is_busy() || self.frames.as_ref().is_some_and(Frames::is_busy)
    }

    fn tail_due(&self) -> Option<Instant> {
        match &self.frames {
            None => self.whole.tail_due(),
            Some(frames) => frames.message.as_ref().and_then(Content::tail_due),
        }
    }

    fn reading(&self, to: &Stream) -> Reading {
        let is_full = self.frames.as_ref().is_some_and(Frames::is_full);
        let is_open = self.place == Place::Open && !is_full && !self.is_busy();
        if is_open && to.pending_bytes() < PENDING_BYTES_MAX { Reading::Wanted } else { Reading::Unwanted }
    }

    /// Reads once and passes on what may leave of it; says whether anything came.
    fn step(&mut self, from: &mut Stream, to: &mut Stream) -> Result<bool, Broken> {
        if self.reading(to) == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| match from.try_read(scratch)? {
            ReadOutcome::Bytes(count) => {
                let used = self.take(&scratch[..count], to)?;
                from.unread(&scratch[used..count]);
                Ok(true)
            }
            ReadOutcome::WouldBlock => Ok(false),
            ReadOutcome::End => {
                self.place = Place::Ended;
                if let Some(Frames { message: Some(message), out, .. }) = &mut self.frames {
                    came_to(message.end(Some(&mut Out::new(to, Some(out)))))?;
                }
                came_to(self.whole.end(Some(&mut Out::new(to, None)))).map(|()| true)
            }
        })
    }

    /// Takes bytes as far as there is time; says how many.
    fn take(&mut self, bytes: &[u8], to: &mut Stream) -> Result<usize, Broken> {
        let Some(frames) = &mut self.frames else {
            return came_to(self.whole.push(bytes, Some(&mut Out::new(to, None)))).map(|()| bytes.len());
        };
        let mut used = 0;
        while !frames.is_full() && !frames.is_busy() && !self.whole.is_busy() {
            let (count, piece) = frames.reader.step(&bytes[used..], &mut frames.buffer);
            used += count;
            if piece == Piece::NeedInput {
                break;
            }
            if piece == Piece::Content {
                came_to(self.whole.push(&frames.buffer, Some(&mut Out::new(to, None))))?;
            }
            frames.take(piece, to)?;
        }
        frames.pass_marks(to)?;
        Ok(used)
    }

    /// Inspects what is left to be inspected, while others run in between, and lets go what was held for its time.
    async fn work_off(&mut self, to: &mut Stream, patience: Duration) -> Result<(), Broken> {
        self.inspect_all(to, patience).await?;
        self.pass_tail(to)?;
        // What little there was to tell a type by may have much in it.
        self.inspect_all(to, patience).await?;
        if self.place == Place::Ended {
            self.place = Place::Said;
            timeout(patience, to.end_writing()).await.map_err(|_| Broken::Lost)??;
        }
        Ok(())
    }

    async fn inspect_all(&mut self, to: &mut Stream, patience: Duration) -> Result<(), Broken> {
        while self.is_busy() {
            let (whole, frames) = (&mut self.whole, &mut self.frames);
            let work = || {
                if whole.is_busy() {
                    came_to(whole.work(Some(&mut Out::new(to, None))))?;
                }
                frames.as_mut().map_or(Ok(()), |frames| frames.work(to))
            };
            turn::quantum(work).await?;
            if to.pending_bytes() >= PENDING_BYTES_MAX {
                timeout(patience, to.flush()).await.map_err(|_| Broken::Lost)??;
            }
        }
        Ok(())
    }

    fn pass_tail(&mut self, to: &mut Stream) -> Result<(), Broken> {
        let now = Instant::now();
        match &mut self.frames {
            None => came_to(self.whole.pass_tail(now, Some(&mut Out::new(to, None)))),
            Some(frames) => frames.pass_tail(now, to),
        }
    }
}

impl Frames<'_> {
    fn is_busy(&self) -> bool {
        self.message.as_ref().is_some_and(Content::is_busy)
    }

    fn is_full(&self) -> bool {
        self.out.writer.waiting() > WAITING_MAX
    }

    /// What was read of the frames.
    fn take(&mut self, piece: Piece, to: &mut Stream) -> Result<(), Broken> {
        match piece {
            Piece::NeedInput => {}
            Piece::Begin(kind) => {
                self.out.writer.begin(kind);
                let content = Content::new((self.open)(), (), Framing::UntilClose);
                self.message = Some(content.with_tail_for(self.tail_time));
            }
            Piece::Content => {
                self.out.writer.content(self.buffer.len());
                if let Some(message) = &mut self.message {
                    came_to(message.push(&self.buffer, Some(&mut Out::new(to, Some(&mut self.out)))))?;
                }
            }
            Piece::End => {
                self.out.writer.end();
                if let Some(message) = &mut self.message {
                    came_to(message.end(Some(&mut Out::new(to, Some(&mut self.out)))))?;
                }
            }
            Piece::Control(opcode) => self.out.writer.control(opcode, &self.buffer),
            Piece::Refused(refusal) => return Err(Broken::Frames(refusal.words())),
        }
        Ok(())
    }

    fn work(&mut self, to: &mut Stream) -> Result<(), Broken> {
        if let Some(message) = self.message.as_mut().filter(|message| message.is_busy()) {
            came_to(message.work(Some(&mut Out::new(to, Some(&mut self.out)))))?;
        }
        Ok(())
    }

    fn pass_tail(&mut self, now: Instant, to: &mut Stream) -> Result<(), Broken> {
        if let Some(message) = &mut self.message {
            came_to(message.pass_tail(now, Some(&mut Out::new(to, Some(&mut self.out)))))?;
        }
        self.pass_marks(to).map_err(Broken::from)
    }

    /// Sends what stands between contents and waits for nothing more.
    fn pass_marks(&mut self, to: &mut Stream) -> io::Result<()> {
        let Framed { writer, masks } = &mut self.out;
        let mut out = Vec::new();
        writer.write(&[], &mut || masks.next(), &mut out);
        if out.is_empty() { Ok(()) } else { to.write(&out) }
    }
}

impl Upgraded<'_> {
    /// To the end of both ways, or until nothing moves any more.
    pub async fn carry(&mut self, client: &mut Stream, origin: &mut Stream) -> Result<(), Broken> {
        let mut last_progress = Instant::now();
        // That both have changed is told before anything that is said then.
        client.try_flush()?;
        loop {
            self.up.work_off(origin, self.patience).await?;
            self.down.work_off(client, self.patience).await?;
            if self.up.place == Place::Said && self.down.place == Place::Said {
                return Ok(());
            }
            if self.up.step(client, origin)? | self.down.step(origin, client)? {
                last_progress = Instant::now();
                continue;
            }
            let (from_client, from_origin) = (self.up.reading(origin), self.down.reading(client));
            let due = self.up.tail_due().into_iter().chain(self.down.tail_due()).min();
            tokio::select! {
                ready = client.ready(from_client) => ready?,
                ready = origin.ready(from_origin) => ready?,
                () = sleep_until(last_progress + self.patience) => return Err(Broken::Lost),
                () = at(due) => {}
            }
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

fn came_to(outcome: io::Result<Outcome>) -> Result<(), Broken> {
    match outcome? {
        Outcome::More | Outcome::Complete | Outcome::Whole => Ok(()),
        Outcome::Refused => Err(Broken::Refused),
    }
}

impl Masks {
    fn next(&mut self) -> [u8; 4] {
        self.count += 1;
        let [a, b, c, d, ..] = self.secret.hash_one(self.count).to_ne_bytes();
        [a, b, c, d]
    }
}

/// Where one way leaves.
struct Out<'a> {
    stream: &'a mut Stream,
    framed: Option<&'a mut Framed>,
}

impl<'a> Out<'a> {
    fn new(stream: &'a mut Stream, framed: Option<&'a mut Framed>) -> Self {
        Self { stream, framed }
    }
}

impl Outlet for Out<'_> {
    type Head = ();

    fn write(&mut self, _: Option<&()>, _: Framing, content: &Released<'_>, _: Last) -> io::Result<()> {
        match &mut self.framed {
            _ if content.is_empty() => Ok(()),
            None => self.stream.write_released(content),
            Some(Framed { writer, masks }) => {
                let mut form =
                    |slice: &[u8], out: &mut Vec<u8>| writer.write(slice, &mut || masks.next(), out);
                self.stream.write_formed(content, &mut form)
            }
        }
    }
}
