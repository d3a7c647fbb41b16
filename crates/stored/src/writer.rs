//! Values → bytes, in one pass. Rule: the first error is kept, and told at the end.

use std::io::{self, Write};

/// How much is written at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Where values are written to.
pub struct Writer<'a> {
    sink: &'a mut dyn Write,
    buffer: Vec<u8>,
    sum: crc32fast::Hasher,
    written: io::Result<()>,
}

impl<'a> Writer<'a> {
    /// Writes there.
    pub fn new(sink: &'a mut dyn Write) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Self { sink, buffer, sum: crc32fast::Hasher::new(), written: Ok(()) }
    }

    /// Adds bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush();
            if bytes.len() >= BUFFER_BYTES {
                return self.write(bytes);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Adds a length. What is longer than four bytes can tell cannot be stored.
    pub fn length(&mut self, length: usize) {
        match u32::try_from(length) {
            Ok(length) => self.bytes(&length.to_le_bytes()),
            Err(_) => self.fail(io::Error::other("something is too long to be stored")),
        }
    }

    fn fail(&mut self, error: io::Error) {
        if self.written.is_ok() {
            self.written = Err(error);
        }
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn write(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        if self.written.is_ok() {
            self.written = self.sink.write_all(bytes);
        }
    }

    /// The checksum of all bytes (that of gzip).
    ///
    /// # Errors
    ///
    /// What kept one of them from being written.
    pub fn finish(mut self) -> io::Result<u32> {
        self.flush();
        self.written?;
        self.sink.flush()?;
        Ok(self.sum.finalize())
    }
}
