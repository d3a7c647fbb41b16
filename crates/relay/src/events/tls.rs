//! What became of TLS that came, as it is written down: [`Tls`]. Rule: why nobody looked into a connection stands beside it.

use super::record::plain;
use super::timestamp;
use lockgate_eve::Object;
use lockgate_model::Flow;
use std::time::SystemTime;

/// What became of a connection under TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It is looked into.
    Intercepted,
    /// It passes, and nobody looks into it.
    Unseen,
    /// It does not pass.
    Refused,
    /// The client does not want the gateway's certificate: it may know the server's (pinning), or not the authority.
    ClientRefused,
    /// The server's certificate is not to be trusted, or there was no handshake with it.
    ServerRefused,
    /// It broke before anything could be said of it.
    Lost,
}

impl Passage {
    /// The name used in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intercepted => "intercepted",
            Self::Unseen => "unseen",
            Self::Refused => "refused",
            Self::ClientRefused => "client_refused",
            Self::ServerRefused => "server_refused",
            Self::Lost => "lost",
        }
    }
}

/// TLS that came.
#[derive(Clone, Copy, Debug)]
pub struct Tls<'a> {
    /// The host that was asked for.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// What became of it.
    pub passage: Passage,
    /// Why; of what is intercepted, the version of TLS towards the client.
    pub why: &'a str,
}

impl Tls<'_> {
    /// Its EVE line.
    pub fn eve(&self, flow: &Flow, now: SystemTime) -> String {
        const LINE_BYTES: usize = 512;
        let is_intercepted = self.passage == Passage::Intercepted;
        Object::line(LINE_BYTES, |event| {
            event.shown("timestamp", timestamp::of(now));
            event.number("flow_id", flow.id);
            event.text("event_type", "tls");
            event.shown("src_ip", flow.client.ip().to_canonical());
            event.number("src_port", flow.client.port().into());
            event.shown("dest_ip", flow.server.ip().to_canonical());
            event.number("dest_port", flow.server.port().into());
            event.text("proto", "TCP");
            event.text("app_proto", "tls");
            event.object("tls", |tls| {
                tls.text("sni", self.host);
                tls.text_if("version", is_intercepted.then_some(self.why));
            });
            event.object("interception", |interception| {
                interception.text("passage", self.passage.name());
                interception.number("port", self.port.into());
                interception.text("listener", &flow.listener);
                interception.text_if("reason", (!is_intercepted).then_some(self.why));
            });
        })
    }

    /// Its line for people; none where all is as it should be.
    pub fn log(&self, flow: &Flow) -> Option<String> {
        match self.passage {
            Passage::Intercepted | Passage::Unseen | Passage::Lost => None,
            Passage::Refused | Passage::ClientRefused | Passage::ServerRefused => Some(format!(
                "{} tls from {} to {}:{}: {}",
                self.passage.name(),
                flow.client.ip().to_canonical(),
                plain(self.host),
                self.port,
                plain(self.why)
            )),
        }
    }
}
