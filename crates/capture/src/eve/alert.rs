//! A rule that has matched, as an event: [`Alarm`]. Rule: the packet that it is told with says who sends to whom.

use super::flow::counts;
use super::{Ends, Eve, Evidence, Forwarded, Proxies, Reporting};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockgate_eve::Object;
use lockgate_model::{Buffer, Class, Direction, Finding, Hit, Protocol, Signature, Wish};
use lockgate_packet::{Flow, Origin, Packet, Tunnel};
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;

/// Something found, and what is known of where.
#[derive(Clone, Debug)]
pub struct Alarm {
    /// What kind of finding it is.
    pub class: Class,
    /// What it is called.
    pub name: Arc<str>,
    /// Where the rule stands.
    pub rule: Arc<str>,
    /// What the rule says of itself.
    pub signature: Option<Arc<Signature>>,
    /// The way from the root of the part it is in.
    pub part: Option<Arc<str>>,
    /// Which buffer it was found in.
    pub buffer: Buffer,
    /// Where in that, in bytes, where something was looked for.
    pub offset: Option<u64>,
    /// Which transaction of the flow it is in, from 0.
    pub transaction: Option<u64>,
    /// Which way went what it was found in.
    pub direction: Direction,
    /// Whether it was found in the stream, and not in this packet alone.
    pub is_of_stream: bool,
    /// Whether it is told: a rule may stop what it matches and say nothing of it.
    pub is_told: bool,
}

impl Alarm {
    /// Out of what was said.
    pub fn of_finding(finding: &Finding, transaction: u64, direction: Direction) -> Self {
        Self {
            class: finding.class,
            name: Arc::clone(&finding.name),
            rule: Arc::clone(&finding.rule),
            signature: finding.signature.clone(),
            part: Some(Arc::clone(&finding.part)),
            buffer: finding.buffer,
            offset: finding.offset,
            transaction: Some(transaction),
            direction,
            is_of_stream: true,
            is_told: true,
        }
    }

    /// Out of a buffer by itself, or a packet.
    pub fn of_hit(hit: Hit, transaction: Option<u64>, direction: Direction) -> Self {
        Self {
            class: hit.class,
            name: hit.name,
            rule: hit.rule,
            signature: hit.signature,
            part: None,
            buffer: hit.buffer,
            offset: hit.offset,
            transaction,
            direction,
            is_of_stream: transaction.is_some(),
            is_told: true,
        }
    }

    /// Of what is told at one moment, the lowest goes first.
    pub fn rank(&self) -> u32 {
        self.signature.as_ref().map_or(0, |signature| signature.rank)
    }

    /// Whether the rule wants what it is about stopped.
    pub fn wants_stop(&self) -> bool {
        self.class == Class::Intrusion
            || self.signature.as_ref().is_some_and(|signature| signature.wish == Wish::Stop)
    }
}

/// Where an alarm is told.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Its flow.
    pub flow: Option<&'a Flow>,
    /// The packet that brought it; `None` where the flow has ended.
    pub packet: Option<&'a Packet<'a>>,
    /// What was last heard that way, where it is kept.
    pub heard: Option<&'a [u8]>,
    /// What is spoken.
    pub spoken: Option<Protocol>,
    /// Whether what it is about goes no further.
    pub is_blocked: bool,
    /// Whether the packet goes no further, by whatever rule.
    pub is_stopped: bool,
    /// The bits that are set in the flow.
    pub bits: &'a [Arc<str>],
    /// For whom proxies have asked: the first of them, and the last.
    pub forwarded: Option<[IpAddr; 2]>,
}

impl Proxies {
    fn asked_for(self, [first, last]: [IpAddr; 2]) -> IpAddr {
        match self {
            Self::OfServers => last,
            Self::OfClients => first,
        }
    }
}

