//! SMTP.

use crate::listener::Accepted;
use crate::shared::Shared;
use std::sync::Arc;
use std::time::Duration;

/// Serves one connection.
pub async fn serve(mut accepted: Accepted, _shared: Arc<Shared>) {
    let _ = accepted.stream.write(b"421 4.3.2 not in service\r\n");
    accepted.stream.close(Duration::from_secs(2)).await;
}
