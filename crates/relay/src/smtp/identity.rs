//! Who the client is: STARTTLS, AUTH, XCLIENT, XFORWARD. Rule: nothing that was said before TLS counts after it.

use super::downstream::{Heard, Over};
use super::introduce::Client;
use super::next_hop::{NextHop, Trouble};
use super::replies;
use super::session::Session;
use super::transfer::Destination;
use lockgate_proto::smtp::command::is_auth_line;
use lockgate_proto::smtp::{Attributes, Reply};

impl Session {
    pub(super) async fn start_tls(&mut self) -> Result<(), Over> {
        self.take_mail_back().await;
        // What the next hop was told of a client in clear is not what it will be told now.
        self.leave_next_hop().await;
        self.down.say(&Reply::new(220, "2.0.0", "ready for TLS"))?;
        self.accept_tls().await?;
        self.client.helo.clear();
        self.order.tls_started();
        Ok(())
    }

    pub(super) async fn accept_tls(&mut self) -> Result<(), Over> {
        let Some(config) = self.down.accepted.gate.tls.clone() else { return Err(Over::Gone) };
        // Bytes pipelined behind STARTTLS are those of whoever stands between: the stream forgets its own, and we a line
        // that has begun (RFC 3207 section 6).
        self.down.receiver.discard_pending();
        let handshake = self.down.accepted.stream.start_tls_accept(config);
        let patience = self.down.accepted.visitor.gate.settings.timeouts.handshake;
        match tokio::time::timeout(patience, handshake).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Over::Gone),
        }
    }

    /// Relays the dialogue to the next hop, which alone knows passwords.
    pub(super) async fn auth(&mut self, mechanism: &str, initial: Option<&str>) -> Result<(), Over> {
        if let Err(trouble) = self.reach_destination().await {
            return self.refuse_for(&trouble);
        }
        let is_encrypted = self.down.accepted.stream.is_tls();
        let hop_is_encrypted =
            matches!(&self.destination, Some(Destination::Server(hop)) if hop.is_encrypted());
        if !self.may_authenticate(is_encrypted, hop_is_encrypted) {
            self.order.rejected();
            return self.down.say(&Reply::new(
                454,
                "4.7.0",
                "passwords cannot be passed on safely now; try again later",
            ));
        }
        let patience = self.settings().timeouts.reply;
        let mut line = match initial {
            Some(initial) => format!("AUTH {mechanism} {initial}\r\n").into_bytes(),
            None => format!("AUTH {mechanism}\r\n").into_bytes(),
        };
        self.down.receiver.expect_auth_line();
        let outcome = loop {
            let Some(Destination::Server(hop)) = &mut self.destination else {
                break Err(Trouble::Unavailable("it takes no passwords".into()));
            };
            match hop.command(&line, patience).await {
                Ok(reply) if reply.is_intermediate() => self.down.say(&reply)?,
                other => break other,
            }
            line = self.auth_line().await?;
        };
        self.down.receiver.expect_commands();
        match outcome {
            Ok(reply) => {
                if reply.is_completed() {
                    self.order.accepted()
                } else {
                    self.order.rejected()
                }
                self.down.say(&reply)
            }
            Err(trouble) => {
                self.destination = None;
                self.refuse_for(&trouble)
            }
        }
    }

    /// The client's next line of the dialogue, with its CR LF; whatever is no such line gives up.
    async fn auth_line(&mut self) -> Result<Vec<u8>, Over> {
        let patience = self.settings().timeouts.command;
        match self.down.line(patience, std::future::pending()).await? {
            Heard::Line(mut line, _) if is_auth_line(&line) => {
                line.extend_from_slice(b"\r\n");
                Ok(line)
            }
            _ => Ok(b"*\r\n".to_vec()),
        }
    }

    /// The next hop cannot be used for what the client asked.
    pub(super) fn refuse_for(&mut self, trouble: &Trouble) -> Result<(), Over> {
        self.order.rejected();
        // Whom the next hop knew is not known to the one that would be dialled now.
        let reply = if self.order.is_authenticated() { replies::identity_lost() } else { trouble.to_reply() };
        self.down.say(&reply)?;
        if reply.code() == 421 { Err(Over::Said) } else { Ok(()) }
    }

    /// A trusted peer says who the client is (it was offered to no other).
    pub(super) async fn xclient(&mut self, attributes: &Attributes) -> Result<(), Over> {
        self.leave_next_hop().await;
        merge(&mut self.client, attributes);
        self.client.helo.clear();
        self.down.accepted.client = self.client.address;
        self.renew_inspection();
        self.order.accepted();
        self.greet()
    }

    /// A trusted mail server says for whom it forwards: for logs, and because it has judged relaying itself.
    pub(super) fn xforward(&mut self, attributes: &Attributes) -> Result<(), Over> {
        let mut client = self.forwarded.take().unwrap_or_else(|| self.client.clone());
        merge(&mut client, attributes);
        if let Some(helo) = attributes.value("HELO").and_then(|value| value.known()) {
            client.helo = helo.to_owned();
        }
        self.forwarded = Some(client);
        self.renew_inspection();
        self.down.say(&Reply::new(250, "2.0.0", "OK"))
    }
}

fn merge(client: &mut Client, attributes: &Attributes) {
    if let Some(address) = attributes.address("ADDR") {
        client.address.set_ip(address);
    }
    if let Some(port) = attributes.port("PORT") {
        client.address.set_port(port);
    }
    if let Some(name) = attributes.value("NAME") {
        client.name = name.known().map(str::to_owned);
    }
}

impl NextHop {
    /// Whether TLS is on.
    pub fn is_encrypted(&self) -> bool {
        self.up.stream.is_tls()
    }
}
