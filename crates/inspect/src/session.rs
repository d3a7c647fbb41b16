//! Start here: a connection's [`Session`], a mail's or exchange's [`Inspection`]. Rule: bytes in, released bytes and a judgement out.
//!
//! A protocol opens a session for its flow, begins an inspection for each transaction, pushes content as it comes and
//! finishes it at its end. What each push releases may be sent on; the judgement says what is to become of the rest.

use crate::hold::{Hold, HoldPlan, Released};
use crate::judge::{Judge, Judgement};
use crate::layers::{Layers, Ran, Root};
use crate::panel::Panel;
use crate::policy::{Group, Policy, Who};
use lockgate_content::Means;
use lockgate_model::{
    Budget, Buffer, BufferSet, Database, Engine, Flow, FlowState, Limits, Pool, Reason, Rewriter,
    Transaction, Verdict,
};
use std::sync::Arc;

/// All that is loaded at one time: a reload makes the next generation, and sessions keep the one they began with.
pub struct Generation {
    /// Counts up from 1.
    pub number: u64,
    /// The engines' compiled rules.
    pub databases: Vec<Arc<dyn Database>>,
    /// Who is judged how.
    pub policy: Arc<Policy>,
    /// Limits on one transaction's content.
    pub limits: Arc<Limits>,
}

/// Budgets of the whole process.
#[derive(Clone, Debug)]
pub struct Pools {
    /// Content that waits for its verdict.
    pub hold: Arc<Pool>,
    /// Parts that cannot be streamed, and large decoder states.
    pub parts: Arc<Pool>,
}

/// One connection.
pub struct Session {
    generation: Arc<Generation>,
    pools: Pools,
    flow: Flow,
    engines: Vec<(Engine, BufferSet, Box<dyn FlowState>)>,
}

/// One transaction's way from its first byte to the judgement.
#[derive(Debug)]
pub struct Inspection {
    layers: Option<Layers>,
    judge: Judge,
    hold: Hold,
    plan: HoldPlan,
    wire_bytes: u64,
    /// Whether some of what was pushed is still to be inspected.
    is_busy: bool,
    is_finished: bool,
}

/// What a push came to.
#[derive(Debug)]
pub struct Pushed<'a> {
    /// How much of the chunk was used; where that is not all, the rest is pushed again.
    pub consumed: usize,
    /// What may leave now.
    pub released: Released<'a>,
    /// Whether the push came to its end.
    pub progress: Progress,
}

/// Whether there is more to do with what was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All of it is done with.
    Through,
    /// The time of one push is spent: let others run, then call again with the rest, even if it is empty.
    Busy,
}

impl Session {
    /// A connection begins, with the generation of this moment.
    pub fn open(generation: Arc<Generation>, pools: &Pools, flow: Flow) -> Self {
        Self::open_beside(generation, pools, flow, |_| None)
    }

    /// The same, where some of what engines know of the connection is there already: `known` is asked for each database's.
    pub fn open_beside(
        generation: Arc<Generation>,
        pools: &Pools,
        flow: Flow,
        mut known: impl FnMut(&dyn Database) -> Option<Box<dyn FlowState>>,
    ) -> Self {
        let open = |database: &Arc<dyn Database>| {
            let state = known(&**database).unwrap_or_else(|| Arc::clone(database).open_flow(&flow));
            (database.engine(), database.wants(), state)
        };
        let engines = generation.databases.iter().map(open).collect();
        Self { generation, pools: pools.clone(), flow, engines }
    }

    /// Whether an engine looks into it.
    pub fn wants(&self, buffer: Buffer) -> bool {
        self.engines.iter().any(|(_, wants, _)| wants.contains(buffer))
    }

    /// The connection.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// What was loaded when the connection began.
    pub fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// The group that judges mail for a recipient (`None` where there is none) on this connection.
    pub fn group_for(&self, recipient: Option<&str>) -> &Arc<Group> {
        self.group_of(recipient, None)
    }

    /// The group that judges what a user does (`None` where nobody has said who he is) on this connection.
    pub fn group_for_user(&self, user: Option<&str>) -> &Arc<Group> {
        self.group_of(None, user)
    }

    fn group_of(&self, recipient: Option<&str>, user: Option<&str>) -> &Arc<Group> {
        let (listener, client) = (self.flow.listener.as_str(), self.flow.client.ip());
        self.generation.policy.group_for(Who { recipient, user, listener, client })
    }

