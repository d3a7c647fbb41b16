//! What became of TLS that came, as it is written down: [`Tls`]. Rule: why nobody looked into a connection stands beside it.

use super::record::{insert_address, plain};
use super::timestamp;
use lockgate_model::Flow;
use serde_json::{Map, json};
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
        let mut event = Map::new();
        event.insert("timestamp".into(), timestamp::of(now).into());
        event.insert("flow_id".into(), flow.id.into());
        event.insert("event_type".into(), "tls".into());
        insert_address(&mut event, "src", flow.client);
        insert_address(&mut event, "dest", flow.server);
        event.insert("proto".into(), "TCP".into());
        event.insert("app_proto".into(), "tls".into());
        let mut tls = Map::new();
        tls.insert("sni".into(), self.host.into());
        if self.passage == Passage::Intercepted {
            tls.insert("version".into(), self.why.into());
        }
        event.insert("tls".into(), tls.into());
        let reason = if self.passage == Passage::Intercepted { "" } else { self.why };
        event.insert(
            "interception".into(),
            json!({"passage": self.passage.name(), "port": self.port, "listener": flow.listener, "reason": reason}),
        );
        serde_json::Value::Object(event).to_string()
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
