//! The web proxy: one client's `session`, request after request. Rule: a file for each thing it does.
//!
//! `http1` takes one request after another from a client, `exchange` carries a request to its origin and the response
//! back, each as `content` that is inspected on its way; `downstream` and `upstream` are the two sides of an exchange, in
//! whatever version of HTTP. `session` is what the exchanges of a connection share; `asked` is what a request is for and
//! what is known of it, `admission` who it is from and who judges (`credentials`, `bypass`), `origin` the way to the server, `tunnel` what follows a CONNECT, `page` what people get in place of
//! a page. The messages themselves are `lockgate_proto::http`.

mod admission;
mod asked;
pub(crate) mod bypass;
mod coding;
mod content;
mod credentials;
mod downstream;
mod exchange;
mod http1;
mod origin;
pub mod page;
mod replace;
mod session;
mod tunnel;
mod upstream;

use crate::listener::Accepted;
use crate::settings::Tls;
use crate::shared::Shared;
use http1::Http1;
use session::Session;
use std::io;
use std::sync::Arc;
use tokio::time::timeout;

/// Serves one connection.
pub async fn serve(mut accepted: Accepted, shared: Arc<Shared>) {
    if accepted.gate.settings.tls == Tls::Implicit && accept_tls(&mut accepted).await.is_err() {
        return;
    }
    let Accepted { stream, visitor } = accepted;
    let session = Box::new(Session::new(visitor, shared));
    let mut client = Box::new(Http1::new(stream));
    let over = client.run(&session).await;
    let patience = session.client.gate.settings.timeouts.data_block;
    drop(session.take_kept());
    client.end(patience, over).await;
}

/// TLS towards the client, within its time.
async fn accept_tls(accepted: &mut Accepted) -> io::Result<()> {
    let Some(config) = accepted.gate.tls.clone() else { return Err(io::ErrorKind::Unsupported.into()) };
    let patience = accepted.gate.settings.timeouts.handshake;
    timeout(patience, accepted.stream.start_tls_accept(config)).await?
}

#[cfg(test)]
mod tests;
