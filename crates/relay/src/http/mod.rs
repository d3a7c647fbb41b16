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
mod connect;
mod content;
mod credentials;
mod downstream;
mod exchange;
mod http1;
mod http2;
mod intercept;
mod opening;
mod origin;
pub mod page;
mod pool;
mod range;
mod replace;
mod session;
mod site;
mod tunnel;
mod upgraded;
mod upstream;

use crate::listener::{Accepted, Visitor};
use crate::settings::Tls;
use crate::shared::Shared;
use crate::stream::Stream;
use http1::{Beginning, Http1};
use session::{Over, Session};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::timeout;

/// What is said by ALPN (RFC 7301) for HTTP/2.
pub const ALPN_HTTP2: &[u8] = b"h2";
/// And for HTTP/1.1.
pub const ALPN_HTTP1: &[u8] = b"http/1.1";

/// Serves one connection.
pub async fn serve(mut accepted: Accepted, shared: Arc<Shared>) {
    if accepted.gate.settings.tls == Tls::Implicit && accept_tls(&mut accepted).await.is_err() {
        return;
    }
    let Accepted { stream, visitor } = accepted;
    if stream.alpn() == Some(ALPN_HTTP2) {
        let session = Rc::new(Session::new(visitor, shared));
        return Box::pin(http2::serve(stream, session)).await;
    }
    serve_http1(stream, visitor, shared).await;
}

/// Serves a connection on which HTTP/1 is spoken.
async fn serve_http1(stream: Stream, visitor: Visitor, shared: Arc<Shared>) {
    let session = Box::new(Session::new(visitor, shared));
    let mut client = Box::new(Http1::new(stream));
    let mut over = match client.begins_with(&session).await {
        Some(Beginning::Tls) => {
            Box::pin(connect::transparent(&session, &mut client.stream)).await.err().unwrap_or(Over::Said)
        }
        Some(Beginning::Http) => client.run(&session).await,
        None => Over::Said,
    };
    if over == Over::Secured {
        let stream = client.stream;
        if stream.alpn() == Some(ALPN_HTTP2) {
            return Box::pin(http2::serve(stream, Rc::from(session))).await;
        }
        *client = Http1::new(stream);
        over = client.run(&session).await;
    }
    let patience = session.client.gate.settings.timeouts.data_block;
    session.drop_kept();
    client.end(patience, over).await;
}

/// Serves a connection within another one, by HTTP/1: to the same site, for the same user.
async fn serve_at_site(stream: Stream, outer: &Session) {
    let session = Box::new(Session::new(outer.client.clone(), Arc::clone(&outer.shared)));
    session.secure();
    if let Some(user) = outer.settled() {
        session.settle(user);
    }
    if let Some(site) = outer.site() {
        session.enter(site.by_http1());
    }
    let mut client = Box::new(Http1::new(stream));
    let over = client.run(&session).await;
    let patience = session.client.gate.settings.timeouts.data_block;
    session.drop_kept();
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
