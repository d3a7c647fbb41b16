//! swaks as a client. Rule: the mail goes as it stands in the file.

use std::net::SocketAddr;
use std::process::Command;

use crate::namespace::Namespace;
use crate::process::{outcome, printed_by};
use crate::smtp::dot_stuffed;
use crate::temporary::Directory;

/// What became of a mail.
#[derive(Debug)]
pub struct Sent {
    /// swaks' exit status: 0 when the mail was taken.
    pub status: i32,
    /// The whole dialogue.
    pub dialogue: String,
}

/// Sends a mail from ann@example.org to bob@example.org, with whatever other options.
pub fn send(server: SocketAddr, mail: &[u8], options: &[&str]) -> Sent {
    send_with(Command::new("swaks"), server, mail, options)
}

/// The same from within a namespace.
pub fn send_within(namespace: &Namespace, server: SocketAddr, mail: &[u8]) -> Sent {
    send_with(namespace.command("swaks"), server, mail, &[])
}

fn send_with(mut command: Command, server: SocketAddr, mail: &[u8], options: &[&str]) -> Sent {
    let directory = Directory::new("swaks");
    let file = directory.write("mail", dot_stuffed(mail));
    command.args(["--server", &server.ip().to_string(), "--port", &server.port().to_string()]);
    command.args(["--from", "ann@example.org", "--to", "bob@example.org", "--ehlo", "client.example.org"]);
    // With its fix-up swaks writes escapes, line ends and dots anew.
    command.args(["--no-data-fixup", "--data", &format!("@{}", file.display())]);
    let output = outcome(command.args(options));
    Sent { status: output.status.code().unwrap_or(-1), dialogue: printed_by(&output) }
}
