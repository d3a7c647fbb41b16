//! From a connection to a next hop that knows who it talks to: [`open`]. Rule: greeting, EHLO, STARTTLS, XCLIENT, in this
//! order, each within its time.

use super::next_hop::{Knows, NextHop, Trouble};
use crate::dial::dial;
use crate::listener::Accepted;
use crate::settings::{ClientAddress, Intercept, NextHopTls};
use crate::shared::Shared;
use crate::tls;
use lockgate_proto::smtp::{Attributes, Capabilities, Extension, Reply, xclient::Value};
use std::net::SocketAddr;

/// A command line of ours to a next hop (RFC 5321 section 4.5.3.1.4).
const LINE_BYTES_MAX: usize = 512;

/// What the next hop is told of the client.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its address, as it is known after XCLIENT or PROXY.
    pub address: SocketAddr,
    /// What it calls itself.
    pub helo: String,
    /// Its name, where a trusted one has told it.
    pub name: Option<String>,
    /// `SMTP` or `ESMTP`.
    pub protocol: &'static str,
}

/// Dials the next hop and introduces the client.
pub async fn open(accepted: &Accepted, client: &Client, shared: &Shared) -> Result<NextHop, Trouble> {
    let settings = &accepted.gate.settings;
    // The address survives by itself where the connection comes from it, or a PROXY header has told it.
    let knows = match (settings.intercept, settings.client_address) {
        (Intercept::Tproxy, _) | (_, ClientAddress::ProxyV1 | ClientAddress::ProxyV2) => Knows::Client,
        _ => Knows::Gateway,
    };
    let mut hop = NextHop::new(dial(accepted, shared).await?, knows);
    if settings.next_hop_tls == NextHopTls::Implicit {
        start_tls(&mut hop, accepted).await?;
    }
    expect_completed(hop.reply(settings.timeouts.greeting).await?)?;
    let name = match knows {
        Knows::Client => client.helo.clone(),
        Knows::Gateway => shared.settings.load().hostname.clone(),
    };
    hello(&mut hop, accepted, &name).await?;
    secure(&mut hop, accepted, &name).await?;
    introduce(&mut hop, accepted, client, &name).await?;
    Ok(hop)
}

async fn hello(hop: &mut NextHop, accepted: &Accepted, name: &str) -> Result<(), Trouble> {
    let patience = accepted.gate.settings.timeouts.reply;
    let reply = hop.command(format!("EHLO {name}\r\n").as_bytes(), patience).await?;
    hop.capabilities = Capabilities::parse(&reply);
    if reply.is_completed() {
        return Ok(());
    }
    // RFC 5321 section 3.2: an old server does not know EHLO.
    expect_completed(hop.command(format!("HELO {name}\r\n").as_bytes(), patience).await?)
}

async fn secure(hop: &mut NextHop, accepted: &Accepted, name: &str) -> Result<(), Trouble> {
    let settings = &accepted.gate.settings;
    let is_offered = hop.capabilities.has(Extension::StartTls);
    match settings.next_hop_tls {
        NextHopTls::Off | NextHopTls::Implicit => return Ok(()),
        NextHopTls::Opportunistic if !is_offered => return Ok(()),
        NextHopTls::Required if !is_offered => {
            return Err(Trouble::Unavailable("it does not offer STARTTLS, which is required".into()));
        }
        NextHopTls::Opportunistic | NextHopTls::Required => {}
    }
    let reply = hop.command(b"STARTTLS\r\n", settings.timeouts.reply).await?;
    if !reply.is_completed() {
        let is_required = settings.next_hop_tls == NextHopTls::Required;
        return if is_required { Err(Trouble::Refused(reply)) } else { Ok(()) };
    }
    start_tls(hop, accepted).await?;
    // RFC 3207 section 4.2: what was known before is forgotten.
    hello(hop, accepted, name).await
}

async fn start_tls(hop: &mut NextHop, accepted: &Accepted) -> Result<(), Trouble> {
    let gate = &accepted.gate;
    let Some(config) = gate.next_hop_tls.clone() else {
        return Err(Trouble::Unavailable("TLS towards it is not configured".into()));
    };
    let name = gate.settings.next_hop_tls_name.as_deref().unwrap_or(&hop.up.host);
    let handshake = hop.up.stream.start_tls_connect(config, tls::server_name(name)?);
    match tokio::time::timeout(gate.settings.timeouts.handshake, handshake).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Trouble::Unavailable(format!("TLS failed: {error}"))),
        Err(_) => Err(Trouble::Unavailable("the TLS handshake took too long".into())),
    }
}

/// XCLIENT changes whom the next hop judges; XFORWARD only what it writes into its log.
async fn introduce(
    hop: &mut NextHop,
    accepted: &Accepted,
    client: &Client,
    name: &str,
) -> Result<(), Trouble> {
    let settings = &accepted.gate.settings;
    let has_xclient = !hop.capabilities.xclient().is_empty();
    let has_xforward = !hop.capabilities.xforward().is_empty();
    match settings.client_address {
        ClientAddress::Xclient | ClientAddress::Auto if has_xclient => {
            tell(hop, accepted, "XCLIENT", client).await?;
            hop.knows = Knows::Client;
            // The next hop behaves as if the client had just connected: what it offers may have changed.
            hello(hop, accepted, name).await
        }
        ClientAddress::Xforward | ClientAddress::Auto if has_xforward => {
            tell(hop, accepted, "XFORWARD", client).await
        }
        ClientAddress::Xclient => {
            Err(Trouble::Unavailable("it does not offer XCLIENT, which is configured".into()))
        }
        ClientAddress::Xforward => {
            Err(Trouble::Unavailable("it does not offer XFORWARD, which is configured".into()))
        }
        ClientAddress::Auto | ClientAddress::ProxyV1 | ClientAddress::ProxyV2 | ClientAddress::None => Ok(()),
    }
}

async fn tell(hop: &mut NextHop, accepted: &Accepted, verb: &str, client: &Client) -> Result<(), Trouble> {
    let is_xclient = verb == "XCLIENT";
    let known = client.name.clone().map_or(Value::Unavailable, Value::Known);
    let mut attributes = Attributes::new()
        .with("NAME", known)
        .with_address("ADDR", client.address.ip())
        .with("PORT", Value::Known(client.address.port().to_string()))
        .with("PROTO", Value::Known(client.protocol.into()))
        .with("HELO", Value::Known(client.helo.clone()));
    if is_xclient {
        attributes = attributes
            .with_address("DESTADDR", accepted.server.ip())
            .with("DESTPORT", Value::Known(accepted.server.port().to_string()));
    } else {
        attributes = attributes.with("SOURCE", Value::Known("REMOTE".into()));
    }
    let announced =
        if is_xclient { hop.capabilities.xclient() } else { hop.capabilities.xforward() }.to_vec();
    for line in attributes.command_lines(verb, &announced, LINE_BYTES_MAX) {
        expect_completed(hop.command(&line, accepted.gate.settings.timeouts.reply).await?)?;
    }
    Ok(())
}

fn expect_completed(reply: Reply) -> Result<(), Trouble> {
    if reply.is_completed() { Ok(()) } else { Err(Trouble::Refused(reply)) }
}
