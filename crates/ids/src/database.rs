//! Rules, compiled: [`Database`]. Rule: immutable and shared; what flows and transactions change is theirs, but for thresholds.

use crate::flow::Connection;
use crate::hashing::HashKinds;
use crate::hosts::Hosts;
use crate::kinds::{Kind, Kinds};
use crate::memory::Name;
use crate::packets::asked::Asked;
use crate::packets::groups::Groups;
use crate::ruleset::bits::{BitAction, FlowTest, IntegerCompare, Track};
use crate::ruleset::header::{Application, Header};
use crate::ruleset::rule::Test;
use crate::ruleset::threshold::Threshold;
use crate::search::{Search, Searches};
use crate::thresholds::Thresholds;
use crate::tuning::Tuning;
use crate::views::{ViewId, Views};
use lockgate_model::{self as model, Buffer, BufferSet, Direction, Engine, Flow, FlowState, Signature};
use std::sync::{Arc, Mutex};

/// Says what second it is, counted from anywhere. It is asked only where a rule counts how often it has matched.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Compiled rules.
pub struct Database {
    pub(crate) rules: Vec<Compiled>,
    pub(crate) views: Views,
    /// For each view, the searches for the fast patterns in it.
    pub(crate) searches: Vec<Searches>,
    /// Heads of HTTP on their way to the server, and to the client.
    pub(crate) heads: [Heads; 2],
    /// Content on its way to the server, and to the client.
    pub(crate) bodies: [Body; 2],
    /// What flows may be about, by their kind.
    pub(crate) kinds: Kinds,
    /// For each view, the rules that have no fast pattern and are asked when it is there.
    pub(crate) unsearched: Vec<Box<[u32]>>,
    /// The rules that are about packets and streams as they are.
    pub(crate) groups: Groups,
    /// Which digests of files some rule asks for.
    pub(crate) hashes: HashKinds,
    /// Which buffers of the waist some rule looks at.
    pub(crate) wants: BufferSet,
    /// What bits and numbers are called.
    pub(crate) names: Box<[Arc<str>]>,
    pub(crate) thresholds: Mutex<Thresholds>,
    pub(crate) hosts: Mutex<Hosts>,
    pub(crate) clock: Clock,
}

/// Where rules about a transaction are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searched {
    /// What is made of a buffer.
    View(ViewId),
    /// What is made of a head of HTTP that goes this way.
    Head(Direction),
    /// The same where it is the first that comes, for what the bytes of the connection are searched for, too.
    HeadAndBytes(Direction),
    /// Content that goes this way, as it came.
    Body(Direction),
    /// The same where it is all that came, for what the bytes of the connection are searched for, too.
    BodyAndBytes(Direction),
    /// The bytes of the connection that go this way.
    Bytes(Direction),
}

/// Heads of HTTP as they come one way.
pub(crate) struct Heads {
    /// What all views of them look for.
    pub searches: Searches,
    /// The same together with what the bytes of a connection are searched for.
    pub with_connection: Searches,
}

/// Content as it comes one way.
pub(crate) struct Body {
    /// The views that look at it as it came.
    pub views: Arc<[ViewId]>,
    /// What they look for together.
    pub searches: Searches,
    /// What is looked for in content that is all that came, together with what the bytes of a connection are searched for.
    pub with_connection: Searches,
    /// What is looked for in the bytes of a connection that no packets are seen of.
    pub connection: Searches,
}

/// A rule, compiled. Its number is its rank: of those that match at one moment, the lower one goes first.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub header: Header,
    pub flow: FlowTest,
    pub applications: Box<[Application]>,
    pub lists: Box<[CompiledList]>,
    /// Whether one list reads a variable that another asks for.
    pub shares_variables: bool,
    /// What it asks of packets, where it does.
    pub asked: Option<Asked>,
    pub bits: Box<[CompiledBit]>,
    pub integers: Box<[(Name, CompiledInteger)]>,
    /// Of a rule that lets pass: whether that is told.
    pub is_told_of_pass: bool,
    /// Whether some of its bits are of hosts.
    pub notes_hosts: bool,
    pub threshold: Option<Threshold>,
    pub tuning: Tuning,
    pub is_silent: bool,
    pub signature: Arc<Signature>,
    /// What it is called.
    pub message: Arc<str>,
    /// `FILE:LINE`.
    pub place: Arc<str>,
}

