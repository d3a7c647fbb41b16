//! Gateways and proxies under the same load, in turn: [`Turns`]. Rule: whatever changes the machine's pace meets all of them
//! alike.

use crate::process::exact_processor_ms;
use crate::report::median;
use crate::web_load;
use std::net::SocketAddr;
use std::time::Duration;

/// Connections of clients.
pub const CLIENTS: usize = 80;
const ROUND: Duration = Duration::from_millis(1500);

/// One that is measured.
pub struct Candidate {
    pub name: &'static str,
    pub address: SocketAddr,
    /// The processes whose time it costs.
    pub pids: Vec<u32>,
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

/// The figures of each candidate, round by round, of pages of so many bytes.
pub async fn take(
    candidates: &[Candidate],
    origin: SocketAddr,
    bytes: usize,
    rounds: usize,
) -> std::io::Result<Vec<Vec<Figure>>> {
    let mut all = vec![Vec::new(); candidates.len()];
    for round in 0..=rounds {
        for (candidate, figures) in candidates.iter().zip(&mut all) {
            let figure = one(candidate, origin, bytes).await?;
            // The first round warms up.
            if round > 0 {
                figures.push(figure);
            }
        }
    }
    Ok(all)
}

async fn one(candidate: &Candidate, origin: SocketAddr, bytes: usize) -> std::io::Result<Figure> {
    let processor = || candidate.pids.iter().map(|pid| exact_processor_ms(*pid)).sum::<f64>();
    let url = format!("http://{origin}/{bytes}");
    let before = processor();
    let outcome = web_load::run(candidate.address, &url, bytes, CLIENTS, ROUND).await;
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
