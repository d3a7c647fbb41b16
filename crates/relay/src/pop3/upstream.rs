//! The way to the POP3 server: dialled, greeted, under TLS if that is wanted. Rule: the client hears nothing before the
//! server has spoken.

use crate::dial::{Upstream, dial};
use crate::listener::Accepted;
use crate::scratch::with_scratch;
use crate::settings::NextHopTls;
use crate::shared::Shared;
use crate::stream::{ReadOutcome, Stream};
use crate::tls;
use lockgate_proto::pop3::{Frame, Receiver, Status, StatusLine};
use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// Connects; the server's greeting comes with it. An error is in words for the client.
pub async fn open(accepted: &Accepted, shared: &Shared) -> Result<(Upstream, StatusLine), String> {
    let settings = &accepted.gate.settings;
    let mut server = dial(accepted, shared).await.map_err(|e| e.to_string())?;
    if settings.next_hop_tls == NextHopTls::Implicit {
        start_tls(&mut server, accepted).await?;
    }
    let greeting = status(&mut server.stream, settings.timeouts.greeting).await?;
    let wants_tls = matches!(settings.next_hop_tls, NextHopTls::Required | NextHopTls::Opportunistic);
    if wants_tls && greeting.status == Status::Ok {
        server.stream.queue(b"STLS\r\n").map_err(broken)?;
        let reply = status(&mut server.stream, settings.timeouts.reply).await?;
        match (reply.status, settings.next_hop_tls) {
            (Status::Ok, _) => start_tls(&mut server, accepted).await?,
            (_, NextHopTls::Required) => {
                return Err("the mail server refuses STLS, which is required".to_owned());
            }
            _ => {}
        }
    }
    Ok((server, greeting))
}

async fn start_tls(server: &mut Upstream, accepted: &Accepted) -> Result<(), String> {
    let gate = &accepted.gate;
    let Some(config) = gate.next_hop_tls.clone() else {
        return Err("TLS towards the mail server is not configured".to_owned());
    };
    let name = gate.settings.next_hop_tls_name.as_deref().unwrap_or(&server.host);
    let name = tls::server_name(name).map_err(broken)?;
    match timeout(gate.settings.timeouts.handshake, server.stream.start_tls_connect(config, name)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(e)) => Err(format!("TLS with the mail server failed: {e}")),
        Err(_) => Err("the TLS handshake with the mail server took too long".to_owned()),
    }
}

/// One status line; what follows it is left for the next reader.
async fn status(stream: &mut Stream, patience: Duration) -> Result<StatusLine, String> {
    let mut receiver = Receiver::new();
    let read = async {
        loop {
            if let Some(line) = read_status(stream, &mut receiver)? {
                return Ok(line);
            }
            stream.flush().await.map_err(broken)?;
            stream.readable().await.map_err(broken)?;
        }
    };
    timeout(patience, read).await.map_err(|_| "the mail server does not answer in time".to_owned())?
}

fn read_status(stream: &mut Stream, receiver: &mut Receiver) -> Result<Option<StatusLine>, String> {
    with_scratch(|scratch| {
        let mut rest: &[u8] = match stream.try_read(scratch).map_err(broken)? {
            ReadOutcome::Bytes(count) => &scratch[..count],
            ReadOutcome::WouldBlock => return Ok(None),
            ReadOutcome::End => return Err("the mail server closed the connection".to_owned()),
        };
        while !rest.is_empty() {
            let step = receiver.step(rest);
            rest = &rest[step.consumed..];
            match step.frame {
                Frame::Status(line) => {
                    stream.unread(rest);
                    return Ok(Some(line));
                }
                Frame::NeedInput => {}
                Frame::Content(_) | Frame::EndOfContent | Frame::Malformed(_) => {
                    return Err("what the mail server says is not POP3".to_owned());
                }
            }
        }
        Ok(None)
    })
}

fn broken(error: io::Error) -> String {
    format!("the connection to the mail server broke: {error}")
}
