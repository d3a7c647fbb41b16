//! Mails per second, latency and processor time: the gateway, a bare relay, and today's stacks, between the same clients
//! and sink. Rule: one run, one machine, the same mails; a mail counts when it is in the sink.

use crate::gateway::Gateway;
use crate::load::{self, Outcome};
use crate::mail::{self, Mail};
use crate::peers::{self, Filter, Stack, local};
use crate::process::{exact_processor_ms, usage_of};
use crate::report::{Table, median};
use crate::scenario::components;
use crate::signatures::Signatures;
use crate::sink::{self, Arrivals, Offers};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

/// Signatures loaded by all.
pub const SIGNATURES: usize = 42_108;
const CLIENTS: usize = 16;
const ATTACHMENT_BYTES: usize = 1 << 20;
/// How often each candidate is measured; the median counts.
const ROUNDS: usize = 3;
/// The same for the relay and the gateway, turn by turn.
const PAIRED_ROUNDS: usize = 7;

/// What one candidate needed for one kind of mail.
#[derive(Clone, Debug)]
struct Figure {
    rate: f64,
    latency_ms: f64,
    processor_ms: f64,
}

/// Runs it and prints the tables.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let executable = mail::executable(ATTACHMENT_BYTES)?;
    let zipped = mail::zip("program.bin", &executable)?;
    let mails = [
        mail::with_attachment("executable", "program.bin", executable),
        mail::with_attachment("zipped", "program.zip", zipped),
    ];
    let signatures = Signatures::named_or_random(SIGNATURES)?;
    let sink = local(25099);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local_set = tokio::task::LocalSet::new();
    local_set.block_on(&runtime, async {
        let arrivals = sink::open(sink, Offers::Data, 256 << 10).await?;
        let mut bench = Bench { arrivals, next: 0 };
        for mail in &mails {
            bench.compare(mail, directory, &signatures, sink).await?;
        }
        Ok(())
    })
}

struct Bench {
    arrivals: Rc<Arrivals>,
    next: usize,
}

impl Bench {
    async fn compare(
        &mut self,
        mail: &Mail,
        directory: &Path,
        signatures: &Signatures,
        sink: SocketAddr,
    ) -> std::io::Result<()> {
        let mut table = Table::new(
            &format!("{} mail, {}, {CLIENTS} clients", mail.name, signatures.name),
            &["candidate", "mails/s", "p50 ms", "processor ms/mail"],
        );
        let direct = self.measure(mail, sink, 1500, || 0.0).await?;
        table.row("sink, direct", &direct.cells());
        let [relay, ours] = self.relay_and_gateway(mail, directory, signatures, sink).await?;
        table.row("bare relay", &relay.cells());
        table.row("lockgate", &ours.cells());
        let mut stacks = Vec::new();
        for (filter, name, count) in [
            (Filter::Amavis, "Postfix + amavisd + clamd", 100),
            (Filter::Rspamd, "Postfix + rspamd + clamd", 200),
        ] {
            let stack = Stack::start(filter, &directory.join(name.replace(' ', "")), signatures, sink)?;
            let figure =
                self.measure(mail, stack.address, count, || usage_of(&stack.pids).processor_ms).await?;
            table.row(name, &figure.cells());
            stacks.push(figure);
        }
        table.print();
        self.ratios(mail, &ours, &relay, &stacks, signatures)
    }

