//! Buffers → findings, for one transaction. Rule: what a proxy tells of an exchange is made into sticky buffers here, each once.

use crate::candidates::{Asking, Candidates, Told};
use crate::database::{Compiled, Database, Searched};
use crate::evaluate::Piece;
use crate::filled;
use crate::flow::{Facts, locked};
use crate::ftp;
use crate::hashing::Hashing;
use crate::head::Head;
use crate::kinds::Kind;
use crate::mail;
use crate::memory::Memory;
use crate::raw::Raw;
use crate::ruleset::sticky::Sticky;
use crate::ruleset::transform::Made;
use crate::search::Search;
use crate::stream::Stream;
use crate::views::ViewId;
use lockgate_model::{
    Buffer, Class, Direction, Hit, Part, PartId, Reason, Scanner, Signature, Sink, Transaction,
    TransactionId, Want, Wish,
};
use std::sync::{Arc, Mutex};

/// How much of a head is looked at.
const HEAD_BYTES_MAX: usize = 128 << 10;
/// How many parts of a transaction are looked at at a time.
const STREAMS_MAX: usize = 64;
/// Of how many mails within each other the headers are looked at at a time.
const MAILS_MAX: usize = 8;
/// What the random bytes of a hello begin with, in the days when that was the time (RFC 5246 section 7.4.1.2).
const TIME_BYTES: usize = 4;

/// One transaction.
pub(crate) struct Transmission {
    database: Arc<Database>,
    facts: Facts,
    /// What its flow may be about.
    kind: Option<Arc<Kind>>,
    memory: Arc<Mutex<Memory>>,
    direction: Direction,
    transaction: TransactionId,
    /// What the transaction's file is called, until that is told.
    name: Option<String>,
    candidates: Candidates,
    line: Vec<u8>,
    header: Vec<u8>,
    /// A buffer that is filled by itself, until it ends.
    whole: Vec<u8>,
    /// The verb of the last command of FTP.
    verb: Vec<u8>,
    /// The headers of mails that are open.
    mails: Vec<(PartId, Vec<u8>)>,
    streams: Vec<(PartId, Stream)>,
    /// Its bytes as they came, where rules ask for these.
    raw: Option<Raw>,
    hashing: Vec<Hashing>,
}

impl Transmission {
    pub fn new(
        database: Arc<Database>,
        (facts, kind): (Facts, Option<Arc<Kind>>),
        memory: Arc<Mutex<Memory>>,
        about: &Transaction,
    ) -> Self {
        let is_raw = !facts.has_packets;
        let raw = is_raw.then(|| Raw::of(&database, facts.protocol, about.direction)).flatten();
        Self {
            database,
            facts,
            kind,
            memory,
            direction: about.direction,
            transaction: about.id,
            name: about.name.clone(),
            candidates: Candidates::default(),
            line: Vec::new(),
            header: Vec::new(),
            whole: Vec::new(),
            verb: Vec::new(),
            mails: Vec::new(),
            streams: Vec::new(),
            raw,
            hashing: Vec::new(),
        }
    }

    /// A sticky buffer is there, whole.
    fn fill(&mut self, sticky: Sticky, bytes: &[u8]) {
        let Self { database, facts, kind, memory, direction, transaction, candidates, .. } = self;
        let asking = Asking { database, facts, direction: *direction, transaction: *transaction, memory };
        let concerns = |rule: u32| facts.concern(&database.rules[rule as usize], *direction);
        for view in database.views.of(sticky) {
            let mut made = Made::default();
            let transformed = database.views.transformed(view, bytes, &mut made);
            candidates.is_spent |= made == Made::Spent;
            let bytes = transformed.as_deref().unwrap_or(bytes);
            let mut found = Vec::new();
            if let Some(search) = database.search_in(Searched::View(view), kind.as_deref(), &concerns) {
                found.extend(search.rules(&search.whole(bytes)));
            }
            found.extend_from_slice(&database.unsearched[usize::from(view.0)]);
            candidates.look(asking, view, Piece::whole(bytes), &mut found);
            candidates.keep(view, bytes);
        }
    }

