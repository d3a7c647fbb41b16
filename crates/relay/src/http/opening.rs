//! The first bytes of a connection that may be TLS: [`read`]. Rule: what was read is kept as it came, so that whoever goes
//! on with the connection misses nothing.

use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading, Stream};
use lockgate_proto::tls::{ClientHello, HelloReader, Refusal, Step};
use std::future::pending;
use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// What a client began with.
pub struct Opening {
    /// As it came, with whatever came behind it.
    pub bytes: Vec<u8>,
    /// What it is.
    pub said: Said,
}

/// What a client's first bytes are.
pub enum Said {
    /// A TLS hello.
    Hello(Box<ClientHello>),
    /// TLS, but nothing that can be read in one way.
    Unreadable(Refusal),
    /// Something else.
    Other,
    /// Nothing yet: the server speaks first, or nobody does.
    Nothing,
}

/// Reads until it is known what it is. Where the server is connected already and speaks first, it is no TLS.
pub async fn read(
    client: &mut Stream,
    mut server: Option<&mut Stream>,
    patience: Duration,
) -> io::Result<Opening> {
    let mut reader = HelloReader::new();
    let mut bytes = Vec::new();
    let whole = async {
        loop {
            match read_some(client, &mut reader, &mut bytes)? {
                Step::NeedInput => {}
                Step::Hello(hello) => return Ok(Said::Hello(hello)),
                Step::Refused(Refusal::NotTls) => return Ok(Said::Other),
                Step::Refused(refusal) => return Ok(Said::Unreadable(refusal)),
            }
            let from_server = async {
                match &mut server {
                    Some(server) => server.readable().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                ready = client.ready(Reading::Wanted) => ready?,
                ready = from_server => return ready.map(|()| Said::Nothing),
            }
        }
    };
    let said = match timeout(patience, whole).await {
        Ok(said) => said?,
        Err(_) => Said::Nothing,
    };
    Ok(Opening { bytes, said })
}

fn read_some(client: &mut Stream, reader: &mut HelloReader, bytes: &mut Vec<u8>) -> io::Result<Step> {
    with_scratch(|scratch| match client.try_read(scratch)? {
        ReadOutcome::Bytes(count) => {
            bytes.extend_from_slice(&scratch[..count]);
            Ok(reader.push(&scratch[..count]))
        }
        ReadOutcome::WouldBlock => Ok(Step::NeedInput),
        ReadOutcome::End => Err(io::ErrorKind::UnexpectedEof.into()),
    })
}
