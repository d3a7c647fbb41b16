//! The harness of the end-to-end tests: starts the gateway and real peers, each in a directory of its own.
//! Rule: nothing here sleeps for what it can wait for, and nothing outlives its test.

pub mod authority;
pub mod capture;
pub mod chromium;
pub mod curl;
pub mod desync;
pub mod dovecot;
pub mod e2guardian;
pub mod fetch;
pub mod gateway;
pub mod grpc;
#[path = "../../crates/antivirus/src/icons/writer.rs"]
pub mod icons;
pub mod mail;
pub mod message;
pub mod naive;
pub mod namespace;
pub mod nghttpd;
pub mod nginx;
pub mod openssl;
pub mod origin;
pub mod packed;
pub mod parent;
pub mod postfix;
pub mod process;
#[path = "../../crates/content/src/archive/rar/writer.rs"]
pub mod rar;
pub mod recorder;
pub mod reverse;
pub mod sink;
pub mod smtp;
pub mod smuggled;
pub mod swaks;
pub mod temporary;
pub mod trailing;
pub mod unread;
pub mod wait;
pub mod websocket;
pub mod wrapping;

pub use gateway::Gateway;
pub use temporary::Directory;
