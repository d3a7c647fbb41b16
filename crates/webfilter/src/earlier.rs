//! What was said of requests whose answers are still to come: [`Earlier`]. Rule: what comes back is judged as its request was,
//! and a request whose answer never comes costs little and not for long.

use crate::address::Address;
use crate::decision::Decision;
use lockgate_model::TransactionId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How many requests of a connection are remembered, the latest ones.
const REQUESTS_MAX: usize = 8;
/// The longest path that is remembered: a longer one is looked up again.
const URI_BYTES_MAX: usize = 1024;

/// Shared by a connection and its transactions.
#[derive(Clone, Default)]
pub(crate) struct Earlier(Arc<Mutex<VecDeque<Said>>>);

/// What was said of a request, and of which.
pub(crate) struct Said {
    pub id: TransactionId,
    pub host: Vec<u8>,
    pub uri: Vec<u8>,
    pub address: Address,
    pub decision: Decision,
}

impl Earlier {
    /// Keeps it until the answer comes.
    pub fn keep(&self, said: Said) {
        if said.uri.len() > URI_BYTES_MAX {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REQUESTS_MAX {
            all.pop_front();
        }
        all.push_back(said);
    }

    /// Takes what was said of this request, if it was.
    pub fn take(&self, id: TransactionId, host: &[u8], uri: &[u8]) -> Option<(Address, Decision)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().rposition(|said| said.id == id)?;
        let said = all.remove(at).filter(|said| said.host == host && said.uri == uri)?;
        // A connection at rest keeps nothing.
        if all.is_empty() {
            *all = VecDeque::new();
        }
        Some((said.address, said.decision))
    }
}
