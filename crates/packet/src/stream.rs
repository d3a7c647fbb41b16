//! TCP as somebody on the way sees it: [`Session`] follows the states, [`reassembly`] puts bytes in order. Rule: what the receiver would not take is not taken here.

mod close;
mod established;
mod handshake;
mod policy;
mod reassembly;
mod sequence;
mod session;
mod urgent;

pub use policy::StreamPolicy;
pub use reassembly::Delivery;
pub(crate) use reassembly::Output;
pub use session::{Midstream, OneSided, Tcp, TcpState, Verdict};
pub(crate) use session::{Opened, Rules, Segment, Session};
pub use urgent::Urgent;