impl<'a> Scene<'a> {
    /// Of the place nothing is known but what is spoken there.
    pub fn of(spoken: Option<Protocol>) -> Self {
        Self {
            flow: None,
            packet: None,
            heard: None,
            spoken,
            is_blocked: false,
            is_stopped: false,
            bits: &[],
            forwarded: None,
        }
    }

    /// Who sends to whom, as it is told.
    fn ends(&self, direction: Direction, forwarded: Forwarded) -> Option<Ends> {
        let mut ends = match (self.packet, self.flow) {
            (Some(packet), _) => Ends::of_packet(packet),
            (None, Some(flow)) => Ends::of_flow(flow, direction),
            (None, None) => return None,
        };
        if let (Forwarded::Instead(proxies), Some(addresses)) = (forwarded, self.forwarded) {
            ends.put_client(direction, proxies.asked_for(addresses));
        }
        Some(ends)
    }
}

impl<W: Write> Eve<W> {
    /// A rule has matched.
    pub fn alert(&mut self, alarm: &Alarm, scene: Scene<'_>, describe: impl FnOnce(&mut Object<'_>)) {
        let Scene { flow, packet, heard, spoken, bits, forwarded, .. } = scene;
        if !alarm.is_told {
            return;
        }
        if self.alerts_of_packet >= self.reporting.alerts_max {
            self.alerts_untold += 1;
            return;
        }
        let (Reporting { evidence, forwarded: told, .. }, link) = (self.reporting, self.link);
        let Some(ends) = scene.ends(alarm.direction, told) else { return };
        self.alerts += 1;
        self.alerts_of_packet += 1;
        self.event("alert", &ends, flow, packet, |event| {
            event.text("pkt_src", source(packet));
            if let Some(packet) = packet {
                tunnel(packet, event);
            }
            if let Some(transaction) = alarm.transaction {
                event.number("tx_id", transaction);
            }
            if let (Forwarded::Beside(proxies), Some(addresses)) = (told, forwarded) {
                event.shown("xff", proxies.asked_for(addresses));
            }
            event.object("alert", |object| rule(alarm, scene.is_blocked, object));
            event.object("verdict", |object| object.text("action", verdict(alarm, scene.is_stopped)));
            event.object("evidence", |object| {
                object.text("rule", &alarm.rule);
                object.text_if("part", alarm.part.as_deref());
                object.text("buffer", alarm.buffer.name());
                if let Some(offset) = alarm.offset {
                    object.number("offset", offset);
                }
            });
            if let Some(spoken) = spoken {
                event.text("app_proto", spoken.name());
            }
            event.text(
                "direction",
                if alarm.direction == Direction::ToServer { "to_server" } else { "to_client" },
            );
            describe(event);
            noted(bits, event);
            if let Some(flow) = flow {
                event.object("flow", |object| {
                    counts(flow, object);
                    Ends::of_flow(flow, Direction::ToServer).write_addresses(object);
                });
            }
            if evidence == Evidence::Packet {
                bytes(alarm, packet, heard, event);
                event.object("packet_info", |object| object.number("linktype", link.into()));
            }
            if let Some(flow) = flow {
                event.text("community_id", &flow.community_id());
            }
        });
    }
}

fn source(packet: Option<&Packet<'_>>) -> &'static str {
    match packet.map(|packet| packet.origin) {
        None => "stream (flow timeout)",
        Some(Origin::Wire) => "wire/pcap",
        Some(Origin::Rebuilt) => "defrag",
        Some(Origin::Tunnel(tunnel)) => match tunnel {
            Tunnel::Gre | Tunnel::Erspan => "gre tunnel",
            Tunnel::IpInIp if packet.and_then(Packet::source).is_some_and(|its| its.is_ipv6()) => {
                "ipv6 tunnel"
            }
            Tunnel::IpInIp | Tunnel::Ipv6InIpv4 => "ipv4 tunnel",
            Tunnel::Ipv4InIpv6 => "ipv6 tunnel",
            Tunnel::Vxlan => "vxlan encapsulation",
            Tunnel::Geneve => "geneve encapsulation",
            Tunnel::Teredo => "teredo tunnel",
        },
    }
}

/// What the packet was carried in.
fn tunnel(packet: &Packet<'_>, event: &mut Object<'_>) {
    let Some(outermost) = &packet.outermost else { return };
    let ends = Ends::of_outermost(outermost);
    event.object("tunnel", |object| {
        ends.write_addresses(object);
        ends.write_protocol(object);
        object.number("depth", packet.depth.into());
    });
}

/// What becomes of the packet.
fn verdict(alarm: &Alarm, is_stopped: bool) -> &'static str {
    match alarm.signature.as_ref().map(|signature| signature.wish) {
        _ if is_stopped => "drop",
        Some(Wish::Pass) => "pass",
        _ => "alert",
    }
}

