//! The SMTP proxy: one client's [`session`], from its greeting to its end. Rule: a file for each thing it talks to.
//!
//! [`downstream`] is the client, [`next_hop`] the server (dialled and told who comes by `introduce`), [`envelope`] says
//! who may write to whom, [`content`] reads a mail and has it inspected, [`transfer`] carries it on, and [`replies`] is
//! what the client is told. The commands themselves are `lockgate_proto::smtp`.

mod commands;
pub mod content;
pub mod downstream;
pub mod envelope;
mod identity;
mod introduce;
mod known;
mod mail;
pub mod next_hop;
pub mod replies;
pub mod session;
pub(crate) mod trace;
pub mod transfer;

use crate::listener::Accepted;
use crate::shared::Shared;
use session::Session;
use std::sync::Arc;

/// Serves one connection.
pub async fn serve(accepted: Accepted, shared: Arc<Shared>) {
    let mut session = Session::new(accepted, shared);
    let over = session.run().await;
    // In a box: what is done once takes no room for as long as the connection lasts.
    Box::pin(session.end(over)).await;
}
