//! What the tests of the proxies share: an engine that finds one word. Rule: nothing here is built but for tests.

use lockgate_model::{
    Buffer, BufferSet, Class, Database, Engine, Flow, FlowState, Hit, Part, PartId, Scanner, Sink,
    Transaction, Want,
};
use std::sync::Arc;

/// What is found.
const WORD: &[u8] = b"WORM";

/// Finds [`WORD`] in decoded data; a word cut in two is not looked for.
pub struct Words;

impl Database for Words {
    fn engine(&self) -> Engine {
        Engine::Antivirus
    }

    fn wants(&self) -> BufferSet {
        BufferSet::EMPTY.with(Buffer::FileData)
    }

    fn open_flow(self: Arc<Self>, _: &Flow) -> Box<dyn FlowState> {
        Box::new(Words)
    }
}

impl FlowState for Words {
    fn open(&mut self, _: &Transaction) -> Box<dyn Scanner> {
        Box::new(Words)
    }
}

impl Scanner for Words {
    fn open(&mut self, _: &Part) -> Want {
        Want::More
    }

    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want {
        if chunk.windows(WORD.len()).any(|window| window == WORD) {
            let (rule, name) = ("test:1".into(), "Test.Worm".into());
            sink.hit(Hit { class: Class::Virus, rule, name, part, buffer, offset: None, signature: None });
        }
        Want::More
    }

    fn end(&mut self, _: PartId, _: Buffer, _: &mut dyn Sink) {}

    fn close(&mut self, _: PartId, _: &mut dyn Sink) {}

    fn finish(&mut self, _: &mut dyn Sink) {}
}