    /// A head is there: its line and its fields.
    fn fill_head(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        let mut came = std::mem::take(&mut self.line);
        let line_length = came.len();
        for bytes in [b"\r\n", &self.header[..], b"\r\n"] {
            came.extend_from_slice(bytes);
        }
        self.header.clear();
        let head = Head::new(&self.database.views, came, line_length, self.direction);
        let is_of_connection = self.raw.as_ref().is_some_and(|raw| raw.begins_with(head.came()));
        let (mut found, mut of_connection) = (Vec::new(), Vec::new());
        if let Some(search) = self.search_of_head(is_of_connection) {
            search.in_head(&head, &mut found, &mut of_connection);
        }
        let Self { database, facts, memory, direction, transaction, candidates, .. } = self;
        let asking = Asking { database, facts, direction: *direction, transaction: *transaction, memory };
        for view in head.views() {
            found.extend_from_slice(&database.unsearched[usize::from(view.0)]);
        }
        candidates.look_at_head(asking, &head, &mut found);
        // What holds of it and waits for bytes is asked of all of them.
        self.tell(part, buffer, sink);
        match &mut self.raw {
            Some(raw) if is_of_connection => {
                let Self { database, facts, memory, direction, transaction, .. } = self;
                let asking =
                    Asking { database, facts, direction: *direction, transaction: *transaction, memory };
                raw.push_head(asking, head.came(), &of_connection);
            }
            _ => self.push_raw((head.came(), true)),
        }
        self.candidates.keep_head(head);
    }

    /// The search for heads, or for heads and what the bytes of the connection are searched for.
    fn search_of_head(&self, is_of_connection: bool) -> Option<Arc<Search>> {
        let Self { database, facts, kind, direction, .. } = self;
        let in_head = |rule: u32| facts.concern(&database.rules[rule as usize], *direction);
        let in_either = |rule: u32| facts.concern_in_either(&database.rules[rule as usize], *direction);
        match is_of_connection {
            true => database.search_in(Searched::HeadAndBytes(*direction), kind.as_deref(), &in_either),
            false => database.search_in(Searched::Head(*direction), kind.as_deref(), &in_head),
        }
    }

    /// Bytes of the connection, and whether no more are at hand.
    fn push_raw(&mut self, bytes: (&[u8], bool)) {
        let Self { database, facts, kind, memory, direction, transaction, raw, .. } = self;
        let asking = Asking { database, facts, direction: *direction, transaction: *transaction, memory };
        if let Some(raw) = raw {
            raw.push(asking, kind.as_deref(), bytes);
        }
    }

    /// A part has ended: its digests are buffers.
    fn fill_digests(&mut self, part: PartId) {
        if let Some(at) = self.hashing.iter().position(|own| own.part == part) {
            self.hashing.swap_remove(at).finish(&mut |sticky, bytes| self.fill(sticky, bytes));
        }
    }

    /// What a protocol has said of itself is there, whole.
    fn fill_whole(&mut self, buffer: Buffer, sticky: Sticky) {
        let bytes = std::mem::take(&mut self.whole);
        self.fill(sticky, &bytes);
        match buffer {
            Buffer::TlsRandom => {
                if let Some((time, random)) = bytes.split_at_checked(TIME_BYTES) {
                    self.fill(Sticky::TlsRandomTime, time);
                    self.fill(Sticky::TlsRandomBytes, random);
                }
            }
            Buffer::FtpCommand => self.verb = bytes,
            Buffer::FtpCommandData => {
                let own = self.facts.client.ip();
                if ftp::elsewhere(&self.verb, &bytes, own) {
                    self.fill(Sticky::FtpBounce, &bytes);
                }
            }
            _ => {}
        }
    }

    fn gather_mail(&mut self, part: PartId, chunk: &[u8]) -> Want {
        let known = self.mails.iter().position(|(of, _)| *of == part);
        let at = known.unwrap_or(self.mails.len());
        if at >= MAILS_MAX {
            self.candidates.is_spent = true;
            return Want::Done;
        }
        if known.is_none() {
            self.mails.push((part, Vec::new()));
        }
        gather(&mut self.mails[at].1, chunk)
    }

