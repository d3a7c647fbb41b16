//! TLS that comes, by CONNECT or from a client that knows of no proxy: [`serve`]. Rule: who is asked for is judged before
//! anything goes there, and who is told what by whom is never different from what was judged.

use super::asked::Goal;
use super::opening::{Opening, Said};
use super::page::{Page, Way};
use super::session::{Over, Session, client_gone};
use super::site::Site;
use super::{ALPN_HTTP1, ALPN_HTTP2};
use crate::events::Passage;
use crate::interception::Interception;
use crate::settings::Unseen;
use crate::stream::Stream;
use lockgate_inspect::Inspection;
use lockgate_proto::tls::{ClientHello, Refusal};
use rustls::{AlertDescription, Error};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::timeout;

/// What we speak within TLS.
const SPOKEN: [&[u8]; 2] = [ALPN_HTTP2, ALPN_HTTP1];

/// Where a client wants to go.
pub struct Wish<'a> {
    /// The host: a name, or an address.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// Where lists lead who wants to go there: the server there must prove that it is the host all the same.
    pub goal: Goal<'a>,
    /// What was found of it.
    pub inspection: &'a Inspection,
}

/// What is to become of a connection.
pub enum Course {
    /// It is begun again within TLS.
    Within,
    /// It passes unseen, for this reason.
    Unseen(String),
    /// It ends.
    Ends,
}

/// Begins TLS with the client in place of the server, unless this is not for us.
pub async fn serve(
    session: &Session,
    client: &mut Stream,
    opening: &Opening,
    wish: &Wish<'_>,
    interception: &Arc<Interception>,
) -> Result<Course, Over> {
    let hello = match &opening.said {
        Said::Hello(hello) => hello,
        Said::Unreadable(refusal) => return Ok(unreadable(session, client, wish, *refusal)),
        Said::Other => return Ok(other(session, client, wish, interception, "it is not TLS")),
        Said::Nothing => return Ok(other(session, client, wish, interception, "the client says nothing")),
    };
    let Some(alpn) = common(hello) else {
        return Ok(other(session, client, wish, interception, "it is not HTTP within TLS"));
    };
    let host = hello.server_name.clone().unwrap_or_else(|| wish.host.to_owned());
    let mut site = Site {
        dialled: (wish.goal.host.to_owned(), wish.goal.port),
        port: wish.port,
        host,
        alpn,
        interception: Arc::clone(interception),
        fault: None,
    };
    let mut chosen = site.alpn.clone();
    if !wish.inspection.is_refused() {
        match site.dial(session, &site.goal()).await {
            Ok(mut origin) => {
                chosen = agreed(&site, origin.stream().alpn());
                session.keep_ahead(origin);
            }
            Err(page) => site.fault = Some(page),
        }
    } else if site.host != wish.host {
        // Another name than the one that is banned would lift the ban: each request is answered with why.
        site.fault = Some(Page::blocked(wish.inspection.judgement(), Way::ToServer));
    }
    accept(session, client, opening, &site, chosen).await?;
    session.enter(site);
    Ok(Course::Within)
}

/// What the client speaks and we do. `None` where it speaks other protocols only.
fn common(hello: &ClientHello) -> Option<Vec<Vec<u8>>> {
    let is_spoken = |name: &&Vec<u8>| SPOKEN.contains(&name.as_slice());
    let common: Vec<_> = hello.alpn.iter().filter(is_spoken).cloned().collect();
    (!common.is_empty() || hello.alpn.is_empty()).then_some(common)
}

/// What is agreed with the client, where the server has chosen.
fn agreed(site: &Site, chosen: Option<&[u8]>) -> Vec<Vec<u8>> {
    match chosen {
        Some(chosen) => vec![chosen.to_vec()],
        // A server that knows nothing of it speaks HTTP/1.1, and so does a client that can.
        None if site.alpn.iter().any(|name| name == ALPN_HTTP1) => vec![ALPN_HTTP1.to_vec()],
        None => site.alpn.clone(),
    }
}

