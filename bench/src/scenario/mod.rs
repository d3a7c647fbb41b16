//! One scenario a file, each side by side with its peers.

pub mod components;
pub mod ids_flood;
pub mod ids_profile;
pub mod ids_speed;
pub mod ids_web;
pub mod ids_web_peers;
pub mod mail_bombs;
pub mod mail_memory;
pub mod mail_packed;
pub mod mail_profile;
pub mod mail_speed;
pub mod matchers;
pub mod page_components;
pub mod scan_speed;
pub mod start;
pub mod web_engines;
pub mod web_memory;
pub mod web_profile;
pub mod web_speed;
