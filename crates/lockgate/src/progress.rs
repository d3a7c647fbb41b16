//! A progress bar for long work. Rule: only on a terminal, and only once the work has turned out to be long.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the bar is drawn.
const INTERVAL: Duration = Duration::from_millis(100);
const WIDTH: u64 = 30;

/// The bar.
pub struct Progress {
    total_bytes: u64,
    done_bytes: u64,
    begun: Instant,
    drawn: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    /// Whether there is anybody to see a bar.
    pub fn is_watched() -> bool {
        stderr().is_terminal()
    }

    /// For so many bytes; 0 where nobody knows how many.
    pub fn new(total_bytes: u64) -> Self {
        Self {
            total_bytes,
            done_bytes: 0,
            begun: Instant::now(),
            drawn: None,
            is_terminal: Self::is_watched(),
        }
    }

    /// So many more are done.
    pub fn advance(&mut self, bytes: u64, what: &str) {
        self.done_bytes += bytes;
        // Mostly nobody watches, and the clock need not be asked.
        if !self.is_terminal {
            return;
        }
        let now = Instant::now();
        let is_due = self.drawn.map_or(now - self.begun >= PATIENCE, |drawn| now - drawn >= INTERVAL);
        if is_due {
            self.drawn = Some(now);
            let _ = write!(
                stderr(),
                "\r\x1b[K{}",
                bar(self.done_bytes, self.total_bytes, now - self.begun, what)
            );
        }
    }

    /// Takes the bar away, so that a line can be printed.
    pub fn clear(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
            // It comes back at the next advance.
            self.drawn = Some(self.begun);
        }
    }
}

fn bar(done: u64, total: u64, time: Duration, what: &str) -> String {
    let rate = done as f64 / time.as_secs_f64().max(0.001) / 1e6;
    let name: String = what.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
    if total == 0 {
        return format!("{:.1} MB, {rate:.0} MB/s  {name}", done as f64 / 1e6);
    }
    let done = done.min(total);
    let filled = (u128::from(done) * u128::from(WIDTH) / u128::from(total)) as usize;
    let percent = u128::from(done) * 100 / u128::from(total);
    format!("[{:<width$}] {percent:3} %  {rate:.0} MB/s  {name}", "#".repeat(filled), width = WIDTH as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills() {
        let second = Duration::from_secs(1);
        assert_eq!(bar(0, 10_000_000, second, "a"), format!("[{}]   0 %  0 MB/s  a", " ".repeat(30)));
        assert_eq!(
            bar(5_000_000, 10_000_000, second, "a"),
            format!("[{}{}]  50 %  5 MB/s  a", "#".repeat(15), " ".repeat(15))
        );
        assert_eq!(bar(20, 10, second, "a"), format!("[{}] 100 %  0 MB/s  a", "#".repeat(30)));
        assert_eq!(bar(5_000_000, 0, second, "a"), "5.0 MB, 5 MB/s  a");
    }
}
