//! Tests of the whole way from frames to streams. Rule: what arrives is what was sent, however it is cut, and memory is bounded.

use super::*;
use crate::Gap;
use crate::frames::*;
use crate::transport::tcp_flag::*;
use std::collections::HashMap;
use std::net::IpAddr;

/// Writes down what it is told.
#[derive(Default)]
struct Diary {
    streams: HashMap<(u64, Direction), Vec<u8>>,
    gaps: Vec<(Direction, u64, u64)>,
    ended: Vec<(u64, Direction)>,
    flows: Vec<(Flow, FlowEnd)>,
    begun: usize,
    events: Vec<Event>,
    established: Vec<bool>,
    verdicts: Vec<Verdict>,
    payloads: Vec<Vec<u8>>,
}

impl Observer for Diary {
    fn flow_begins(&mut self, _: &Flow) {
        self.begun += 1;
    }

    fn data(&mut self, flow: &Flow, chunk: Chunk<'_>) -> Interest {
        assert!(!chunk.bytes.is_empty());
        let stream = self.streams.entry((flow.id, chunk.direction)).or_default();
        let missing: u64 =
            self.gaps.iter().filter(|(direction, ..)| *direction == chunk.direction).map(|gap| gap.2).sum();
        assert!(chunk.offset <= stream.len() as u64 + missing);
        stream.extend(chunk.bytes);
        Interest::More
    }

    fn gap(&mut self, _: &Flow, gap: Gap) -> Interest {
        self.gaps.push((gap.direction, gap.offset, gap.bytes));
        Interest::More
    }

    fn side_ends(&mut self, flow: &Flow, direction: Direction) {
        self.ended.push((flow.id, direction));
    }

    fn packet(&mut self, packet: &Packet<'_>, place: &Place<'_>) {
        self.events.extend(packet.events.iter());
        self.established.push(place.is_established);
        self.verdicts.push(place.segment);
        self.payloads.push(packet.payload.to_vec());
    }

    fn flow_ends(&mut self, flow: &Flow, why: FlowEnd) {
        self.flows.push((flow.clone(), why));
    }
}

impl Diary {
    fn stream(&self, direction: Direction) -> &[u8] {
        self.streams.get(&(1, direction)).map_or(&[], Vec::as_slice)
    }
}

fn seconds(seconds: u64) -> Time {
    Time::from_seconds(seconds)
}

/// All frames, a millisecond apart, and the end.
fn watch(settings: Settings, frames: &[Vec<u8>]) -> Diary {
    let mut diary = Diary::default();
    let mut tracker = Tracker::new(settings);
    for (index, frame) in frames.iter().enumerate() {
        tracker.packet(Time::from_micros(index as u64 * 1000), LinkType::Ethernet, frame, &mut diary);
    }
    tracker.end(&mut diary);
    assert_eq!((tracker.flows(), tracker.taken_bytes()[..2].to_vec()), (0, vec![0, 0]));
    assert_eq!(diary.begun, diary.flows.len());
    diary
}

fn immediate() -> Settings {
    Settings { delivery: Delivery::Immediate, ..Settings::default() }
}

/// A request and its response, with a close that the client begins.
fn exchange() -> Vec<Vec<u8>> {
    let mut talk = Dialogue::new(1025, [u32::MAX - 2, 5000]);
    let mut frames = talk.handshake();
    frames.push(talk.says(0, ACK | PSH, b"GET / HTTP/1.1\r\n\r\n"));
    frames.push(talk.says(1, ACK, b"HTTP/1.1 200 OK\r\n"));
    frames.push(talk.says(1, ACK | PSH, b"\r\nbody"));
    frames.push(talk.says(0, ACK, b""));
    frames.push(talk.says(0, ACK | FIN, b""));
    frames.push(talk.says(1, ACK | FIN, b""));
    frames.push(talk.says(0, ACK, b""));
    frames
}

#[test]
fn both_sides_of_a_connection_are_told() {
    for settings in [Settings::default(), immediate()] {
        let diary = watch(settings, &exchange());
        assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(diary.stream(Direction::ToClient), b"HTTP/1.1 200 OK\r\n\r\nbody");
        assert_eq!(diary.events, []);
        assert_eq!(diary.ended, [(1, Direction::ToServer), (1, Direction::ToClient)]);
        assert_eq!(diary.established[..5], [false, false, false, true, true]);
        let (flow, why) = &diary.flows[0];
        assert_eq!((flow.state, *why), (FlowState::Closed, FlowEnd::Stopped));
        assert_eq!((flow.counts[0].packets, flow.counts[1].packets), (6, 4));
        let tcp = flow.tcp.unwrap();
        assert_eq!((tcp.state.name(), tcp.sent_bytes, tcp.flags), ("closed", [18, 23], [0x1b, 0x1b]));
        assert!(diary.verdicts.iter().all(|verdict| *verdict == Verdict::Taken));
        assert!(diary.gaps.is_empty());
    }
}

