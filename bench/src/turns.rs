//! Gateways and proxies under the same load, in turn: [`Turns`]. Rule: whatever changes the machine's pace meets all of them
//! alike.

use crate::process::exact_processor_ms;
use crate::report::{Table, median};
use crate::web_load;
use std::net::SocketAddr;
use std::time::Duration;

/// Connections of clients.
pub const CLIENTS: usize = 80;
const ROUND: Duration = Duration::from_millis(1500);
/// The variable that names another number of rounds, for a quick look.
const ROUNDS: &str = "BENCH_ROUNDS";

/// How many rounds there are, where so many are usual.
pub fn rounds(usual: usize) -> usize {
    let named = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok());
    named.unwrap_or(usual).max(1)
}

/// One that is measured.
pub struct Candidate {
    pub name: &'static str,
    pub address: SocketAddr,
    /// The processes whose time it costs.
    pub pids: Vec<u32>,
}

/// What is asked of them.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub origin: SocketAddr,
    /// How long a page is.
    pub bytes: usize,
    /// How many a second; without a number, as many as come.
    pub pages_per_second: Option<f64>,
}

impl Load {
    /// As many pages as come.
    pub fn freely(origin: SocketAddr, bytes: usize) -> Self {
        Self { origin, bytes, pages_per_second: None }
    }
}

/// What one candidate needed for one kind of page.
#[derive(Clone, Debug)]
pub struct Figure {
    pub rate: f64,
    pub latency_ms: f64,
    pub processor_ms: f64,
    pub pages_per_connection: f64,
}

/// What [`Figure::cells`] are.
pub const HEADS: [&str; 4] = ["pages/s", "p50 ms", "processor ms/page", "pages/connection"];

impl Figure {
    pub fn cells(&self) -> [String; 4] {
        [
            format!("{:.0}", self.rate),
            format!("{:.1}", self.latency_ms),
            format!("{:.3}", self.processor_ms),
            format!("{:.0}", self.pages_per_connection),
        ]
    }

    /// Each figure's own median.
    pub fn median(figures: &[Self]) -> Self {
        let middle = |part: fn(&Self) -> f64| median(figures.iter().map(part));
        Self {
            rate: middle(|figure| figure.rate),
            latency_ms: middle(|figure| figure.latency_ms),
            processor_ms: middle(|figure| figure.processor_ms),
            pages_per_connection: middle(|figure| figure.pages_per_connection),
        }
    }
}

/// What one candidate reaches of another, in the middle of the rounds: the two of a round followed one another, on a machine that was
/// as fast for both.
pub fn ratio(one: &[Figure], other: &[Figure], part: fn(&Figure) -> f64) -> f64 {
    median(one.iter().zip(other).map(|(one, other)| part(one) / part(other)))
}

/// The figures of each candidate, round by round.
pub async fn take(candidates: &[Candidate], load: Load, rounds: usize) -> std::io::Result<Vec<Vec<Figure>>> {
    let mut all = vec![Vec::new(); candidates.len()];
    for round in 0..=rounds {
        for (candidate, figures) in candidates.iter().zip(&mut all) {
            let figure = one(candidate, load).await?;
            // The first round warms up.
            if round > 0 {
                figures.push(figure);
            }
        }
    }
    Ok(all)
}

/// Prints them in pairs: what the first of two reaches of the second, by rounds that followed one another.
pub fn print_pairs(
    title: &str,
    [what, ratio]: [&str; 2],
    candidates: &[Candidate],
    rounds: &[Vec<Figure>],
) -> Vec<f64> {
    let heads = [&[what], &HEADS[..], &[ratio, "lowest", "highest"]].concat();
    let mut table = Table::new(title, &heads);
    let mut middle = Vec::new();
    for (candidates, rounds) in candidates.chunks(2).zip(rounds.chunks(2)) {
        let mut ratios: Vec<f64> =
            rounds[0].iter().zip(&rounds[1]).map(|(one, other)| one.rate / other.rate).collect();
        ratios.sort_by(f64::total_cmp);
        let shown = |ratio: Option<&f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        let median = median(ratios.iter().copied());
        let of_first = [format!("{median:.3}"), shown(ratios.first()), shown(ratios.last())];
        middle.push(median);
        for ((candidate, figures), ratios) in
            candidates.iter().zip(rounds).zip([of_first, Default::default()])
        {
            table.row(candidate.name, &[&Figure::median(figures).cells()[..], &ratios].concat());
        }
    }
    table.print();
    middle
}

async fn one(candidate: &Candidate, load: Load) -> std::io::Result<Figure> {
    let Load { origin, bytes, pages_per_second } = load;
    let processor = || candidate.pids.iter().map(|pid| exact_processor_ms(*pid)).sum::<f64>();
    let url = format!("http://{origin}/{bytes}");
    let before = processor();
    let outcome = web_load::run(candidate.address, &url, bytes, CLIENTS, (ROUND, pages_per_second)).await;
    let pages = outcome.latencies.len();
    if let Some(error) = outcome.errors.first() {
        let what = format!("{} of {pages} pages failed at {}: {error}", outcome.errors.len(), candidate.name);
        if pages == 0 {
            return Err(std::io::Error::other(what));
        }
        eprintln!("{what}");
    }
    Ok(Figure {
        rate: outcome.rate(),
        latency_ms: outcome.latency_ms(),
        processor_ms: (processor() - before) / pages as f64,
        pages_per_connection: pages as f64 / outcome.connections.max(1) as f64,
    })
}
