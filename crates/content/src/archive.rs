//! Many files in one stream. Rule: entries are read in the order in which they come, and none is passed over in silence.

pub mod ar;
pub mod arj;
pub mod cab;
pub mod carrier;
pub mod chm;
pub mod cpio;
pub mod disguise;
mod iso;
pub mod lha;
mod packed;
pub mod rar;
pub mod rpm;
pub mod sevenz;
pub mod tar;
pub mod zip;
