//! Many files in one stream. Rule: entries are read in the order in which they come, and none is passed over in silence.

pub mod cab;
pub mod chm;
pub mod disguise;
pub mod tar;
pub mod zip;
