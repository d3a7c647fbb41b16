//! POP3.

use crate::listener::Accepted;
use crate::shared::Shared;
use std::sync::Arc;
use std::time::Duration;

/// Serves one connection.
pub async fn serve(mut accepted: Accepted, _shared: Arc<Shared>) {
    let _ = accepted.stream.write(b"-ERR [SYS/TEMP] not in service\r\n");
    accepted.stream.close(Duration::from_secs(2)).await;
}