    /// Budgets of the whole process.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// What changes the exchanges of a group, beside the verdict on them.
    pub fn rewriter(&self, group: &Group) -> Option<Arc<dyn Rewriter>> {
        self.generation.databases.iter().find_map(|database| database.rewriter(&group.name))
    }

    /// A transaction begins.
    pub fn begin(
        &mut self,
        about: &Transaction,
        group: Arc<Group>,
        root: Root,
        plan: HoldPlan,
    ) -> Inspection {
        let limits = &self.generation.limits;
        // What engines hold is counted apart from what decoders do, so that neither starves the other within a transaction.
        let pool = self.pools.parts.share(limits);
        let scanners = self.engines.iter_mut().map(|(engine, wants, flow)| {
            let mut scanner = flow.open(about);
            scanner.draw_from(&pool);
            (*engine, *wants, scanner)
        });
        let panel = Panel::new(scanners);
        let means = Means { pool: self.pools.parts.share(limits) };
        let mut judge = Judge::new(group);
        let layers = Layers::open(root, Budget::new(Arc::clone(limits)), means, panel, &mut judge);
        let hold = Hold::new(plan, &self.pools.hold);
        Inspection {
            layers: Some(layers),
            judge,
            hold,
            plan,
            wire_bytes: 0,
            is_busy: false,
            is_finished: false,
        }
    }
}

impl Inspection {
    /// Content as it came, dot stuffing removed. Works for a millisecond at most.
    pub fn push<'a>(&mut self, chunk: &'a [u8]) -> Pushed<'a> {
        let Some(layers) = &mut self.layers else {
            self.wire_bytes += chunk.len() as u64;
            return Pushed {
                consumed: chunk.len(),
                released: Released::default(),
                progress: Progress::Through,
            };
        };
        let (consumed, ran) = layers.push(chunk, &mut self.judge);
        self.wire_bytes += consumed as u64;
        self.stop_if_refused();
        let released = self.hold.take(&chunk[..consumed]);
        self.is_busy = ran == Ran::Busy;
        let progress = if consumed < chunk.len() { Progress::Busy } else { ran.into() };
        Pushed { consumed, released, progress }
    }

    /// Something about the exchange itself, such as a request's host, before its content: whole, once for each buffer.
    pub fn about(&mut self, buffer: Buffer, bytes: &[u8]) {
        if let Some(layers) = &mut self.layers {
            layers.about(buffer, bytes, &mut self.judge);
            self.stop_if_refused();
        }
    }

    /// Whether an engine looks into it.
    pub fn wants(&self, buffer: Buffer) -> bool {
        self.layers.as_ref().is_some_and(|layers| layers.wants(buffer))
    }

    /// How long the last push or finish took, by the caller's clock: the next ones take smaller pieces where it was long.
    pub fn took(&mut self, nanos: u64) {
        if let Some(layers) = &mut self.layers {
            layers.took(nanos);
        }
    }

    /// The content has ended. While it is `Busy`, call again; then the judgement stands.
    pub fn finish(&mut self) -> Progress {
        if let Some(layers) = &mut self.layers
            && !self.is_finished
        {
            if layers.finish(&mut self.judge) == Ran::Busy {
                self.stop_if_refused();
                return Progress::Busy;
            }
            self.is_finished = true;
            if self.hold.is_streaming() {
                self.judge.streamed();
            }
        }
        self.layers = None;
        Progress::Through
    }

    /// Something outside the content kept it from being inspected in whole, such as a time limit.
    pub fn incomplete(&mut self, reason: Reason) {
        self.judge.incomplete(&".".into(), reason);
    }

    /// What is known so far; the last word once `finish` is through. A verdict only hardens, so one that refuses the
    /// content is certain at once.
    pub fn judgement(&self) -> &Judgement {
        self.judge.so_far()
    }

    /// The group that judges it.
    pub fn group(&self) -> &Arc<Group> {
        self.judge.group()
    }

    /// Whether the content goes on, as far as is known.
    pub fn is_refused(&self) -> bool {
        self.judgement().verdict > Verdict::Tag
    }

    /// Whether content leaves before the verdict.
    pub fn is_streaming(&self) -> bool {
        self.hold.is_streaming()
    }

    /// Lets go what is held, behind a prefix of the gateway's own, if the judgement lets it.
    pub fn release(&mut self, prefix: &[u8]) -> Released<'static> {
        if self.is_refused() || self.layers.is_some() {
            return Released::default();
        }
        self.hold.release(prefix)
    }

    /// Nobody waits for what may still come: all that has come is inspected now. While it is `Busy`, push what is left of
    /// the content, even if that is nothing.
    pub fn settle(&mut self) -> Progress {
        let Some(layers) = &mut self.layers else { return Progress::Through };
        let ran = layers.settle_now(&mut self.judge);
        self.is_busy = ran == Ran::Busy;
        self.stop_if_refused();
        ran.into()
    }

    /// Lets go what is held of content that streams, where all of it has been inspected: for content whose end nobody can
    /// wait for. The caller has the clock, and says so when it was held for its time.
    pub fn release_tail(&mut self) -> Released<'static> {
        if self.is_refused() || self.is_busy { Released::default() } else { self.hold.release_tail() }
    }

    /// Content bytes that are held.
    pub fn held_bytes(&self) -> usize {
        self.hold.held_bytes()
    }

    /// A copy of what is held, for making something else of it: it leaves by `release` alone.
    pub fn held(&self) -> Vec<u8> {
        self.hold.held()
    }

    /// Content bytes received.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    /// Content bytes that have left.
    pub fn released_bytes(&self) -> u64 {
        self.hold.released_bytes()
    }

    /// From here on nothing leaves of content that is refused. Where no verdict is harder, it is not worth more work
    /// either, unless all evidence is wanted (`lockgate scan`).
    fn stop_if_refused(&mut self) {
        if !self.is_refused() || self.plan == HoldPlan::Discard {
            return;
        }
        self.hold.discard();
        if self.judgement().verdict == Verdict::Reject {
            self.layers = None;
        }
    }
}

