//! Frames of all kinds, one after another. Rule: whatever comes, memory is bounded and what begins ends.
#![no_main]

use lockgate_fuzz::packets::{Watch, small};
use lockgate_packet::{LinkType, Time, Tracker};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [link, settings, frames @ ..] = input else { return };
    let mut frames = frames;
    let links = [1, 101, 0, 9, 104, 108, 113, 276];
    let Some(link) = LinkType::from_number(links[usize::from(link % 8)]) else { return };
    let mut tracker = Tracker::new(small(*settings));
    let mut watch = Watch::default();
    let mut time = 0;
    // Each frame: its length in two bytes, the time since the last one in one.
    while let [high, low, seconds, rest @ ..] = frames {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (frame, behind) = rest.split_at(length);
        frames = behind;
        time += u64::from(*seconds);
        tracker.packet(Time::from_seconds(time), link, frame, &mut watch);
        let [flows, streams, fragments] = tracker.taken_bytes();
        assert!(flows <= 32 << 10 && streams <= 16 << 10 && fragments <= 16 << 10);
    }
    tracker.end(&mut watch);
    assert_eq!((watch.open, tracker.flows(), tracker.taken_bytes()[1]), (0, 0, 0));
});
