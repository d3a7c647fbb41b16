//! EVE JSON, Suricata's form of events, for whoever has some to tell. Rule: the form alone; what is told is others'.

pub mod json;
pub mod timestamp;

pub use json::Object;
