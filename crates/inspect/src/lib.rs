//! The waist: every protocol above it, every decoder and engine below it.
//!
//! Read [`session`] first, then follow a chunk: [`session`] → [`layers`] (parts, decoders) → [`panel`] (engines) →
//! [`policy`] (verdict), while [`hold`] decides which bytes may leave.

pub mod hold;
pub mod judge;
pub mod layers;
pub mod panel;
pub mod policy;
mod scratch;
pub mod session;
pub mod undo;

pub use hold::{HoldPlan, Released};
pub use judge::Judgement;
pub use layers::Root;
pub use lockgate_content::Coding;
pub use policy::{Ban, Bans, Covers, Group, NamePattern, Policy, Who};
pub use session::{Generation, Inspection, Pools, Progress, Pushed, Session};
pub use undo::{Undone, undo};