/// What a rule asks of one view.
#[derive(Debug)]
pub(crate) struct CompiledList {
    pub view: ViewId,
    pub tests: Box<[Test]>,
    /// What it asks of what is decoded from base64 there.
    pub of_decoded: Box<[Test]>,
}

/// A bit, by its number.
#[derive(Debug)]
pub(crate) struct CompiledBit {
    pub action: BitAction,
    pub names: Box<[Name]>,
    pub track: Track,
    /// Of a bit of hosts: after so many seconds it is set no more.
    pub expire: u32,
}

/// What is asked of a flow's number, or done with it.
#[derive(Debug)]
pub(crate) enum CompiledInteger {
    IsSet,
    IsNotSet,
    Set(CompiledValue),
    Add(CompiledValue),
    Subtract(CompiledValue),
    Compare(IntegerCompare, CompiledValue),
}

/// A number, or another number of the flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CompiledValue {
    Number(u32),
    Named(Name),
}

/// Which way of the two protocols' content rules for it are about, where a transaction is of that direction.
pub(crate) fn is_way(rule: Option<Direction>, transaction: Direction) -> bool {
    rule.is_none_or(|rule| rule == transaction)
}

fn way(direction: Direction) -> usize {
    usize::from(direction == Direction::ToClient)
}

impl Body {
    fn all(&self) -> [&Searches; 3] {
        [&self.searches, &self.with_connection, &self.connection]
    }
}

impl Compiled {
    /// The lists that are about what a protocol made of a stream: a bit for each.
    pub fn content_lists(&self) -> u64 {
        let all = u64::MAX.checked_shr(64 - self.lists.len() as u32).unwrap_or(0);
        all & !self.asked.as_ref().map_or(0, |asked| asked.lists)
    }
}

impl Database {
    /// How many rules are in use.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// What the searches take in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let bodies = self.bodies.iter().flat_map(Body::all);
        let heads = self.heads.iter().flat_map(|head| [&head.searches, &head.with_connection]);
        self.searches.iter().chain(heads).chain(bodies).map(Searches::heap_bytes).sum::<usize>()
            + self.groups.heap_bytes()
    }
}

impl Database {
    /// What is looked for in content that goes this way.
    pub(crate) fn body(&self, direction: Direction) -> &Body {
        &self.bodies[way(direction)]
    }

    /// The search there, for flows of a kind about which rules are that `concerns` lets through.
    pub(crate) fn search_in(
        &self,
        place: Searched,
        kind: Option<&Kind>,
        concerns: &dyn Fn(u32) -> bool,
    ) -> Option<Arc<Search>> {
        let (views, ways) = (self.searches.len(), self.bodies.len());
        // The number is that of a kind's search.
        let (number, all) = match place {
            Searched::View(view) => (usize::from(view.0), &self.searches[usize::from(view.0)]),
            Searched::Body(direction) => (views + way(direction), &self.body(direction).searches),
            Searched::Head(direction) => {
                (views + ways + way(direction), &self.heads[way(direction)].searches)
            }
            Searched::BodyAndBytes(direction) => {
                (views + 2 * ways + way(direction), &self.body(direction).with_connection)
            }
            Searched::HeadAndBytes(direction) => {
                (views + 3 * ways + way(direction), &self.heads[way(direction)].with_connection)
            }
            Searched::Bytes(direction) => (views + 4 * ways, &self.body(direction).connection),
        };
        kind.map_or_else(|| all.whole(), |kind| kind.search(number, all, concerns))
    }
}

impl model::Database for Database {
    fn engine(&self) -> Engine {
        Engine::Ids
    }

    fn wants(&self) -> BufferSet {
        self.wants
    }

    fn open_flow(self: Arc<Self>, flow: &Flow) -> Box<dyn FlowState> {
        Box::new(Connection::new(self, flow))
    }
}

/// The buffers of the waist that a proxy fills for rules.
pub(crate) const OF_EXCHANGES: BufferSet = BufferSet::EMPTY
    .with(Buffer::HttpHost)
    .with(Buffer::HttpRequestLine)
    .with(Buffer::HttpHeader)
    .with(Buffer::HttpResponseLine)
    .with(Buffer::HttpResponseHeader);
