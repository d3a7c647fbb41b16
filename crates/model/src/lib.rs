//! The words that every part of Lockgate shares. Rule: data and traits only, no input or output, no clock.
//!
//! Read [`engine`] first: it is the seam between the waist (`inspect`) and the engines.

pub mod budget;
pub mod engine;
pub mod filetype;
pub mod finding;
pub mod flow;
pub mod held;
pub mod network;
pub mod part;
pub mod rewrite;
pub mod verdict;

pub use budget::{Budget, Grant, Limits, Pool};
pub use engine::{Database, FlowState, Scanner, Sink, Want};
pub use filetype::FileType;
pub use finding::{Class, Engine, Finding, Hit, Incomplete, Points, PointsTerm, Reason};
pub use flow::{Blame, Direction, Flow, Protocol, Security, Transaction, TransactionId};
pub use held::Held;
pub use network::Network;
pub use part::{Buffer, BufferSet, Part, PartId};
pub use rewrite::Rewriter;
pub use verdict::Verdict;
