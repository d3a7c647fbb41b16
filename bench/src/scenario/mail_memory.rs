//! Memory for each mail in flight: thousands at once, paused at half and near the end. Rule: resident memory of the gateway
//! above its idle state, as the kernel counts it, with the kernel's own socket memory beside it.

use crate::crowd::Crowd;
use crate::gateway::Gateway;
use crate::mail::{self, Mail};
use crate::peers::local;
use crate::process::{resident_bytes, tcp_socket_bytes, usage_of};
use crate::report::Table;
use crate::scenario::mail_speed::SIGNATURES;
use crate::signatures::Signatures;
use crate::sink::{self, Offers};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Mails in flight at once.
const MAILS: usize = 9_500;
const MAIL_BYTES: usize = 500_000;
/// Where the clients pause, in percent of the attachment's bytes on the wire.
const PAUSES: [usize; 2] = [50, 95];

/// Runs it, prints the table and writes the plot.
pub fn run(directory: &Path) -> std::io::Result<()> {
    raise_descriptors(20_000)?;
    // Base64 makes 4 of 3 and adds line ends.
    let attachment = mail::executable(MAIL_BYTES * 57 / 78)?;
    let plain = mail::with_attachment("plain", "program.bin", attachment.clone());
    // Of what deflates to about 37 %, enough to fill the mail.
    let zipped = mail::zip("program.bin", &mail::executable(MAIL_BYTES * 57 / 78 * 100 / 37)?)?;
    let zipped = mail::with_attachment("zip", "program.zip", zipped);
    let mut table = Table::new(
        &format!("{MAILS} mails of about {} KB in flight", MAIL_BYTES / 1000),
        &[
            "mail",
            "pause",
            "KiB each, asked",
            "KiB each, seen",
            "kernel socket KiB each",
            "bytes written to disk",
        ],
    );
    let mut curve = String::from("mail\tsecond\tresident_mib\n");
    for (mail, asked) in [(&plain, "< 32"), (&zipped, "< 96")] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let local_set = tokio::task::LocalSet::new();
        local_set.block_on(&runtime, flight(mail, asked, directory, &mut table, &mut curve))?;
    }
    table.print();
    let path = directory.join("mail_memory.tsv");
    std::fs::write(&path, &curve)?;
    crate::plot::write_lines(&curve, &directory.join("mail_memory.svg"), "resident memory, MiB")?;
    println!("\ncurve: {}", path.display());
    Ok(())
}

async fn flight(
    mail: &Mail,
    asked: &str,
    directory: &Path,
    table: &mut Table,
    curve: &mut String,
) -> std::io::Result<()> {
    let address = local(25098);
    let arrivals = sink::open(address, Offers::Data, 4 << 10).await?;
    let signatures = Signatures::random(SIGNATURES);
    // The hold is bounded for the process, so that its share of each mail is small when there are many.
    let settings = "[gateway]\nconnections_max = 20000\n[limits]\nhold_pool_bytes = \"64 MiB\"";
    let gateway = Gateway::start(&directory.join("lockgate"), &signatures, address, settings, "")?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let idle = resident_bytes(gateway.pid);
    let written_before = usage_of(&[gateway.pid]).written_bytes;
    let socket_idle = tcp_socket_bytes();

    let crowd = Crowd::begin(gateway.address, mail, MAILS, &PAUSES);
    let started = std::time::Instant::now();
    for (at, pause) in PAUSES.into_iter().enumerate() {
        crowd
            .await_pause(at, || {
                let mib = resident_bytes(gateway.pid) >> 20;
                let _ = writeln!(curve, "{}\t{:.1}\t{mib}", mail.name, started.elapsed().as_secs_f64());
            })
            .await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let each = |bytes: u64| format!("{:.1}", bytes as f64 / MAILS as f64 / 1024.0);
        let resident = resident_bytes(gateway.pid).saturating_sub(idle);
        let written = usage_of(&[gateway.pid]).written_bytes - written_before;
        let sockets = tcp_socket_bytes().saturating_sub(socket_idle);
        let cells =
            [format!("{pause} %"), asked.to_owned(), each(resident), each(sockets), written.to_string()];
        table.row(mail.name, &cells);
        crowd.go_on(at);
    }
    let failed = crowd.replies().await.iter().filter(|reply| reply.is_err()).count();
    if failed > 0 {
        eprintln!("{failed} of {MAILS} mails failed");
    }
    drop(arrivals);
    Ok(())
}

/// This process and the gateway need one descriptor for each end.
pub fn raise_descriptors(least: u64) -> std::io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write the structure given and nothing else.
    let done = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_cur.max(least).min(limit.rlim_max);
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
    };
    if done == 0 && limit.rlim_cur >= least {
        return Ok(());
    }
    Err(std::io::Error::other(format!(
        "{least} open files are needed; raise the limit with: ulimit -n {least}"
    )))
}