#[test]
fn what_is_not_acknowledged_waits() {
    let frames = exchange();
    let mut tracker = Tracker::new(Settings::default());
    let mut diary = Diary::default();
    for frame in &frames[..4] {
        tracker.packet(seconds(1), LinkType::Ethernet, frame, &mut diary);
    }
    assert_eq!(diary.stream(Direction::ToServer), b"");
    tracker.packet(seconds(1), LinkType::Ethernet, &frames[4], &mut diary);
    assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(diary.stream(Direction::ToClient), b"");
    tracker.end(&mut diary);
    assert_eq!(diary.stream(Direction::ToClient), b"HTTP/1.1 200 OK\r\n", "the end lets go of what there is");
}

#[test]
fn missing_bytes_are_a_gap_once_acknowledged() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    frames.push(talk.says(0, ACK, b"abc"));
    let _lost = talk.says(0, ACK, b"defg");
    frames.push(talk.says(0, ACK, b"hij"));
    frames.push(talk.says(1, ACK, b"ok"));
    let diary = watch(Settings::default(), &frames);
    assert_eq!(diary.stream(Direction::ToServer), b"abchij");
    assert_eq!(diary.gaps, [(Direction::ToServer, 3, 4)]);
    assert_eq!(diary.events, [Event::ReassemblySeqGap]);
    assert_eq!(diary.flows[0].0.tcp.unwrap().gaps, [true, false]);
}

#[test]
fn the_target_says_which_of_two_counts() {
    for (policy, expected) in
        [(StreamPolicy::Bsd, b"GOOD"), (StreamPolicy::Last, b"EVIL"), (StreamPolicy::OldLinux, b"EVIL")]
    {
        let mut talk = Dialogue::new(1025, [1, 1]);
        let mut frames = talk.handshake();
        frames.push(talk.at(0, 0, ACK, b"GOOD"));
        frames.push(talk.says(0, ACK, b"EVIL"));
        frames.push(talk.says(1, ACK, b""));
        let settings = Settings { stream_policy: policy, ..Settings::default() };
        let diary = watch(settings, &frames);
        assert_eq!(diary.stream(Direction::ToServer), expected, "{policy:?}");
        assert!(diary.events.contains(&Event::ReassemblyOverlapDifferentData));
        assert_eq!(
            watch(Settings { stream_policy: policy, ..immediate() }, &frames).stream(Direction::ToServer),
            b"GOOD"
        );
    }
}