    /// What holds by now is told.
    fn tell(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        let Self { database, facts, memory, direction, transaction, candidates, raw, .. } = self;
        let asking = Asking { database, facts, direction: *direction, transaction: *transaction, memory };
        for Told { rule, view, offset, wish, .. } in candidates.conclude(asking) {
            let buffer = evidence(database.views.sticky(view)).unwrap_or(buffer);
            sink.hit(database.rules[rule as usize].hit(part, buffer, offset, wish));
        }
        if let Some(raw) = raw {
            let found = raw.found(asking, &mut locked(memory));
            for (rule, offset, wish) in candidates.decide_raw(asking, found) {
                sink.hit(database.rules[rule as usize].hit(PartId::ROOT, Buffer::Payload, offset, wish));
            }
            candidates.is_spent |= std::mem::take(&mut raw.is_spent);
        }
        if std::mem::take(&mut candidates.is_spent) {
            sink.incomplete(part, Reason::Work);
        }
    }

    /// The streams that rules look at of a part's content.
    fn streams(&self, part: PartId) -> Vec<Stream> {
        let Self { database, facts, kind, direction, .. } = self;
        let concerns = |rule: u32| facts.concern(&database.rules[rule as usize], *direction);
        let (way, of_way) = match direction {
            Direction::ToServer => (0, Sticky::HttpRequestBody),
            Direction::ToClient => (1, Sticky::HttpResponseBody),
        };
        let views = &database.bodies[way].views;
        let search =
            |place, concerns: &dyn Fn(u32) -> bool| database.search_in(place, kind.as_deref(), concerns);
        let as_it_came = || match &self.raw {
            Some(_) if part == PartId::ROOT => {
                let concerns =
                    |rule: u32| facts.concern_in_either(&database.rules[rule as usize], *direction);
                let search = search(Searched::BodyAndBytes(*direction), &concerns);
                Stream::of_connection(Arc::clone(views), search)
            }
            _ => Stream::new(Arc::clone(views), search(Searched::Body(*direction), &concerns)),
        };
        let as_it_came = (!views.is_empty()).then(as_it_came);
        let views = [Sticky::FileData, of_way].into_iter().flat_map(|sticky| database.views.of(sticky));
        let transformed = views.filter(|view| database.views.is_transformed(*view));
        let transformed = transformed.map(|view| {
            Stream::transformed(view, database.search_in(Searched::View(view), kind.as_deref(), &concerns))
        });
        as_it_came.into_iter().chain(transformed).collect()
    }

    /// Content comes: of what is all that came no more at a time than is looked at of it, so that what waits for bytes is asked of all that
    /// come behind.
    fn push_content(&mut self, part: PartId, mut chunk: &[u8], sink: &mut dyn Sink) {
        self.hashing.iter_mut().filter(|own| own.part == part).for_each(|own| own.push(chunk));
        let is_searched = self.streams.iter().any(|(of, its)| *of == part && its.is_of_connection());
        while !chunk.is_empty() {
            let raw = self.raw.as_ref().filter(|_| part == PartId::ROOT);
            let (now, rest) = chunk.split_at(chunk.len().min(raw.map_or(usize::MAX, Raw::room)));
            if part == PartId::ROOT && !is_searched {
                self.push_raw((now, rest.is_empty()));
            }
            self.run(part, Some((now, rest.is_empty())), sink);
            chunk = rest;
        }
    }

    /// The streams of a part go on, or end. `chunk` says whether no more is at hand.
    fn run(&mut self, part: PartId, chunk: Option<(&[u8], bool)>, sink: &mut dyn Sink) {
        let Self { database, facts, kind, memory, direction, transaction, candidates, streams, raw, .. } =
            self;
        let asking = Asking { database, facts, direction: *direction, transaction: *transaction, memory };
        for (_, stream) in streams.iter_mut().filter(|(of, _)| *of == part) {
            let mut look = |view: ViewId, piece: Piece<'_>, found: &[u32]| {
                let mut found = [found, &database.unsearched[usize::from(view.0)]].concat();
                candidates.look(asking, view, piece, &mut found);
            };
            match (chunk, &mut *raw) {
                (Some(chunk), Some(raw)) if stream.is_of_connection() => {
                    stream.push(chunk.0, &mut look);
                    raw.push_searched(asking, kind.as_deref(), chunk, stream.found_of_connection());
                }
                (Some((chunk, _)), _) => stream.push(chunk, &mut look),
                (None, _) => {
                    stream.end(database, &mut look);
                    candidates.is_spent |= stream.is_spent;
                }
            }
        }
        self.tell(part, Buffer::FileData, sink);
    }
}

