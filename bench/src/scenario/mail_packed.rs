//! Mails whose attachments need much memory to be unpacked, more at once than the process may hold: what each is answered.
//! Rule: every one of them is infected, so none may be accepted.

use crate::crowd::Crowd;
use crate::gateway::Gateway;
use crate::mail::{self, Mail};
use crate::peers::local;
use crate::process::{resident_bytes, resident_peak_bytes, usage_of};
use crate::report::Table;
use crate::scenario::mail_memory::raise_descriptors;
use crate::signatures::Signatures;
use crate::sink::{self, Offers};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../../../crates/content/src/archive/rar/writer.rs"]
#[expect(dead_code, reason = "written for the tests, which use more of it")]
mod rar;

/// Mails in flight at once.
const MAILS: usize = 2_000;
/// What is packed: an executable, and at its end what the signature is for.
const UNPACKED_BYTES: usize = 1_300_000;
const BAD: &[u8] = b"these are the bytes that the bench is looking for";
/// How much decoders may hold, all together.
const POOL_MIB: u64 = 256;
/// Where the clients pause, in percent of the mail.
const PAUSES: [usize; 1] = [90];

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
            "MiB at the peak",
            "bytes written to disk",
        ],
    );
    for (name, packed) in [
        ("xz", packed("xz", &["-9", "-c"], &content)?),
        ("lzma", packed("xz", &["--format=lzma", "-c"], &content)?),
        ("bzip2", packed("bzip2", &["-9", "-c"], &content)?),
        ("RAR 3", rar_3(&content)),
        ("RAR 5", rar_5(&content)),
    ] {
        let mail = mail::with_attachment(name, "program", packed);
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

/// A window of 4 MiB, as packers of that time announced.
fn rar_3(content: &[u8]) -> Vec<u8> {
    let mut writer = rar::Writer3::default();
    writer.file("program", content, rar::Method::Packed, rar::Solidity::Alone);
    writer.finish()
}

/// A window of 2 MiB: all of the content.
fn rar_5(content: &[u8]) -> Vec<u8> {
    let mut writer = rar::Writer5::default();
    let packed = rar::pack_5(content, 0, 4000, &[]);
    writer.entry("program", content, &packed, 3 << 7 | 4 << 10, 0, &[]);
    writer.finish()
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

    let crowd = Crowd::begin(gateway.address, mail, MAILS, &PAUSES);
    crowd.await_pause(0, || ()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let resident = resident_bytes(gateway.pid).saturating_sub(idle);
    crowd.go_on(0);
    let (mut found, mut later, mut accepted, mut other) = (0, 0, 0, 0);
    for reply in crowd.replies().await {
        let reply = reply.unwrap_or_else(|error| error.to_string());
        *match reply.get(..3) {
            Some("550") => &mut found,
            Some("451") => &mut later,
            Some("250") => &mut accepted,
            _ => &mut other,
        } += 1;
    }
    let written = usage_of(&[gateway.pid]).written_bytes - written_before;
    let peak = resident_peak_bytes(gateway.pid).saturating_sub(idle);
    let cells = [found, later, accepted, other, resident >> 20, peak >> 20, written]
        .map(|figure: u64| figure.to_string());
    table.row(mail.name, &cells);
    drop(arrivals);
    Ok(())
}
