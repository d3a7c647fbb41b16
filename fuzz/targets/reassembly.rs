//! Segments of one text, in any order and overlap. Rule: what is delivered at a place is what was sent for it.
#![no_main]

use lockgate_fuzz::packets::{Ends, Watch, small, text};
use lockgate_packet::{LinkType, Time, Tracker};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [settings, steps @ ..] = input else { return };
    let mut tracker = Tracker::new(small(settings & 0x7f));
    let mut watch = Watch::default();
    watch.is_text = true;
    let first = 0xffff_ff00;
    let mut put = |side: usize, flags: u8, at: u32, ack: u32, bytes: &[u8]| {
        tracker.packet(
            Time::from_seconds(1),
            LinkType::Raw,
            &Ends { port: 80 }.segment(side, flags, at, ack, bytes),
            &mut watch,
        );
    };
    put(0, 0x02, first, 0, b"");
    put(1, 0x12, 99, first + 1, b"");
    put(0, 0x10, first + 1, 100, b"");
    for step in steps.chunks_exact(4) {
        let (side, place) =
            (usize::from(step[0] >> 7), u32::from(u16::from_be_bytes([step[0] & 0x0f, step[1]])));
        let begin = [first + 1, 100][side];
        let flags = [0x10, 0x18, 0x10, 0x11, 0x10, 0x14, 0x10, 0x30][usize::from(step[0] >> 4 & 7)];
        let other = [100, first + 1][side];
        let bytes = text(u64::from(place), usize::from(step[2]));
        put(side, flags, begin.wrapping_add(place), other.wrapping_add(u32::from(step[3]) * 16), &bytes);
    }
    tracker.end(&mut watch);
    assert_eq!((watch.open, tracker.taken_bytes()[1]), (0, 0));
});