#[test]
fn a_connection_seen_late_is_picked_up_where_that_is_wanted() {
    let frames = &exchange()[3..];
    assert!(watch(Settings::default(), frames).streams.is_empty());
    let picked_up = Settings { midstream: Midstream::PickedUp, ..Settings::default() };
    let diary = watch(picked_up.clone(), frames);
    assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(diary.stream(Direction::ToClient), b"HTTP/1.1 200 OK\r\n\r\nbody");
    assert!(diary.flows[0].0.is_midstream());
    // Who answers is the server, though it is seen first.
    let diary = watch(picked_up, &exchange()[1..]);
    assert_eq!(diary.flows[0].0.server.port, 80);
    assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn one_side_alone_is_followed_where_that_is_wanted() {
    let frames: Vec<Vec<u8>> = [0, 2, 3, 6, 7].map(|index| exchange()[index].clone()).to_vec();
    assert!(watch(Settings::default(), &frames).streams.is_empty());
    let diary = watch(Settings { one_sided: OneSided::Followed, ..Settings::default() }, &frames);
    assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn a_wrong_checksum_is_no_segment() {
    let mut frames = exchange();
    let last = frames[3].len() - 1;
    let mut wrong = frames[3].clone();
    wrong[last] ^= 0x55;
    frames.insert(3, wrong);
    let diary = watch(Settings::default(), &frames);
    assert_eq!(diary.stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(diary.verdicts[3], Verdict::Ignored);
    let lenient = Settings { checksums: Checksums::Ignored, ..Settings::default() };
    assert_ne!(watch(lenient, &frames).stream(Direction::ToServer), b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn depth_ends_a_side() {
    let settings = Settings { depth_bytes: [5, u64::MAX], ..Settings::default() };
    let diary = watch(settings, &exchange());
    assert_eq!(diary.stream(Direction::ToServer), b"GET /");
    assert_eq!(diary.stream(Direction::ToClient), b"HTTP/1.1 200 OK\r\n\r\nbody");
    assert!(diary.events.contains(&Event::ReassemblyDepthReached));
}

#[test]
fn a_reset_lets_go_of_what_there_is() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    frames.push(talk.says(0, ACK, b"last words"));
    frames.push(talk.says(0, RST | ACK, b""));
    frames.push(talk.says(0, ACK, b"not dead"));
    let mut tracker = Tracker::new(Settings::default());
    let mut diary = Diary::default();
    for frame in &frames {
        tracker.packet(seconds(1), LinkType::Ethernet, frame, &mut diary);
    }
    assert_eq!(diary.stream(Direction::ToServer), b"last words");
    assert_eq!(diary.events, [Event::SuspectedRstInject]);
}

#[test]
fn the_same_ports_may_be_used_again() {
    let mut frames = exchange();
    let mut talk = Dialogue::new(1025, [90_000, 80_000]);
    frames.extend(talk.handshake());
    frames.push(talk.says(0, ACK, b"again"));
    let diary = watch(Settings::default(), &frames);
    assert_eq!(diary.flows.len(), 2);
    assert_eq!((diary.flows[0].1, diary.flows[1].1), (FlowEnd::Replaced, FlowEnd::Stopped));
    assert_eq!(diary.streams[&(2, Direction::ToServer)], b"again");
}

#[test]
fn flows_time_out_by_the_packets_time() {
    let ip = |payload: &[u8]| {
        let (a, b): (IpAddr, IpAddr) = (CLIENT.into(), SERVER.into());
        ethernet(0x0800, &ipv4(CLIENT, SERVER, 17, &udp(a, b, (1, 2), payload)))
    };
    let mut tracker = Tracker::new(Settings::default());
    let mut diary = Diary::default();
    for (time, flows) in [(0, 0), (30, 0), (61, 1), (70, 1), (99, 1), (200, 2)] {
        tracker.packet(seconds(time), LinkType::Ethernet, &ip(b"x"), &mut diary);
        assert_eq!(diary.flows.len(), flows, "at {time} s");
    }
    assert_eq!(diary.flows[0].1, FlowEnd::TimedOut);
    assert_eq!(diary.flows[0].0.last, seconds(30));
}

#[test]
fn an_error_belongs_to_the_flow_that_it_quotes() {
    let (a, b): (IpAddr, IpAddr) = (CLIENT.into(), SERVER.into());
    let sent = ipv4(CLIENT, SERVER, 17, &udp(a, b, (7, 8), b"x"));
    let error = ipv4(SERVER, CLIENT, 1, &icmp(3, 3, [0; 4], &sent));
    let frames = [ethernet(0x0800, &sent), ethernet(0x0800, &error)];
    let diary = watch(Settings::default(), &frames);
    assert_eq!(diary.flows.len(), 1);
    assert_eq!(diary.flows[0].0.counts[1].packets, 1);
    assert!(diary.established[1]);
}

#[test]
fn fragments_become_their_packet() {
    let (a, b): (IpAddr, IpAddr) = (CLIENT.into(), SERVER.into());
    let datagram = udp(a, b, (7, 8), &[b'x'; 100]);
    let cut = |from: usize, to: usize| {
        let place = (9, from as u16, to < datagram.len());
        ethernet(0x0800, &ipv4_fragment(CLIENT, SERVER, 17, place, &datagram[from..to]))
    };
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let parts = [cut(0, 40), cut(40, 80), cut(80, 108)];
        let diary = watch(Settings::default(), &order.map(|index| parts[index].clone()));
        assert_eq!(diary.payloads.len(), 4);
        assert!(diary.payloads.contains(&vec![b'x'; 100]), "{order:?}");
        assert_eq!((diary.flows.len(), diary.events.len()), (1, 0));
    }
    let six = |from: usize, to: usize| {
        let datagram = udp(CLIENT_6.into(), SERVER_6.into(), (7, 8), &[b'y'; 100]);
        let place = (from as u16 | u16::from(to < datagram.len())).to_be_bytes();
        let header = [&[17, 0][..], &place, &[0, 0, 0, 5]].concat();
        let behind = [&[44, 0, 1, 4, 0, 0, 0, 0][..], &header, &datagram[from..to]].concat();
        ethernet(0x86dd, &ipv6(CLIENT_6, SERVER_6, 60, &behind))
    };
    let diary = watch(Settings::default(), &[six(0, 48), six(40, 108)]);
    assert!(diary.payloads.contains(&vec![b'y'; 100]));
    assert!(diary.events.contains(&Event::Ipv6FragOverlap));
}

#[test]
fn systems_are_told_apart_by_their_networks() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    frames.push(talk.at(0, 0, ACK, b"GOOD"));
    frames.push(talk.says(0, ACK, b"EVIL"));
    frames.push(talk.says(1, ACK, b""));
    for (network, expected) in [("10.0.0.2/32", b"EVIL"), ("10.0.0.1/32", b"GOOD")] {
        let target = Target {
            network: network.parse().unwrap(),
            stream_policy: StreamPolicy::OldLinux,
            fragment_policy: FragmentPolicy::Linux,
        };
        let all =
            Target { network: "0.0.0.0/0".parse().unwrap(), stream_policy: StreamPolicy::Bsd, ..target };
        // The smaller network counts, in whatever order they are named.
        for targets in [vec![all.clone(), target.clone()], vec![target, all]] {
            let settings = Settings { targets, ..Settings::default() };
            assert_eq!(watch(settings, &frames).stream(Direction::ToServer), expected, "{network}");
        }
    }
}

#[test]
fn a_syn_that_is_sent_again_may_have_a_later_timestamp() {
    let stamped = |frame: Vec<u8>, value: u32, echo: u32| {
        let tcp = &frame[34..];
        let side = usize::from(frame[26..30] != CLIENT.octets());
        let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
        let segment = Tcp {
            ports: if side == 0 { (1025, 80) } else { (80, 1025) },
            sequence: word(4),
            ack: word(8),
            flags: tcp[13],
            window: 65_000,
            options: [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat(),
            payload: tcp[20..].to_vec(),
        };
        let (from, to) = if side == 0 { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        ethernet(0x0800, &ipv4(from, to, 6, &segment.bytes(from.into(), to.into())))
    };
    for (echo, is_followed) in [(100, true), (350, true), (600, true), (601, false), (99, false)] {
        let mut talk = Dialogue::new(1025, [1, 1]);
        let syn = talk.says(0, SYN, b"");
        let mut frames: Vec<_> =
            [100, 350, 600].iter().map(|value| stamped(syn.clone(), *value, 0)).collect();
        frames.push(stamped(talk.says(1, SYN | ACK, b""), 7, echo));
        frames.push(stamped(talk.says(0, ACK, b""), 601, 7));
        frames.push(stamped(talk.says(0, ACK, b"hello"), 602, 7));
        frames.push(stamped(talk.says(1, ACK, b""), 8, 602));
        let diary = watch(Settings::default(), &frames);
        let heard: &[u8] = if is_followed { b"hello" } else { b"" };
        assert_eq!(diary.stream(Direction::ToServer), heard, "{echo}");
    }
}

#[test]
fn an_urgent_byte_is_read_apart() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    let mut urgent = talk.says(0, ACK | URG, b"GEXT /");
    urgent[52..54].copy_from_slice(&3_u16.to_be_bytes());
    frames.extend([urgent, talk.says(1, ACK, b""), talk.says(0, ACK, b"more"), talk.says(1, ACK, b"")]);
    for (urgent, expected) in [(Urgent::Apart, &b"GET /more"[..]), (Urgent::Within, b"GEXT /more")] {
        let settings = Settings { urgent, checksums: Checksums::Ignored, ..Settings::default() };
        assert_eq!(watch(settings, &frames).stream(Direction::ToServer), expected);
    }
}

#[test]
fn both_may_ask_at_once() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = vec![talk.says(0, SYN, b""), talk.says(1, SYN, b"")];
    frames.push(talk.at(0, -1, SYN | ACK, b""));
    frames.push(talk.says(1, ACK, b""));
    frames.push(talk.says(0, ACK, b"hello"));
    frames.push(talk.says(1, ACK, b"hi"));
    let diary = watch(Settings::default(), &frames);
    assert_eq!(
        (diary.stream(Direction::ToServer), diary.stream(Direction::ToClient)),
        (&b"hello"[..], &b"hi"[..])
    );
    assert_eq!(diary.events, []);
}

#[test]
fn a_reset_that_the_server_did_not_send_hides_nothing() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    frames.push(talk.says(0, RST, b""));
    frames.push(talk.says(0, ACK, b"still here"));
    frames.push(talk.says(1, ACK, b"so am I"));
    let diary = watch(Settings::default(), &frames);
    assert_eq!(diary.stream(Direction::ToServer), b"still here");
    assert_eq!(diary.stream(Direction::ToClient), b"so am I");
    assert_eq!(diary.events, [Event::SuspectedRstInject]);
}

#[test]
fn a_fin_that_comes_late_is_no_gap() {
    let mut talk = Dialogue::new(1025, [1, 1]);
    let mut frames = talk.handshake();
    let fin = talk.says(0, ACK | FIN, b"");
    frames.push(talk.says(1, ACK | FIN, b""));
    frames.push(fin);
    frames.push(talk.says(0, ACK, b""));
    let diary = watch(Settings::default(), &frames);
    assert_eq!((diary.gaps.len(), diary.events.len()), (0, 0), "{:?}", diary.events);
    assert_eq!(diary.flows[0].0.state, FlowState::Closed);
}

/// A small generator of numbers: the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

#[test]
fn however_a_stream_is_cut_it_is_the_same() {
    let text: Vec<u8> = (0..3000u32).map(|i| (i * 7 % 251) as u8).collect();
    for seed in 0..60 {
        let mut numbers = Numbers(seed);
        let mut talk = Dialogue::new(1025, [u32::MAX - 1000, 1]);
        let mut frames = talk.handshake();
        let mut cuts: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = (at + 1 + numbers.below(200)).min(text.len());
            // Some begin earlier than they need to, some come twice.
            cuts.push((at.saturating_sub(numbers.below(30)), end));
            if numbers.below(4) == 0 {
                cuts.push((at, end));
            }
            at = end;
        }
        for index in (1..cuts.len()).rev() {
            if numbers.below(2) == 0 {
                cuts.swap(index, index.saturating_sub(numbers.below(5)));
            }
        }
        for (from, to) in cuts {
            frames.push(talk.at(0, from as i64, ACK, &text[from..to]));
        }
        talk.next[0] = talk.next[0].wrapping_add(text.len() as u32);
        frames.push(talk.says(1, ACK, b""));
        for settings in [Settings::default(), immediate()] {
            let diary = watch(settings, &frames);
            assert_eq!(diary.stream(Direction::ToServer), text, "seed {seed}");
            assert!(diary.gaps.is_empty() && !diary.events.contains(&Event::ReassemblyOverlapDifferentData));
        }
    }
}

