//! Small mails beside bombs: the time of 4 KB mails while 50 bzip2 bombs are scanned. Rule: the bombs never pause.

use crate::gateway::Gateway;
use crate::load;
use crate::mail;
use crate::peers::local;
use crate::process::resident_bytes;
use crate::report::Table;
use crate::scenario::mail_speed::SIGNATURES;
use crate::signatures::Signatures;
use crate::sink::{self, Offers};
use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

const BOMBS: usize = 50;
/// What one bomb unpacks to.
const BOMB_BYTES: usize = 64 << 20;
const SMALL_MAILS: usize = 400;

/// Runs it and prints the table.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let bomb = mail::with_attachment("bomb", "bomb.bz2", bzip2_bomb()?);
    let signatures = Signatures::random(SIGNATURES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let address = local(25097);
        let arrivals = sink::open(address, Offers::Chunking, 16 << 10).await?;
        let rest = "[policy]\nincomplete = { expansion = \"reject\" }\n";
        let gateway = Gateway::start(&directory.join("lockgate"), &signatures, address, "", rest)?;
        let (stop, refused) = (Rc::new(Cell::new(false)), Rc::new(RefCell::new(Vec::new())));
        let bombers: Vec<_> = (0..BOMBS)
            .map(|at| {
                let (stop, refused, body) = (Rc::clone(&stop), Rc::clone(&refused), bomb.wire.clone());
                let target = gateway.address;
                tokio::task::spawn_local(async move {
                    while !stop.get() {
                        let outcome = load::send(target, 1_000_000 + at, &body).await;
                        refused
                            .borrow_mut()
                            .push(outcome.map_or_else(|e| e.to_string(), |()| "250".to_owned()));
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let small = mail::small();
        let mut times = Vec::new();
        let mut resident_most = 0;
        for sequence in 0..SMALL_MAILS {
            let begun = Instant::now();
            load::send(gateway.address, sequence, &small.wire).await?;
            arrivals.wait_for(sequence).await;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            resident_most = resident_most.max(resident_bytes(gateway.pid));
        }
        stop.set(true);
        for bomber in bombers {
            let _ = bomber.await;
        }
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| format!("{:.1}", times[(times.len() * percent / 100).min(times.len() - 1)]);
        let mut table = Table::new(
            &format!("4 KB mails beside {BOMBS} bzip2 bombs of {} MiB each", BOMB_BYTES >> 20),
            &["figure", "asked", "seen"],
        );
        table.row("p50 ms", &["".into(), at(50)]);
        table.row("p99 ms", &["< 100".into(), at(99)]);
        let refused = refused.borrow();
        let incomplete = refused.iter().filter(|reply| reply.contains("could not be inspected")).count();
        table.row("bombs ended as incomplete", &["all".into(), format!("{incomplete} of {}", refused.len())]);
        table.row("most resident MiB", &["".into(), format!("{}", resident_most >> 20)]);
        table.print();
        Ok(())
    })
}

/// Text that repeats itself: small when packed, and as dear to unpack as any.
fn bzip2_bomb() -> std::io::Result<Vec<u8>> {
    let mut child = Command::new("bzip2").arg("-9").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let Some(mut input) = child.stdin.take() else {
        return Err(std::io::Error::other("bzip2 takes no input"));
    };
    let writer = std::thread::spawn(move || {
        let page = b"the same line again and again, as a bomb has it\n".repeat(1024);
        (0..BOMB_BYTES / page.len()).try_for_each(|_| input.write_all(&page))
    });
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| std::io::Error::other("the writer died"))??;
    Ok(output.stdout)
}
