//! The seam between the waist and the engines. Rule: engines observe and never block; only policy judges.
//!
//! Compile → [`Database`] → [`FlowState`] for each flow → [`Scanner`] for each transaction. Compiling may be slow
//! and may fail; scanning is fast and cannot. Parts interleave: a scanner keeps its state by part.

use crate::budget::Pool;
use crate::finding::{Engine, Hit, Points, Reason};
use crate::flow::{Flow, Transaction};
use crate::part::{Buffer, BufferSet, Part, PartId};
use crate::rewrite::Rewriter;
use std::sync::Arc;

/// Whether a scanner wants more of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Go on pushing.
    More,
    /// No more of this buffer of this part: nothing in it can matter.
    Done,
}

/// Where a scanner puts what it finds.
pub trait Sink {
    /// One finding. The panel adds the part's path.
    fn hit(&mut self, hit: Hit);
    /// What was counted in the transaction, whether or not there is a hit.
    fn points(&mut self, _points: Points) {}
    /// The part at hand could not be inspected in whole: something that it began to look like was not decided.
    fn incomplete(&mut self, _part: PartId, _reason: Reason) {}
    /// A hit in the part at hand will come only after it has closed: its path is to be kept until then.
    fn announce(&mut self, _part: PartId) {}
}

/// An engine's compiled rules: immutable, shared between threads and flows.
pub trait Database: Send + Sync {
    /// Which engine this is.
    fn engine(&self) -> Engine;
    /// The buffers it looks into; no other is pushed.
    fn wants(&self) -> BufferSet;
    /// What it changes of an exchange of that policy group, beside what it finds; `None` where that is nothing.
    fn rewriter(&self, _group: &str) -> Option<Arc<dyn Rewriter>> {
        None
    }
    /// State for one connection.
    fn open_flow(self: Arc<Self>, flow: &Flow) -> Box<dyn FlowState>;
}

/// What outlives a transaction, such as flowbits.
pub trait FlowState: Send {
    /// State for one transaction.
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner>;
}

/// One transaction's state.
pub trait Scanner: Send {
    /// What is held beyond the scanner's own state is drawn from this pool. Told before the first part opens.
    fn draw_from(&mut self, _pool: &Arc<Pool>) {}
    /// A part begins; its names and its detected type are known.
    fn open(&mut self, part: &Part) -> Want;
    /// Bytes of one buffer of an open part, in order. What is about the exchange itself (`http.*`) is pushed for the root
    /// before it opens, each buffer whole and ended before the next.
    fn push(&mut self, part: PartId, buffer: Buffer, chunk: &[u8], sink: &mut dyn Sink) -> Want;
    /// An open part cannot be read further, for this reason: what was pushed of it is not all of it.
    fn broken(&mut self, _part: PartId, _reason: Reason) {}
    /// A buffer has ended; negation, sizes and offsets from the end are decided here.
    fn end(&mut self, part: PartId, buffer: Buffer, sink: &mut dyn Sink);
    /// The part has ended with all its children; its state can go.
    fn close(&mut self, part: PartId, sink: &mut dyn Sink);
    /// The transaction has ended.
    fn finish(&mut self, sink: &mut dyn Sink);
}
