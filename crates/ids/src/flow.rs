//! One connection: who is on either side, and what rules have noted of it. Rule: transactions share it, a moment at a time.

use crate::database::{Compiled, Database, is_way};
use crate::kinds::{Class, Kind};
use crate::memory::Memory;
use crate::packets::groups::Carrier;
use crate::ruleset::bits::FlowState as State;
use crate::ruleset::header::{Application, Header, Protocol, Way};
use crate::scanner::Transmission;
use crate::thresholds::Pair;
use lockgate_model::{self as model, Direction, Flow, FlowState, Scanner, Transaction};
use std::cell::OnceCell;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Where web servers are (RFC 9110 section 4.2.1).
const HTTP_PORT: u16 = 80;

/// One connection through a proxy.
pub(crate) struct Connection {
    database: Arc<Database>,
    facts: Facts,
    memory: Arc<Mutex<Memory>>,
    /// What it may be about, to the server and to the client, once that was asked.
    kinds: [OnceCell<Option<Arc<Kind>>>; 2],
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub id: u64,
    pub protocol: model::Protocol,
    /// Whether it is known what is spoken, or that it is nothing known.
    pub is_recognised: bool,
    pub carrier: Carrier,
    pub client: SocketAddr,
    /// `None` where a client has asked a proxy: which server it will be, rules do not wait for.
    pub server: Option<SocketAddr>,
    /// Whether packets are seen of it, and rules about bytes are asked of these.
    pub has_packets: bool,
}

impl Connection {
    pub fn new(database: Arc<Database>, flow: &Flow) -> Self {
        let server = (flow.protocol != model::Protocol::Http).then_some(flow.server);
        let facts = Facts {
            id: flow.id,
            protocol: flow.protocol,
            is_recognised: true,
            carrier: Carrier::Tcp,
            client: flow.client,
            server,
            has_packets: false,
        };
        Self::sharing(database, facts, Arc::default())
    }

    /// One whose memory others have a hand in.
    pub fn sharing(database: Arc<Database>, facts: Facts, memory: Arc<Mutex<Memory>>) -> Self {
        Self { database, facts, memory, kinds: Default::default() }
    }
}

impl FlowState for Connection {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        let (database, memory) = (Arc::clone(&self.database), Arc::clone(&self.memory));
        locked(&memory).is_answered |= about.direction == Direction::ToClient;
        let kind = &self.kinds[usize::from(about.direction == Direction::ToClient)];
        let kind = kind.get_or_init(|| database.kinds.of(self.facts.class(about.direction))).clone();
        Box::new(Transmission::new(database, (self.facts, kind), memory, about))
    }
}

impl Facts {
    /// All that tells it from other flows as far as rules about transactions go.
    fn class(&self, direction: Direction) -> Class {
        let spoken = Some((self.protocol, self.is_recognised));
        Class { spoken, carrier: self.carrier, direction, ends: self.ends(direction) }
    }

    /// Who sends and who receives.
    pub fn ends(&self, direction: Direction) -> [Option<SocketAddr>; 2] {
        let (client, server) = (Some(self.client), self.server);
        if direction == Direction::ToServer { [client, server] } else { [server, client] }
    }

    /// Whether a rule is about such a flow, and that way of it.
    pub fn concern(&self, rule: &Compiled, direction: Direction) -> bool {
        self.is_spoken(rule) && is_way(rule.flow.direction, direction) && self.is_between(rule, direction)
    }

    fn is_spoken(&self, rule: &Compiled) -> bool {
        // A file by itself came by no protocol: whatever could have brought it.
        let is_carried = match rule.header.protocol {
            Protocol::Udp => self.carrier == Carrier::Udp,
            Protocol::Tcp | Protocol::TcpStream | Protocol::TcpPacket => self.carrier == Carrier::Tcp,
            _ => true,
        };
        self.protocol == model::Protocol::File
            || is_carried && self.is_application(rule) && rule.flow.state != Some(State::NotEstablished)
    }

    /// Whether a rule waits for a connection that is not there yet: datagrams make one when both sides have sent some.
    pub fn is_too_soon(&self, rule: &Compiled, memory: &Memory) -> bool {
        self.carrier == Carrier::Udp && rule.flow.state == Some(State::Established) && !memory.is_answered
    }

    /// Whether a rule is about what one side of it sends to the other.
    pub fn is_way_of(&self, rule: &Compiled, direction: Direction) -> bool {
        is_way(rule.flow.direction, direction) && self.is_between(rule, direction)
    }

    /// Whether a rule is about what is spoken.
    pub fn is_application(&self, rule: &Compiled) -> bool {
        let own = match self.protocol {
            model::Protocol::Http => Protocol::Http,
            model::Protocol::Smtp => Protocol::Smtp,
            model::Protocol::Pop3 => Protocol::Pop3,
            model::Protocol::Dns => Protocol::Dns,
            model::Protocol::Ftp => Protocol::Ftp,
            model::Protocol::FtpData => Protocol::FtpData,
            model::Protocol::Tls => Protocol::Tls,
            model::Protocol::Smb => Protocol::Smb,
            model::Protocol::Ssh => Protocol::Ssh,
            model::Protocol::Sip => Protocol::Sip,
            model::Protocol::Unknown | model::Protocol::File => {
                let is_as_asked = |its: &Application| its.protocol.is_none() == its.is_spoken;
                return !rule.header.protocol.is_application()
                    && (rule.applications.is_empty() || self.is_recognised)
                    && rule.applications.iter().all(is_as_asked);
            }
        };
        let is_as_asked = |its: &Application| (its.protocol == Some(own)) == its.is_spoken;
        let is_own = !rule.header.protocol.is_application() || rule.header.protocol == own;
        is_own && rule.applications.iter().all(is_as_asked)
    }

    fn is_between(&self, rule: &Compiled, direction: Direction) -> bool {
        if self.protocol == model::Protocol::File {
            return true;
        }
        let [from, to] = self.ends(direction);
        rule.header.is_between(from, to)
    }

    /// Whether a rule is about the port that the server has, or would mostly have: one about bytes on a port of its own is about
    /// something else than what a proxy is asked for.
    pub fn is_on_its_port(&self, rule: &Compiled, direction: Direction) -> bool {
        let header = &rule.header;
        let ports = match direction {
            Direction::ToServer => &header.destination_ports,
            Direction::ToClient => &header.source_ports,
        };
        header.protocol.is_application() || self.server.is_some() || ports.contains(HTTP_PORT)
    }

    /// Who sends to whom; what is not known counts as the client.
    pub fn pair(&self, direction: Direction) -> Pair {
        let (client, server) = (self.client.ip(), self.server.unwrap_or(self.client).ip());
        let (source, destination) =
            if direction == Direction::ToServer { (client, server) } else { (server, client) };
        Pair { source, destination, flow: self.id }
    }
}

impl Header {
    /// Whether a rule is about what one sends to the other; who is not known is who it is about.
    pub fn is_between(&self, from: Option<SocketAddr>, to: Option<SocketAddr>) -> bool {
        let header = self;
        let fits = |from: Option<SocketAddr>, to: Option<SocketAddr>| {
            let is_source = |from: SocketAddr| {
                header.source.contains(from.ip()) && header.source_ports.contains(from.port())
            };
            let is_destination = |to: SocketAddr| {
                header.destination.contains(to.ip()) && header.destination_ports.contains(to.port())
            };
            from.is_none_or(is_source) && to.is_none_or(is_destination)
        };
        fits(from, to) || (header.way == Way::Both && fits(to, from))
    }
}

/// The memory, whoever held it last.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
