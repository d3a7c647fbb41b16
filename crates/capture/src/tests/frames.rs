//! Frames made for tests: [`Talk`], a connection of TCP, and [`datagram`]. Rule: sequence numbers are right unless a test says otherwise.

/// Who has which address.
const HOSTS: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

/// A connection that is being made.
pub struct Talk {
    ports: [u16; 2],
    next: [u32; 2],
    frames: Vec<Vec<u8>>,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;

impl Talk {
    /// The handshake, to that port.
    pub fn begin(port: u16) -> Self {
        Self::between(40_000, port)
    }

    /// The same, from that port.
    pub fn between(from: u16, to: u16) -> Self {
        let mut talk = Self { ports: [from, to], next: [0xffff_fff0, 77], frames: Vec::new() };
        talk.put(0, SYN, b"");
        talk.put(1, SYN | ACK, b"");
        talk.put(0, ACK, b"");
        talk
    }

    /// One side says this, and the other acknowledges it.
    pub fn say(&mut self, side: usize, bytes: &[u8]) {
        self.put(side, PSH | ACK, bytes);
        self.put(1 - side, ACK, b"");
    }

    /// One side says what is not captured.
    pub fn lose(&mut self, side: usize, bytes: &[u8]) {
        self.put(side, PSH | ACK, bytes);
        self.frames.pop();
        self.put(1 - side, ACK, b"");
    }

    /// Both sides end it.
    pub fn end(mut self) -> Vec<Vec<u8>> {
        for side in [0, 1] {
            self.put(side, FIN | ACK, b"");
            self.put(1 - side, ACK, b"");
        }
        self.frames
    }

    fn put(&mut self, side: usize, flags: u8, bytes: &[u8]) {
        let mut tcp = Vec::new();
        tcp.extend(self.ports[side].to_be_bytes());
        tcp.extend(self.ports[1 - side].to_be_bytes());
        tcp.extend(self.next[side].to_be_bytes());
        let ack = if flags & ACK == 0 { 0 } else { self.next[1 - side] };
        tcp.extend(ack.to_be_bytes());
        tcp.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend(bytes);
        let more = bytes.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.next[side] = self.next[side].wrapping_add(more);
        self.frames.push(packet(side, 6, &tcp));
    }
}

/// A datagram between these ports.
pub fn datagram(side: usize, from: u16, to: u16, bytes: &[u8]) -> Vec<u8> {
    let length = (8 + bytes.len() as u16).to_be_bytes();
    packet(side, 17, &[&from.to_be_bytes()[..], &to.to_be_bytes(), &length, &[0, 0], bytes].concat())
}

/// A packet of IPv4.
pub fn packet(side: usize, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let header = [&[0x45, 0][..], &length, &[0, 1, 0, 0, 64, protocol, 0, 0], &HOSTS[side], &HOSTS[1 - side]];
    [&header.concat()[..], payload].concat()
}