impl Compiled {
    /// What is told of the rule.
    pub fn hit(&self, part: PartId, buffer: Buffer, offset: Option<u64>, wish: Wish) -> Hit {
        let class = if wish == Wish::Stop { Class::Intrusion } else { Class::Alert };
        let (rule, name) = (Arc::clone(&self.place), Arc::clone(&self.message));
        let signature = match wish == self.signature.wish {
            true => Arc::clone(&self.signature),
            false => Arc::new(Signature { wish, ..(*self.signature).clone() }),
        };
        Hit { class, rule, name, part, buffer, offset, signature: Some(signature) }
    }
}

/// The buffer of that name, where the waist has one.
fn evidence(sticky: Sticky) -> Option<Buffer> {
    Buffer::ALL.iter().copied().find(|buffer| buffer.name() == sticky.name())
}

/// Takes as much as there is room for.
fn gather(into: &mut Vec<u8>, chunk: &[u8]) -> Want {
    let room = HEAD_BYTES_MAX - into.len().min(HEAD_BYTES_MAX);
    into.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
    Want::More
}

impl Scanner for Transmission {
    fn open(&mut self, part: &Part) -> Want {
        // What comes as a file by itself has its name from who sent for it.
        let own = self.name.take().filter(|_| part.parent.is_none());
        if let Some(name) = part.name.as_deref().or(own.as_deref()) {
            self.fill(Sticky::FileName, name.as_bytes());
        }
        let is_full = self.streams.len().max(self.hashing.len()) >= STREAMS_MAX;
        self.candidates.is_spent |= is_full;
        let streams = if is_full { Vec::new() } else { self.streams(part.id) };
        let hashes = Some(self.database.hashes).filter(|hashes| !is_full && hashes.are_asked());
        let is_raw = self.raw.is_some() && part.id == PartId::ROOT;
        if streams.is_empty() && hashes.is_none() && !is_raw {
            return Want::Done;
        }
        self.hashing.extend(hashes.map(|hashes| Hashing::new(part.id, hashes)));
        self.streams.extend(streams.into_iter().map(|stream| (part.id, stream)));
        Want::More
    }

    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want {
        match (buffer, self.direction) {
            (Buffer::FileData, _) => {
                self.push_content(part, chunk, sink);
                Want::More
            }
            (Buffer::HttpRequestLine, Direction::ToServer)
            | (Buffer::HttpResponseLine, Direction::ToClient) => gather(&mut self.line, chunk),
            (Buffer::HttpHeader, Direction::ToServer) | (Buffer::HttpResponseHeader, Direction::ToClient) => {
                gather(&mut self.header, chunk)
            }
            (Buffer::MailHeader, _) => self.gather_mail(part, chunk),
            (Buffer::Payload, _) => {
                self.push_raw((chunk, true));
                Want::More
            }
            _ if filled::sticky(buffer).is_some() => gather(&mut self.whole, chunk),
            _ => Want::Done,
        }
    }

    fn end(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink) {
        match (buffer, self.direction) {
            (Buffer::FileData, _) => {
                self.fill_digests(part);
                self.run(part, None, sink);
                self.streams.retain(|(of, _)| *of != part);
            }
            (Buffer::HttpHeader, Direction::ToServer) | (Buffer::HttpResponseHeader, Direction::ToClient) => {
                self.fill_head(part, buffer, sink);
                self.tell(part, buffer, sink);
            }
            (Buffer::Payload, _) => self.tell(part, buffer, sink),
            (Buffer::MailHeader, _) => {
                if let Some(at) = self.mails.iter().position(|(of, _)| *of == part) {
                    let (_, lines) = self.mails.swap_remove(at);
                    mail::header(&lines, &mut |sticky, bytes| self.fill(sticky, bytes));
                    self.tell(part, buffer, sink);
                }
            }
            _ => {
                if let Some(sticky) = filled::sticky(buffer) {
                    self.fill_whole(buffer, sticky);
                    self.tell(part, buffer, sink);
                }
            }
        }
    }

    fn broken(&mut self, part: PartId, _reason: Reason) {
        // What is missing would have changed it.
        self.hashing.retain(|own| own.part != part);
    }

    fn close(&mut self, part: PartId, _sink: &mut dyn Sink) {
        self.hashing.retain(|own| own.part != part);
        self.streams.retain(|(of, _)| *of != part);
    }

    fn finish(&mut self, _sink: &mut dyn Sink) {}
}
