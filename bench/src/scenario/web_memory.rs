//! Memory of the web proxy: connections at rest, and downloads without an end. Rule: resident memory of the gateway above
//! its idle state, as the kernel counts it, and how evenly the downloads go.

use crate::gateway::{Gateway, binary};
use crate::mail;
use crate::peers::local;
use crate::process::{resident_bytes, usage_of};
use crate::report::Table;
use crate::scenario::mail_memory::raise_descriptors;
use crate::scenario::mail_speed::SIGNATURES;
use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::sleep;

/// Connections that have had an answer and wait.
const IDLE: usize = 2_000;
/// Downloads at once.
const DOWNLOADS: usize = 500;
const OBSERVED: Duration = Duration::from_secs(60);
/// What each may cost above idle, beside the tail that is held of a download.
const ASKED_KIB: f64 = 64.0;
const TAIL_KIB: f64 = 64.0;

/// Runs it and prints the table.
pub fn run(directory: &Path) -> std::io::Result<()> {
    raise_descriptors(20_000)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, observe(&directory.join("web_memory")))
}

async fn observe(directory: &Path) -> std::io::Result<()> {
    let server = local(25097);
    spawn_local(serve(TcpListener::bind(server).await?));
    std::fs::create_dir_all(directory)?;
    let signatures = directory.join("bench.ndb");
    std::fs::write(&signatures, mail::random_signatures(SIGNATURES))?;
    let tables = format!(
        "connections_per_client_max = 100000\nnext_hop_connections_max = 100000\n\
         [ids]\nrules = []\n[antivirus]\ndatabases = [{signatures:?}]\n"
    );
    let gateway = Gateway::start_web(&binary()?, directory, local(25096), &tables)?;
    sleep(Duration::from_secs(1)).await;
    let bare = resident_bytes(gateway.pid);
    let mut at_rest = Vec::new();
    for _ in 0..IDLE {
        at_rest.push(small(gateway.address, server).await?);
    }
    sleep(Duration::from_secs(2)).await;
    let with_idle = resident_bytes(gateway.pid);
    let written = usage_of(&[gateway.pid]).written_bytes;
    let counts: Vec<Rc<Cell<u64>>> = (0..DOWNLOADS).map(|_| Rc::default()).collect();
    for count in &counts {
        spawn_local(download(gateway.address, server, Rc::clone(count)));
    }
    let mut peak = 0;
    for _ in 0..OBSERVED.as_secs() {
        sleep(Duration::from_secs(1)).await;
        peak = peak.max(resident_bytes(gateway.pid));
    }
    let written = usage_of(&[gateway.pid]).written_bytes - written;
    let at_end = resident_bytes(gateway.pid);
    print([bare, with_idle, peak, at_end], written, &counts);
    drop(at_rest);
    Ok(())
}

fn print([bare, with_idle, peak, at_end]: [u64; 4], written: u64, counts: &[Rc<Cell<u64>>]) {
    let kib_each = |bytes: u64, count: usize| format!("{:.1}", bytes as f64 / count as f64 / 1024.0);
    let bytes: Vec<u64> = counts.iter().map(|count| count.get()).collect();
    let fair = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
    let slowest = bytes.iter().copied().min().unwrap_or(0) as f64;
    let mut table = Table::new(
        &format!("{IDLE} connections at rest and {DOWNLOADS} endless downloads, {} s", OBSERVED.as_secs()),
        &["what", "asked", "seen"],
    );
    let rows = [
        ("KiB for each at rest", format!("< {ASKED_KIB}"), kib_each(with_idle.saturating_sub(bare), IDLE)),
        (
            "KiB for each download, its tail with it, at the end",
            format!("< {}", ASKED_KIB + TAIL_KIB),
            kib_each(at_end.saturating_sub(with_idle), DOWNLOADS),
        ),
        (
            "… at the peak, while all begin at once",
            String::new(),
            kib_each(peak.saturating_sub(with_idle), DOWNLOADS),
        ),
        ("bytes written to disk", "0".to_owned(), written.to_string()),
        (
            "slowest download, of its fair share",
            "> 0.10".to_owned(),
            format!("{:.2}", slowest / fair.max(1.0)),
        ),
        ("MB of each on average", String::new(), format!("{:.1}", fair / 1e6)),
    ];
    for (what, asked, seen) in rows {
        table.row(what, &[asked, seen]);
    }
    table.print();
}

/// Answers `/small` with two bytes and everything else without an end. Here and in [`download`] others have their turn after each
/// piece, so that what is uneven is the gateway's doing.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        spawn_local(async move {
            let _ = answer(stream).await;
        });
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while stream.read_buf(&mut head).await? > 0 {
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        if head.starts_with(b"GET /small ") {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await?;
            head.clear();
            continue;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1125899906842624\r\n\r\n").await?;
        let piece: Vec<u8> = (0..16_384u32).map(|n| (n * 7 % 251) as u8).collect();
        loop {
            stream.write_all(&piece).await?;
            yield_now().await;
        }
    }
    Ok(())
}

/// A connection that has had one answer.
async fn small(gateway: SocketAddr, server: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(gateway).await?;
    let request = format!("GET http://{server}/small HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nok") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(stream)
}

async fn download(gateway: SocketAddr, server: SocketAddr, count: Rc<Cell<u64>>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(gateway).await?;
    let request = format!("GET http://{server}/endless HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut piece = vec![0; 16 << 10];
    loop {
        match stream.read(&mut piece).await? {
            0 => return Ok(()),
            bytes => count.set(count.get() + bytes as u64),
        }
        yield_now().await;
    }
}