/// TLS towards the client, with a certificate for the host.
async fn accept(
    session: &Session,
    client: &mut Stream,
    opening: &Opening,
    site: &Site,
    alpn: Vec<Vec<u8>>,
) -> Result<(), Over> {
    let config = site.interception.towards_client(&site.host, alpn).map_err(|error| {
        session.note_tls(&site.host, site.port, Passage::Refused, &format!("no certificate: {error}"));
        Over::BreakOff
    })?;
    let patience = session.client.gate.settings.timeouts.handshake;
    let accepted = timeout(patience, client.start_tls_accept_behind(config, &opening.bytes)).await;
    match accepted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(()) => {
            session.shared.counts.tls_intercepted.fetch_add(1, Ordering::Relaxed);
            let info = client.tls_info();
            session.note_tls(
                &site.host,
                site.port,
                Passage::Intercepted,
                info.map_or("", |info| info.version),
            );
            Ok(())
        }
        Err(error) => {
            let (passage, why) = of_client(&error);
            if passage == Passage::ClientRefused {
                session.shared.counts.tls_clients_refused.fetch_add(1, Ordering::Relaxed);
            }
            session.note_tls(&site.host, site.port, passage, &why);
            Err(Over::Said)
        }
    }
}

/// What a client's handshake failed by: whether it does not want our certificate.
fn of_client(error: &io::Error) -> (Passage, String) {
    let said = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match said {
        // It goes on to ask again without ECH (RFC 9849 section 6.1.6).
        Some(Error::AlertReceived(AlertDescription::EncryptedClientHelloRequired)) => {
            (Passage::Lost, "the client will come again without ECH".to_owned())
        }
        Some(Error::AlertReceived(
            alert @ (AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::AccessDenied),
        )) => (
            Passage::ClientRefused,
            format!("the client does not accept the gateway's certificate: {alert:?}"),
        ),
        Some(error) => (Passage::Lost, format!("the TLS handshake with the client failed: {error}")),
        None if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => (
            Passage::ClientRefused,
            "the client closed the connection when it saw the gateway's certificate".to_owned(),
        ),
        None => (Passage::Lost, format!("the TLS handshake with the client failed: {error}")),
    }
}

/// What is not HTTP under TLS.
fn other(
    session: &Session,
    client: &mut Stream,
    wish: &Wish<'_>,
    interception: &Interception,
    why: &str,
) -> Course {
    if interception.settings.other_protocols == Unseen::Pass && !wish.inspection.is_refused() {
        return Course::Unseen(format!("tls_interception.other_protocols: {why}"));
    }
    // What is not TLS does not understand it either.
    let _ = client.write(&alert(AlertDescription::NoApplicationProtocol));
    session.note_tls(wish.host, wish.port, Passage::Refused, why);
    Course::Ends
}

/// TLS that cannot be read in one way.
pub fn unreadable(session: &Session, client: &mut Stream, wish: &Wish<'_>, refusal: Refusal) -> Course {
    let _ = client.write(&alert(AlertDescription::DecodeError));
    session.note_tls(wish.host, wish.port, Passage::Refused, refusal.words());
    Course::Ends
}

/// The end of a connection that is not let through, as TLS says it (RFC 8446 section 6.2): before keys are agreed upon
/// there is no way to say more.
pub fn refuse(client: &mut Stream) -> Result<(), Over> {
    client.write(&alert(AlertDescription::AccessDenied)).map_err(client_gone)
}

fn alert(description: AlertDescription) -> [u8; 7] {
    const FATAL: u8 = 2;
    [21, 3, 3, 0, 2, FATAL, description.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_to_a_server_is_what_both_speak() {
        let hello = |names: &[&str]| ClientHello {
            alpn: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            ..ClientHello::default()
        };
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(common(&hello(&[])), Some(vec![]));
        assert_eq!(common(&hello(&["http/1.1"])), Some(names(&["http/1.1"])));
        assert_eq!(
            common(&hello(&["\u{a}", "h2", "acme-tls/1", "http/1.1"])),
            Some(names(&["h2", "http/1.1"]))
        );
        assert_eq!(common(&hello(&["imap"])), None, "it is no HTTP");
    }

    #[test]
    fn a_client_that_does_not_want_our_certificate_is_told_from_one_that_failed() {
        let of = |error: Error| of_client(&io::Error::new(io::ErrorKind::InvalidData, error)).0;
        assert_eq!(of(Error::AlertReceived(AlertDescription::UnknownCA)), Passage::ClientRefused);
        assert_eq!(of(Error::AlertReceived(AlertDescription::ProtocolVersion)), Passage::Lost);
        assert_eq!(of(Error::AlertReceived(AlertDescription::EncryptedClientHelloRequired)), Passage::Lost);
        assert_eq!(of_client(&io::ErrorKind::UnexpectedEof.into()).0, Passage::ClientRefused);
        assert_eq!(of_client(&io::ErrorKind::TimedOut.into()).0, Passage::Lost);
    }
}
