//! What was last heard of a side, for those who read alerts: [`Heard`]. Rule: bounded, and what was missed is said.

/// How much is kept, as Suricata does.
const HEARD_BYTES_MAX: usize = 4 << 10;

/// The last bytes of a side.
#[derive(Default)]
pub struct Heard {
    bytes: Vec<u8>,
}

impl Heard {
    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let last = bytes.get(bytes.len().saturating_sub(HEARD_BYTES_MAX)..).unwrap_or(bytes);
        let surplus = (self.bytes.len() + last.len()).saturating_sub(HEARD_BYTES_MAX);
        self.bytes.drain(..surplus.min(self.bytes.len()));
        self.bytes.extend_from_slice(last);
    }

    /// So many were missed.
    pub fn miss(&mut self, bytes: u64) {
        self.push(format!("[{bytes} bytes missing]").as_bytes());
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
