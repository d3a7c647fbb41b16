//! What rules ask of packets and of streams as they are: compiled ([`asked`]), found ([`groups`], [`filed`]), answered ([`headers`],
//! [`side`]). Rule: the words are those of Suricata's manual, "Header Keywords" and "Payload Keywords".

pub(crate) mod asked;
pub(crate) mod filed;
pub(crate) mod groups;
pub(crate) mod headers;
pub(crate) mod side;
