//! The POP3 proxy: one client's `session`, from the server's greeting to its end. Rule: a file for each thing it does.
//!
//! `upstream` is the way to the server, `session` carries commands and replies, `mail` is one mail while it is
//! inspected, and `notice` is what the reader gets in place of a bad one. The commands are `lockgate_proto::pop3`.

mod mail;
mod notice;
mod session;
mod upstream;

use crate::listener::Accepted;
use crate::settings::Tls;
use crate::shared::Shared;
use lockgate_proto::pop3::Status;
use lockgate_proto::pop3::sender::status_line;
use session::Session;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long our last words may take to arrive.
const LINGER: Duration = Duration::from_secs(2);

/// Serves one connection.
pub async fn serve(mut accepted: Accepted, shared: Arc<Shared>) {
    if accepted.gate.settings.tls == Tls::Implicit && accept_tls(&mut accepted).await.is_err() {
        return;
    }
    // In a box, as the session is: what is done once takes no room for the rest of the connection.
    match Box::pin(upstream::open(&accepted, &shared)).await {
        Ok((server, greeting)) => {
            let mut session = Box::new(Session::new(accepted, server, shared));
            let over = session.run(&greeting).await;
            session.end(over).await;
        }
        Err(why) => {
            // RFC 3206: SYS/TEMP, so that the client does not ask its user for another password.
            let line = status_line(Status::Err, &format!("[SYS/TEMP] {why}; try again later"));
            let _ = accepted.stream.queue(&line);
            accepted.stream.close(LINGER).await;
        }
    }
}

/// TLS towards the client, within its time.
async fn accept_tls(accepted: &mut Accepted) -> io::Result<()> {
    let Some(config) = accepted.gate.tls.clone() else { return Err(io::ErrorKind::Unsupported.into()) };
    let patience = accepted.gate.settings.timeouts.handshake;
    timeout(patience, accepted.stream.start_tls_accept(config)).await?
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
