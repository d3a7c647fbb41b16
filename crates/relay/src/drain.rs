//! How the gateway stops: [`Phase`] and who waits for it. Rule: a mail that was begun is finished, within the time given.

use tokio::sync::watch;

/// Where the process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are accepted.
    Serving,
    /// None are accepted any more; sessions at rest are told to come again, a mail that was begun is finished.
    Draining,
    /// Whatever still goes on is dropped.
    Stopped,
}

/// The phase, to be changed and awaited from any thread.
#[derive(Debug)]
pub struct Drain(watch::Sender<Phase>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }
}

impl Drain {
    /// The phase at this moment.
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Goes on to a later phase; there is no way back.
    pub fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|current| {
            let later = phase > *current;
            *current = phase.max(*current);
            later
        });
    }

    /// Waits until the gateway drains (or has stopped). To be selected against by a session at rest.
    pub async fn draining(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Waits until the phase, or a later one.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`, so the error cannot come.
        let _ = self.0.subscribe().wait_for(|current| *current >= phase).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn phases_only_advance() {
        let drain = Arc::new(Drain::default());
        let waits = tokio::spawn({
            let drain = Arc::clone(&drain);
            async move { drain.draining().await }
        });
        drain.advance(Phase::Stopped);
        drain.advance(Phase::Draining);
        assert_eq!(drain.phase(), Phase::Stopped);
        waits.await.unwrap();
    }
}
