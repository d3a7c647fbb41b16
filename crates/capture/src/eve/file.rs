//! A file that was carried, as an event.

use super::{Ends, Eve};
use lockgate_eve::Object;
use lockgate_model::Protocol;
use lockgate_packet::{Direction, Flow};
use std::io::Write;

impl<W: Write> Eve<W> {
    /// A file has ended.
    pub fn file(
        &mut self,
        flow: &Flow,
        direction: Direction,
        spoken: Option<Protocol>,
        describe: impl FnOnce(&mut Object<'_>),
    ) {
        if !self.wants_all() {
            return;
        }
        self.event("fileinfo", &Ends::of_flow(flow, direction), Some(flow), None, |event| {
            if let Some(spoken) = spoken {
                event.text("app_proto", spoken.name());
            }
            describe(event);
        });
    }
}