    /// The ratios that the design asks for, each beside what was seen.
    fn ratios(
        &self,
        mail: &Mail,
        ours: &Figure,
        relay: &Figure,
        stacks: &[Figure],
        signatures: &Signatures,
    ) -> std::io::Result<()> {
        let mut table = Table::new(&format!("{} mail: ratios", mail.name), &["ratio", "asked", "seen"]);
        let row = |table: &mut Table, what: &str, asked: &str, seen: f64| {
            table.row(what, &[asked.to_owned(), format!("{seen:.2}")])
        };
        row(&mut table, "mails/s over Postfix + amavisd + clamd", ">= 20", ours.rate / stacks[0].rate);
        row(&mut table, "mails/s over Postfix + rspamd + clamd", ">= 8", ours.rate / stacks[1].rate);
        row(&mut table, "latency over the first's", "<= 0.10", ours.latency_ms / stacks[0].latency_ms);
        if mail.name == "executable" {
            row(&mut table, "mails/s over the bare relay", ">= 0.5", ours.rate / relay.rate);
            row(
                &mut table,
                "processor time over the bare relay",
                "<= 2.5",
                ours.processor_ms / relay.processor_ms,
            );
            row(
                &mut table,
                "processor time over the first stack",
                "<= 0.033",
                ours.processor_ms / stacks[0].processor_ms,
            );
        } else {
            let parts = components::measure(mail, signatures)?;
            let sum = relay.processor_ms + parts.sum_ms();
            row(
                &mut table,
                "processor time over the first stack",
                "<= 0.05",
                ours.processor_ms / stacks[0].processor_ms,
            );
            row(
                &mut table,
                "processor time over relay + base64 + inflate + matching",
                "<= 1.3",
                ours.processor_ms / sum,
            );
        }
        table.print();
        Ok(())
    }

    /// The bare relay and the gateway, round by round, so that what else the machine does meets both alike.
    async fn relay_and_gateway(
        &mut self,
        mail: &Mail,
        directory: &Path,
        signatures: &Signatures,
        sink: SocketAddr,
    ) -> std::io::Result<[Figure; 2]> {
        let mut relay = Command::new(std::env::current_exe()?);
        relay.args(["relay", "127.0.0.1:25026", &sink.to_string()]).stdin(Stdio::null());
        let mut relay = relay.spawn()?;
        let gateway = Gateway::start(&directory.join("lockgate"), signatures, sink, "", "")?;
        peers::await_port(local(25026), Duration::from_secs(10))?;
        let processes = [(local(25026), relay.id()), (gateway.address, gateway.pid)];
        let mut figures = [Vec::new(), Vec::new()];
        for round in 0..=PAIRED_ROUNDS {
            for ((target, pid), figures) in processes.into_iter().zip(&mut figures) {
                let figure = self.round(mail, target, 500, &|| exact_processor_ms(pid)).await?;
                // The first round warms up.
                if round > 0 {
                    figures.push(figure);
                }
            }
        }
        peers::stop(&mut relay);
        Ok(figures.map(medians))
    }

    /// The median round of one candidate; `processor` reads its processor time so far, in milliseconds.
    async fn measure(
        &mut self,
        mail: &Mail,
        target: SocketAddr,
        count: usize,
        processor: impl Fn() -> f64,
    ) -> std::io::Result<Figure> {
        self.round(mail, target, 32, &processor).await?;
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            figures.push(self.round(mail, target, count, &processor).await?);
        }
        Ok(medians(figures))
    }

    /// So many mails.
    async fn round(
        &mut self,
        mail: &Mail,
        target: SocketAddr,
        count: usize,
        processor: &impl Fn() -> f64,
    ) -> std::io::Result<Figure> {
        let before = processor();
        let outcome = self.load(mail, target, count).await;
        if outcome.mails == 0
            && let Some(error) = outcome.errors.first()
        {
            return Err(std::io::Error::other(format!("{target} does not take mail: {error}")));
        }
        if let Some(error) = outcome.errors.first() {
            eprintln!("{} of {count} mails failed at {target}: {error}", outcome.errors.len());
        }
        let processor_ms = (processor() - before) / outcome.mails.max(1) as f64;
        Ok(Figure { rate: outcome.rate(), latency_ms: outcome.latency_ms(50), processor_ms })
    }

    async fn load(&mut self, mail: &Mail, target: SocketAddr, count: usize) -> Outcome {
        let first = self.next;
        self.next += count;
        load::run(target, mail, first, count, CLIENTS, &self.arrivals).await
    }
}

/// Each figure's own median.
fn medians(figures: Vec<Figure>) -> Figure {
    let middle = |part: fn(&Figure) -> f64| median(figures.iter().map(part));
    Figure {
        rate: middle(|figure| figure.rate),
        latency_ms: middle(|figure| figure.latency_ms),
        processor_ms: middle(|figure| figure.processor_ms),
    }
}

impl Figure {
    fn cells(&self) -> [String; 3] {
        [format!("{:.1}", self.rate), format!("{:.1}", self.latency_ms), format!("{:.3}", self.processor_ms)]
    }
}
