//! Whether rules apply to what clients of the web fetch: [`Proof`]. Rule: three rules of our own stand beside the others, with their variables,
//! and who is measured has told of all three before.

use crate::rules::{Rules, has_alert_of};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Where the server is: an address that is none of [`VARIABLES`]' own network.
pub const ORIGIN: SocketAddr =
    SocketAddr::V4(std::net::SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 28080));
/// What stands for whom in the rules. Clients are at 127.0.0.1, and a proxy that is listened to at [`crate::apart::SNIFFED`].
pub const VARIABLES: [(&str, &str); 3] =
    [("HOME_NET", "[127.0.0.1,10.77.0.3]"), ("EXTERNAL_NET", "!$HOME_NET"), ("HTTP_PORTS", "[80,28080]")];
/// What is fetched to have the rules match.
const PAGE: &str = "lockgate-bench-proof";
/// What the server says of a page that is not there, and nothing else says.
pub const NOT_FOUND: &str = "lockgate-bench-not-found";
const FIRST_SIGNATURE: u32 = 99_000_001;
const SIGNATURES: usize = 3;
/// How long an alert may take to be told.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rules of our own: about what is asked for, about the bytes in which that is, and about what is answered.
pub fn write(rules: &Rules) -> io::Result<()> {
    let rest = [
        format!(
            "http $HOME_NET any -> $EXTERNAL_NET $HTTP_PORTS (flow:established,to_server; http.uri; content:\"/{PAGE}\";"
        ),
        format!(
            "tcp $HOME_NET any -> $EXTERNAL_NET $HTTP_PORTS (flow:established,to_server; content:\"/{PAGE} HTTP/1.1|0d 0a|\";"
        ),
        format!(
            "http $EXTERNAL_NET $HTTP_PORTS -> $HOME_NET any (flow:established,to_client; file.data; content:\"{NOT_FOUND}\";"
        ),
    ];
    let line = |(number, rest)| format!("alert {rest} msg:\"bench: rules apply\"; sid:{number};)\n");
    let text: String = (FIRST_SIGNATURE..).zip(rest).map(line).collect();
    fs::write(rules.directory.join("bench-proof.rules"), text)
}

/// Asks a proxy for the page, again and again until each of the rules is told of in a file of events.
///
/// # Errors
///
/// Where that does not happen: then the rules would cost nothing, and the measurement would say nothing.
pub fn await_alerts(proxy: SocketAddr, origin: SocketAddr, events: &Path) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Who listens tells of an answer with what comes behind it on the same connection to the server.
        fetch(proxy, origin)?;
        let told = (FIRST_SIGNATURE..).take(SIGNATURES).filter(|id| has_alert_of(events, *id));
        let told: Vec<u32> = told.collect();
        if told.len() == SIGNATURES {
            return Ok(());
        }
        if Instant::now() > deadline {
            let words =
                format!("{proxy}: of the {SIGNATURES} rules that must apply, only {told:?} were told");
            return Err(io::Error::other(words));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn fetch(proxy: SocketAddr, origin: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(proxy)?;
    write!(
        stream,
        "GET http://{origin}/{PAGE} HTTP/1.1\r\nHost: {origin}\r\nUser-Agent: Mozilla/5.0\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.set_read_timeout(Some(PATIENCE))?;
    let _ = stream.read_to_end(&mut answer);
    Ok(())
}
