//! Why an exchange comes to no good end: [`Fault`]. Rule: each says who is to blame, and what the client is told.

use super::Exchange;
use crate::events::Action;
use crate::http::bypass;
use crate::http::page::{Page, Way};
use lockgate_inspect::Judgement;
use lockgate_model::{Class, Verdict};
use std::io;
use std::time::{Duration, SystemTime};

/// Why an exchange comes to no good end.
pub enum Fault {
    /// The client is gone, or does not read.
    Client,
    /// The client is to be told.
    Answer(Box<Page>, Action),
    /// The connection that was used before broke before anything came by it.
    Stale,
}

impl Fault {
    /// A request that cannot be served.
    pub fn bad_request(status: u16, why: &str) -> Self {
        Self::Answer(Box::new(Page::bad_request(status, why)), Action::Refused)
    }

    /// A request whose content does not come.
    pub fn late_request() -> Self {
        Self::Answer(Box::new(Page::bad_request(408, "the request did not come in time")), Action::Lost)
    }
}

impl Exchange<'_> {
    /// What was found in what goes this way.
    pub fn blocked(&self, way: Way) -> Fault {
        let judgement = match (way, &self.response) {
            (Way::ToClient, Some(response)) => response.content.inspection().judgement(),
            _ => self.request.inspection().judgement(),
        };
        let action = match (judgement.verdict, way) {
            (Verdict::Defer, _) => Action::Deferred,
            (_, Way::ToServer) => Action::Refused,
            (_, Way::ToClient) => Action::Replaced,
        };
        Fault::Answer(Box::new(Page::blocked(judgement, way)), action)
    }
}

impl Exchange<'_> {
    /// The link past the page, where policy gives one and nothing but lists keeps the page from being let through.
    pub fn offered_bypass(&self) -> Option<(String, Duration)> {
        let time = self.guest.group.bypass?;
        let response = self.response.as_ref().map(|response| response.content.inspection());
        let judged = [Some(self.request.inspection()), response].into_iter().flatten();
        let refused: Vec<_> = judged.filter(|inspection| inspection.is_refused()).collect();
        let is_by_lists = |judgement: &Judgement| {
            let is_web = judgement.deciding_finding().is_some_and(|found| found.class == Class::Web);
            let group = &self.guest.group;
            let others = judgement.findings.iter().filter(|found| found.class != Class::Web);
            is_web
                && !judgement.is_ours
                && others.into_iter().all(|found| group.on_finding(found.class) <= Verdict::Tag)
        };
        if refused.is_empty() || !refused.iter().all(|inspection| is_by_lists(inspection.judgement())) {
            return None;
        }
        let (client, user) = (self.session.client.client.ip(), self.guest.user.as_deref());
        let way = bypass::Way { client, user, host: &self.asked.host };
        let link = self.session.shared.bypasses.link(way, self.asked.uri(), SystemTime::now());
        Some((link, time))
    }
}

/// The client's side broke.
pub fn client_gone(_: io::Error) -> Fault {
    Fault::Client
}

/// The server's fault.
pub fn gateway(status: u16, why: &str) -> Fault {
    Fault::Answer(Box::new(Page::bad_gateway(status, why)), Action::Lost)
}

/// The server's side broke.
pub fn origin_fault(is_used: bool, error: &io::Error) -> Fault {
    if is_used { Fault::Stale } else { gateway(502, &format!("the connection to the server broke: {error}")) }
}

/// There is no connection to the server, for a reason that the page says.
pub fn no_way(page: Page) -> Fault {
    let action = if page.status() == 403 { Action::Refused } else { Action::Lost };
    Fault::Answer(Box::new(page), action)
}