#[test]
fn floods_stay_within_bounds() {
    let settings = Settings {
        flow_bytes_max: 1 << 20,
        stream_bytes_max: 256 << 10,
        fragment_bytes_max: 64 << 10,
        ..Settings::default()
    };
    let mut tracker = Tracker::new(settings);
    let mut diary = Diary::default();
    let mut most = [0; 3];
    for index in 0..30_000u32 {
        let mut talk = Dialogue::new((index % 60_000) as u16, [index, 1]);
        talk.ports.1 = (index / 60_000) as u16;
        let mut frames = vec![talk.says(0, SYN, b"")];
        if index % 10 == 0 {
            frames.push(talk.says(1, SYN | ACK, b""));
            frames.push(talk.says(0, ACK, b""));
            // What never becomes whole.
            frames.push(talk.at(0, 1, ACK, &[1; 1000]));
        }
        let id = index as u16;
        frames.push(ethernet(0x0800, &ipv4_fragment(CLIENT, SERVER, 17, (id, 800, true), &[2; 80])));
        for frame in frames {
            tracker.packet(seconds(1), LinkType::Ethernet, &frame, &mut diary);
        }
        for (most, taken) in most.iter_mut().zip(tracker.taken_bytes()) {
            *most = taken.max(*most);
        }
    }
    assert!(most[0] <= 1 << 20 && most[1] <= 256 << 10 && most[2] <= 64 << 10, "{most:?}");
    assert!(most[0] > 900_000 && most[1] > 200_000 && most[2] > 60_000, "{most:?}");
    assert!(diary.flows.iter().all(|(_, why)| *why == FlowEnd::Evicted));
    tracker.end(&mut diary);
    assert_eq!(diary.flows.len(), 30_000);
}