impl From<Ran> for Progress {
    fn from(ran: Ran) -> Self {
        match ran {
            Ran::Through => Self::Through,
            Ran::Busy => Self::Busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_content::Coding;
    use lockgate_model::{Buffer, Class, Direction, Engine, Finding, Protocol, TransactionId};

    fn inspection() -> Inspection {
        inspection_by(Group::new("g"), HoldPlan::Head { hold_bytes: 0 })
    }

    fn inspection_by(group: Group, plan: HoldPlan) -> Inspection {
        inspection_of(Root::File, group, plan)
    }

    fn inspection_of(root: Root, group: Group, plan: HoldPlan) -> Inspection {
        let generation = Generation {
            number: 1,
            databases: Vec::new(),
            policy: Arc::new(Policy::default()),
            limits: Arc::new(Limits::default()),
        };
        let pools = Pools { hold: Pool::new(1 << 20), parts: Pool::new(1 << 20) };
        let address = ([127, 0, 0, 1], 25).into();
        let listener = String::new();
        let flow = Flow {
            security: lockgate_model::Security::Clear,
            id: 1,
            protocol: Protocol::File,
            client: address,
            server: address,
            listener,
        };
        let mut session = Session::open(Arc::new(generation), &pools, flow);
        let about = Transaction {
            id: TransactionId(1),
            direction: Direction::ToServer,
            group: String::new(),
            sender: None,
            recipients: Vec::new(),
            name: None,
            length: None,
        };
        session.begin(&about, Arc::new(group), root, plan)
    }

    #[test]
    fn nothing_leaves_from_the_refusal_on_however_much_comes() {
        let content = [b'x'; 4096];
        for verdict in [Verdict::Quarantine, Verdict::Defer, Verdict::Reject] {
            let mut group = Group::new("g");
            group.set_finding(Class::Virus, verdict);
            let plan = HoldPlan::HeadAndTail { hold_bytes: 1000, tail_bytes: 100 };
            let mut inspection = inspection_by(group, plan);
            assert_eq!(inspection.push(&content).released.bytes(), 3996, "it streams");
            inspection.judge.find(Finding {
                engine: Engine::Antivirus,
                class: Class::Virus,
                rule: "t.ndb:1".into(),
                name: "Test".into(),
                part: ".".into(),
                buffer: Buffer::FileData,
                offset: None,
                signature: None,
            });
            for _ in 0..3 {
                assert!(inspection.push(&content).released.is_empty(), "{verdict:?}");
            }
            while inspection.finish() == Progress::Busy {}
            assert!(inspection.release(b"").is_empty());
            assert_eq!(inspection.judgement().verdict, verdict);
            assert_eq!((inspection.wire_bytes(), inspection.released_bytes()), (4 * 4096, 3996));
        }
    }

    #[test]
    fn what_is_too_little_to_tell_its_type_by_is_inspected_before_it_leaves() {
        let plan = HoldPlan::HeadAndTail { hold_bytes: 0, tail_bytes: 100 };
        let mut inspection = inspection_by(Group::new("g"), plan);
        assert!(inspection.push(b"a few words").released.is_empty());
        assert_eq!(inspection.settle(), Progress::Through);
        assert_eq!(inspection.release_tail().bytes(), 11);
        assert!(inspection.push(b"and more").released.is_empty());
        assert_eq!((inspection.settle(), inspection.release_tail().bytes()), (Progress::Through, 8));
        while inspection.finish() == Progress::Busy {}
        assert!(inspection.release(b"").is_empty());
    }

    #[test]
    fn what_takes_long_is_worked_on_in_small_pieces_until_it_is_fast_again() {
        let content = [b'x'; 65_536];
        let mut inspection = inspection();
        for _ in 0..64 {
            inspection.push(&content);
            inspection.took(1_000_000_000);
        }
        let slow = inspection.push(&content);
        assert!(slow.consumed <= 4096 && slow.progress == Progress::Busy, "{}", slow.consumed);
        for _ in 0..20 {
            inspection.push(&content);
            inspection.took(1);
        }
        let fast = inspection.push(&content);
        assert_eq!((fast.consumed, fast.progress), (65_536, Progress::Through));
    }

    #[test]
    fn content_is_released_whole_whatever_the_pace() {
        let content: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        for nanos in [1, 100_000, 1_000_000_000] {
            let (mut inspection, mut out) = (inspection(), Vec::new());
            let mut rest = content.as_slice();
            while !rest.is_empty() {
                let pushed = inspection.push(rest);
                rest = &rest[pushed.consumed..];
                pushed.released.slices().for_each(|slice| out.extend_from_slice(slice));
                inspection.took(nanos);
            }
            while inspection.finish() == Progress::Busy {}
            inspection.release(b"").slices().for_each(|slice| out.extend_from_slice(slice));
            assert!(out == content, "{nanos}");
        }
    }

    /// Raw deflate of content in one stored block: the content stands in it as it is.
    fn stored(content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u16).to_le_bytes();
        [&[1, length[0], length[1], !length[0], !length[1]][..], content].concat()
    }

    #[test]
    fn coded_content_is_read_in_one_way_or_refused() {
        let clean = b"clean as can be".repeat(60);
        let short = |mut stream: Vec<u8>| {
            stream.pop();
            stream
        };
        let wrong_inside = stored(&[b"\x07", &clean[..]].concat());
        let cases: [(usize, Vec<u8>, Option<&str>); 10] = [
            (1, stored(&clean), None),
            (2, stored(&stored(&clean)), None),
            (4, stored(&stored(&stored(&stored(&clean)))), None),
            // What has no content has no coding.
            (1, Vec::new(), None),
            (1, b"\x03\0".to_vec(), None),
            (1, clean.clone(), Some("a damaged content coding")),
            (2, wrong_inside, Some("a damaged content coding")),
            (1, short(stored(&clean)), Some("a content coding cut short")),
            (2, stored(&short(stored(&clean))), Some("a content coding cut short")),
            (
                1,
                [&b"PK\x03\x04"[..], &clean].concat(),
                Some("content that is something else without its coding"),
            ),
        ];
        for (count, content, expected) in cases {
            let root = Root::Coded(vec![Coding::Deflate; count]);
            let plan = HoldPlan::Head { hold_bytes: 1 << 20 };
            let mut inspection = inspection_of(root, Group::new("g"), plan);
            for piece in content.chunks(7) {
                inspection.push(piece);
            }
            while inspection.finish() == Progress::Busy {}
            let judgement = inspection.judgement();
            assert_eq!(judgement.deciding_finding().map(|found| &*found.name), expected, "{content:x?}");
            assert!(judgement.findings.iter().all(|found| &*found.part == "."), "{judgement:?}");
            assert_eq!(inspection.is_refused(), expected.is_some());
            assert_eq!(inspection.release(b"").is_empty(), expected.is_some() || content.is_empty());
        }
    }
}
