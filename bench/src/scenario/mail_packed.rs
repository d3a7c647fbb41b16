//! Mails whose attachments need much memory to be unpacked, more at once than the process may hold: what each is answered.
//! Rule: every one of them is infected, so none may be accepted.

use crate::gateway::Gateway;
use crate::load::expect;
use crate::mail::{self, Mail};
use crate::peers::local;
use crate::process::{resident_bytes, usage_of};
use crate::report::Table;
use crate::scenario::mail_memory::raise_descriptors;
use crate::signatures::Signatures;
use crate::sink::{self, Offers};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

/// Mails in flight at once.
const MAILS: usize = 2_000;
/// What is packed: an executable, and at its end what the signature is for.
const UNPACKED_BYTES: usize = 1_300_000;
const BAD: &[u8] = b"these are the bytes that the bench is looking for";
/// How much decoders may hold, all together.
const POOL_MIB: u64 = 256;
/// Where the clients pause, in percent of the mail.
const PAUSE: usize = 90;

/// Runs it and prints the table.
pub fn run(directory: &Path) -> std::io::Result<()> {
    raise_descriptors(2 * MAILS as u64 + 1_000)?;
    let mut content = mail::executable(UNPACKED_BYTES)?;
    content.extend_from_slice(BAD);
    let mut table = Table::new(
        &format!(
            "{MAILS} infected mails with packed attachments in flight, decoders may hold {POOL_MIB} MiB"
        ),
        &[
            "packed by",
            "550: found",
            "451: come again",
            "accepted (asked 0)",
            "else",
            "MiB above rest",
            "bytes written to disk",
        ],
    );
    for (name, program, arguments) in [
        ("xz", "xz", ["-9", "-c"]),
        ("lzma", "xz", ["--format=lzma", "-c"]),
        ("bzip2", "bzip2", ["-9", "-c"]),
    ] {
        let mail = mail::with_attachment(name, "program", packed(program, &arguments, &content)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let local_set = tokio::task::LocalSet::new();
        local_set.block_on(&runtime, flight(&mail, directory, &mut table))?;
    }
    table.print();
    Ok(())
}

fn packed(program: &str, arguments: &[&str], content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let Some(mut input) = child.stdin.take() else {
        return Err(std::io::Error::other(format!("{program} takes no input")));
    };
    let content = content.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&content));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| std::io::Error::other("the writer panicked"))??;
    Ok(output.stdout)
}

async fn flight(mail: &Mail, directory: &Path, table: &mut Table) -> std::io::Result<()> {
    let address = local(25098);
    let arrivals = sink::open(address, Offers::Data, 4 << 10).await?;
    let mut signature = String::from("Bench.Bad:0:*:");
    for byte in BAD {
        let _ = write!(signature, "{byte:02x}");
    }
    let settings = format!(
        "[gateway]\nconnections_max = 20000\n[limits]\nhold_pool_bytes = \"64 MiB\"\ncontent_pool_bytes = \"{POOL_MIB} MiB\""
    );
    let gateway = Gateway::start(
        &directory.join("lockgate"),
        &Signatures::of("one signature", signature + "\n"),
        address,
        &settings,
        "",
    )?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let idle = resident_bytes(gateway.pid);
    let written_before = usage_of(&[gateway.pid]).written_bytes;

    let (go, phase) = watch::channel(false);
    let arrived = Rc::new(Semaphore::new(0));
    let dialling = Rc::new(Semaphore::new(64));
    let body: Rc<[u8]> = mail.wire.clone().into();
    let clients: Vec<_> = (0..MAILS)
        .map(|_| {
            let (body, phase) = (Rc::clone(&body), phase.clone());
            let (arrived, dialling) = (Rc::clone(&arrived), Rc::clone(&dialling));
            tokio::task::spawn_local(client(gateway.address, body, phase, arrived, dialling))
        })
        .collect();
    let mut waited = 0;
    while arrived.available_permits() < MAILS && waited < 600 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        waited += 1;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let resident = resident_bytes(gateway.pid).saturating_sub(idle);
    let _ = go.send(true);
    let (mut found, mut later, mut accepted, mut other) = (0, 0, 0, 0);
    for client in clients {
        let reply = client.await.map_err(std::io::Error::other)?.unwrap_or_else(|error| error.to_string());
        *match reply.get(..3) {
            Some("550") => &mut found,
            Some("451") => &mut later,
            Some("250") => &mut accepted,
            _ => &mut other,
        } += 1;
    }
    let written = usage_of(&[gateway.pid]).written_bytes - written_before;
    let cells =
        [found, later, accepted, other, resident >> 20, written].map(|figure: u64| figure.to_string());
    table.row(mail.name, &cells);
    drop(arrivals);
    Ok(())
}

/// One mail that pauses until it is told to go on; the reply to its end.
async fn client(
    target: SocketAddr,
    body: Rc<[u8]>,
    mut phase: watch::Receiver<bool>,
    arrived: Rc<Semaphore>,
    dialling: Rc<Semaphore>,
) -> std::io::Result<String> {
    let turn = dialling.acquire().await.map_err(std::io::Error::other)?;
    let mut stream = BufReader::with_capacity(512, TcpStream::connect(target).await?);
    expect(&mut stream, '2').await?;
    for (command, class) in [
        ("EHLO client.test", '2'),
        ("MAIL FROM:<a@sender.test>", '2'),
        ("RCPT TO:<b@receiver.test>", '2'),
        ("DATA", '3'),
    ] {
        stream.get_mut().write_all(format!("{command}\r\n").as_bytes()).await?;
        expect(&mut stream, class).await?;
    }
    drop(turn);
    let until = body.len() * PAUSE / 100;
    stream.get_mut().write_all(&body[..until]).await?;
    arrived.add_permits(1);
    phase.wait_for(|goes_on| *goes_on).await.map_err(std::io::Error::other)?;
    stream.get_mut().write_all(&body[until..]).await?;
    stream.get_mut().write_all(b".\r\n").await?;
    expect(&mut stream, '2').await
}
