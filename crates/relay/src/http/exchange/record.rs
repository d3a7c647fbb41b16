//! What is written down of an exchange. Rule: one event for each exchange, and one more for an upload with something in it.

use super::Exchange;
use crate::events::access::{Ending, Server};
use crate::events::{Action, Record};
use crate::http::page::{About, Page};
use crate::http::session::VisitEnd;
use crate::http::upstream::Upstream;
use lockgate_inspect::Inspection;
use lockgate_model::{Direction, Transaction};

impl Exchange<'_> {
    /// The response went, as far as it did.
    pub fn note(&self, action: Action, reply: &str) {
        let status = self.response.as_ref().map(|response| response.status);
        self.record(action, reply, status);
        let ending = if action == Action::Forwarded { Ending::Relayed } else { Ending::Aborted };
        let bytes = self.response.as_ref().map_or(0, |it| it.content.inspection().released_bytes());
        let content_type = self.response.as_ref().and_then(|response| response.content_type.as_deref());
        let end =
            VisitEnd { ending, status: status.unwrap_or(0), bytes, server: self.server(), content_type };
        self.session.visit(&self.asked, Some(&self.guest), &end);
    }

    /// A page went in its place.
    pub fn note_answer(&self, action: Action, page: &Page, about: &About) {
        let status = self.response.as_ref().map_or(page.status(), |response| response.status);
        self.record(action, &format!("{} {}", page.status(), page.why()), Some(status));
        let ending = if action == Action::Lost { Ending::Failed } else { Ending::Denied };
        let end = page.visit(page.response(about).1.len() as u64, ending);
        self.session.visit(&self.asked, Some(&self.guest), &VisitEnd { server: self.server(), ..end });
    }

    fn server(&self) -> Option<Server> {
        self.origin.as_ref().map(Upstream::server)
    }

    /// Writes down what became of it: of the request where it came to no response or something was found in it, else of
    /// the response.
    fn record(&self, action: Action, reply: &str, status: Option<u16>) {
        let content_type = self.response.as_ref().and_then(|response| response.content_type.as_deref());
        let write = |about: &Transaction, inspection: &Inspection, action| {
            self.session.shared.events.load().verdict(&Record {
                flow: &self.session.flow(),
                about,
                mail: Default::default(),
                http: Some(self.asked.noted(&self.guest, status, content_type)),
                judgement: inspection.judgement(),
                action,
                reply,
                wire_bytes: inspection.wire_bytes(),
                released_bytes: inspection.released_bytes(),
            });
        };
        let request = self.request.inspection();
        match &self.response {
            None => write(&self.about, request, action),
            Some(response) => {
                if has_found(request) {
                    write(&self.about, request, Action::Forwarded);
                }
                let about = Transaction { direction: Direction::ToClient, ..self.about.clone() };
                let original = response.original.as_ref();
                let found = original.filter(|original| has_found(original));
                if let Some(original) = found {
                    write(&about, original, Action::Replaced);
                }
                write(&about, response.content.inspection(), action);
            }
        }
    }
}

fn has_found(inspection: &Inspection) -> bool {
    let found = inspection.judgement();
    !found.findings.is_empty() || !found.incomplete.is_empty()
}
