//! A file that FTP brings: [`FtpData`]. Rule: the connection is the file.

use super::Telling;
use super::content::{Content, Envelope, Inspector};
use super::side::Side;
use crate::expected::File;
use lockgate_eve::Object;
use lockgate_inspect::Root;
use lockgate_model::{Buffer, Direction, Reason};
use std::io::Write;

/// One connection.
pub struct FtpData {
    inspector: Inspector,
    file: File,
    side: Option<Side>,
}

impl FtpData {
    /// Nothing has come yet.
    pub fn new(inspector: Inspector, file: File) -> Self {
        Self { inspector, file, side: None }
    }

    /// The next bytes of a side: those of the first to send are the file.
    pub fn data<W: Write>(&mut self, direction: Direction, bytes: &[u8], telling: &mut Telling<'_, W>) {
        if self.side.is_none() {
            let name = Some(self.file.name.clone()).filter(|name| !name.is_empty());
            let envelope = Envelope { name, ..Envelope::default() };
            let mut content = Content::begin(&mut self.inspector, Root::File, 0, direction, envelope);
            let command = self.file.transfer.name().to_ascii_lowercase();
            content.about(Buffer::FtpDataCommand, command.as_bytes());
            let mut side = Side::new(direction);
            side.begin(content, telling);
            self.side = Some(side);
        }
        if let Some(side) = self.side.as_mut().filter(|side| side.is_of(direction)) {
            side.push(bytes, telling);
        }
    }

    /// Bytes were missed.
    pub fn gap<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if let Some(side) = self.side.as_mut().filter(|side| side.is_of(direction)) {
            side.finish(Some(Reason::Partial), telling);
        }
    }

    /// A side has ended.
    pub fn end<W: Write>(&mut self, direction: Direction, telling: &mut Telling<'_, W>) {
        if let Some(side) = self.side.as_mut().filter(|side| side.is_of(direction)) {
            side.finish(None, telling);
        }
    }

    /// What is known of it.
    pub fn describe(&self, event: &mut Object<'_>) {
        event.object("ftp_data", |object| {
            if !self.file.name.is_empty() {
                object.text("filename", &self.file.name);
            }
            object.text("command", self.file.transfer.name());
        });
    }
}
