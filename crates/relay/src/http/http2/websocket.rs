//! WebSocket in one stream (RFC 8441): [`serve`]. Rule: what is asked for is said in the words of HTTP/1.1 and served as a
//! connection of its own, so that whatever holds for a WebSocket holds here.

use super::client::Http2;
use super::heads;
use super::tunnel::{Answer, Opens, carry};
use crate::http::page::Page;
use crate::http::serve_at_site;
use crate::http::session::{Over, Session, client_gone};
use crate::parent::base64;
use crate::stream::Stream;
use h2::ext::Protocol;
use http::Method;
use http::request::Parts;
use lockgate_proto::http::{Follows, Form, Framing, write_request};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

const WEBSOCKET: &str = "websocket";
/// What a server proves by that it speaks WebSocket (RFC 6455 section 1.3).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether a stream may change to it: within intercepted TLS, where policy lets clients change to it.
pub fn is_offered(session: &Session) -> bool {
    let upgrades = &session.client.gate.settings.upgrades;
    session.site().is_some() && upgrades.iter().any(|known| known.eq_ignore_ascii_case(WEBSOCKET))
}

/// Whether that is what is asked for.
pub fn is_asked_for(head: &Parts) -> bool {
    let protocol = head.extensions.get::<Protocol>();
    head.method == Method::CONNECT && protocol.is_some_and(|protocol| protocol.as_str() == WEBSOCKET)
}

/// Serves it, to its end.
pub async fn serve(session: &Session, client: &mut Http2, mut head: Parts) -> Result<(), Over> {
    head.method = Method::GET;
    let mut head = match heads::request(&head, Follows::Nothing) {
        Ok((head, _)) => head,
        Err(refusal) => {
            return client.refuse(session, &Page::bad_request(refusal.status(), refusal.words()));
        }
    };
    let key = key();
    for (name, value) in
        [("Sec-WebSocket-Key", key.as_str()), ("Upgrade", WEBSOCKET), ("Connection", "Upgrade, close")]
    {
        head.fields.remove(&name.to_ascii_lowercase());
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    let (inner, mut outer) = Stream::pair().map_err(client_gone)?;
    let mut out = Vec::new();
    write_request(&head, Form::Origin, Framing::None, &mut out);
    outer.write(&out).map_err(client_gone)?;
    let accept = accept(&key);
    let served = serve_at_site(inner, session);
    let carried = carry(client, outer, Answer::to(b"GET", Opens::WebSocket { accept }));
    let ((), carried) = tokio::join!(served, carried);
    carried.map_err(client_gone)
}

/// Sixteen bytes that nobody has used before; nothing depends on their being secret.
fn key() -> String {
    let chance = RandomState::new();
    base64(&[chance.hash_one(0).to_ne_bytes(), chance.hash_one(1).to_ne_bytes()].concat())
}

/// What a server says to that key (RFC 6455 section 4.2.2).
fn accept(key: &str) -> String {
    base64(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_proves_it_as_in_the_standard() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(key().len(), 24);
        assert_ne!(key(), key());
    }
}