/// The bits of the flow: those called `traffic/id/…` and `traffic/label/…` say what kind of traffic it is.
fn noted(bits: &[Arc<str>], event: &mut Object<'_>) {
    let of = |kind: &'static str| bits.iter().filter_map(move |bit| bit.strip_prefix(kind));
    let (ids, labels) = (of("traffic/id/"), of("traffic/label/"));
    let others = bits.iter().filter(|bit| !bit.starts_with("traffic/")).map(|bit| &**bit);
    if others.clone().next().is_some() {
        event.object("metadata", |object| object.texts("flowbits", others));
    }
    if ids.clone().chain(labels.clone()).next().is_none() {
        return;
    }
    event.object("traffic", |object| {
        if ids.clone().next().is_some() {
            object.texts("id", ids);
        }
        if labels.clone().next().is_some() {
            object.texts("label", labels);
        }
    });
}

fn rule(alarm: &Alarm, is_blocked: bool, object: &mut Object<'_>) {
    object.text("action", if is_blocked { "blocked" } else { "allowed" });
    if let Some(signature) = &alarm.signature {
        object.number("gid", signature.generator.into());
        object.number("signature_id", signature.id.into());
        object.number("rev", signature.revision.into());
    }
    object.text("signature", &alarm.name);
    let category = alarm.signature.as_ref().map_or(alarm.class.name(), |signature| &signature.category);
    object.text("category", category);
    object.number("severity", alarm.signature.as_ref().map_or(1, |signature| signature.severity.into()));
    if let Some(signature) = alarm.signature.as_ref().filter(|its| !its.metadata.is_empty()) {
        object.object("metadata", |object| metadata(&signature.metadata, object));
    }
}

/// What a rule says of itself: all values of a name together.
fn metadata(pairs: &[(Box<str>, Box<str>)], object: &mut Object<'_>) {
    for (at, (name, _)) in pairs.iter().enumerate() {
        if pairs.iter().take(at).all(|(before, _)| before != name) {
            let values = pairs.iter().filter(|(its, _)| its == name).map(|(_, value)| &**value);
            object.texts(name, values);
        }
    }
}

/// The packet and what it carries; of what was found in the stream, the stream.
fn bytes(alarm: &Alarm, packet: Option<&Packet<'_>>, heard: Option<&[u8]>, event: &mut Object<'_>) {
    let of_stream = heard.filter(|heard| alarm.is_of_stream && !heard.is_empty());
    let payload = of_stream.or(packet.map(|packet| packet.payload)).unwrap_or_default();
    event.text("payload", &STANDARD.encode(payload));
    event.text("payload_printable", &printable(payload));
    event.number("stream", of_stream.is_some().into());
    if let Some(packet) = packet {
        event.text("packet", &STANDARD.encode(packet.frame));
    }
}

/// Bytes as Suricata prints them: what is no printable character is a dot, ends of lines stay.
fn printable(bytes: &[u8]) -> String {
    let shown = |byte: &u8| match byte {
        b' '..=b'~' | b'\r' | b'\n' => char::from(*byte),
        _ => '.',
    };
    bytes.iter().map(shown).collect()
}
