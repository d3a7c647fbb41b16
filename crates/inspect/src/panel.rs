//! Hands each buffer to the engines that asked for it: [`Panel`]. Rule: engines see bytes and give evidence, nothing else.

use crate::judge::Judge;
use lockgate_model::{
    Buffer, BufferSet, Engine, Finding, Hit, Part, PartId, Points, Reason, Scanner, Sink, Want,
};
use std::sync::Arc;

/// One engine's seat.
struct Seat {
    engine: Engine,
    wants: BufferSet,
    scanner: Box<dyn Scanner>,
}

/// The engines of one transaction.
pub struct Panel {
    seats: Vec<Seat>,
    announced: Announced,
}

/// The paths of parts whose evidence comes after they have closed. Engines announce a part only for a hit in it, and those
/// are bounded.
type Announced = Vec<(PartId, Arc<str>)>;

/// Which seats still listen to a part, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listening(u32);

/// Where an open part's evidence goes.
struct Evidence<'a> {
    engine: Engine,
    /// The part at hand.
    part: PartId,
    path: &'a Arc<str>,
    announced: &'a mut Announced,
    judge: &'a mut Judge,
}

impl Sink for Evidence<'_> {
    fn hit(&mut self, hit: Hit) {
        let is_at_hand = hit.part == self.part;
        let kept = self.announced.iter().find(|(part, _)| !is_at_hand && *part == hit.part);
        let path = kept.map_or(self.path, |(_, path)| path);
        self.judge.find(Finding {
            engine: self.engine,
            class: hit.class,
            rule: hit.rule,
            name: hit.name,
            part: Arc::clone(path),
            buffer: hit.buffer,
            offset: hit.offset,
            signature: hit.signature,
        });
    }

    fn points(&mut self, points: Points) {
        self.judge.count(points);
    }

    fn incomplete(&mut self, part: PartId, reason: Reason) {
        if part == self.part {
            self.judge.incomplete(self.path, reason);
        }
    }

    fn announce(&mut self, part: PartId) {
        if part == self.part && self.announced.iter().all(|(known, _)| *known != part) {
            self.announced.push((part, Arc::clone(self.path)));
        }
    }
}

impl Panel {
    /// Seats each scanner, at most 32.
    pub fn new(scanners: impl IntoIterator<Item = (Engine, BufferSet, Box<dyn Scanner>)>) -> Self {
        let seats = scanners.into_iter().take(32);
        let seats = seats.map(|(engine, wants, scanner)| Seat { engine, wants, scanner }).collect();
        Self { seats, announced: Vec::new() }
    }

    /// Whether somebody asked for that buffer.
    pub fn wants(&self, buffer: Buffer) -> bool {
        self.seats.iter().any(|seat| seat.wants.contains(buffer))
    }

    /// A part begins; says who listens.
    pub fn open(&mut self, part: &Part) -> Listening {
        let mut listening = 0;
        for (at, seat) in self.seats.iter_mut().enumerate() {
            if seat.scanner.open(part) == Want::More {
                listening |= 1 << at;
            }
        }
        Listening(listening)
    }

    /// Bytes of an open part's buffer. `listening` is that of the part for `FileData`.
    pub fn push(
        &mut self,
        part: &Part,
        buffer: Buffer,
        chunk: &[u8],
        listening: &mut Listening,
        judge: &mut Judge,
    ) {
        for (at, seat) in self.seats.iter_mut().enumerate() {
            let is_deaf = buffer == Buffer::FileData && listening.0 & (1 << at) == 0;
            if is_deaf || !seat.wants.contains(buffer) {
                continue;
            }
            let mut sink = Evidence {
                engine: seat.engine,
                part: part.id,
                path: &part.path,
                announced: &mut self.announced,
                judge,
            };
            let want = seat.scanner.push(part.id, buffer, chunk, &mut sink);
            if want == Want::Done && buffer == Buffer::FileData {
                listening.0 &= !(1 << at);
            }
        }
    }

    /// An open part's buffer has ended.
    pub fn end(&mut self, part: &Part, buffer: Buffer, judge: &mut Judge) {
        for seat in self.seats.iter_mut().filter(|seat| seat.wants.contains(buffer)) {
            let mut sink = Evidence {
                engine: seat.engine,
                part: part.id,
                path: &part.path,
                announced: &mut self.announced,
                judge,
            };
            seat.scanner.end(part.id, buffer, &mut sink);
        }
    }

    /// A part cannot be read further.
    pub fn broken(&mut self, part: &Part, reason: Reason) {
        for seat in &mut self.seats {
            seat.scanner.broken(part.id, reason);
        }
    }

    /// A part has ended with all its children.
    pub fn close(&mut self, part: &Part, judge: &mut Judge) {
        for seat in &mut self.seats {
            let mut sink = Evidence {
                engine: seat.engine,
                part: part.id,
                path: &part.path,
                announced: &mut self.announced,
                judge,
            };
            seat.scanner.close(part.id, &mut sink);
        }
    }

    /// The transaction has ended; evidence about no part in particular is the root's.
    pub fn finish(&mut self, root: &Arc<str>, judge: &mut Judge) {
        for seat in &mut self.seats {
            let mut sink = Evidence {
                engine: seat.engine,
                part: PartId::ROOT,
                path: root,
                announced: &mut self.announced,
                judge,
            };
            seat.scanner.finish(&mut sink);
        }
    }
}

impl std::fmt::Debug for Panel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.seats.iter().map(|seat| seat.engine)).finish()
    }
}
