//! A page under rules for content: held whole, then replaced. Rule: what leaves was inspected as it leaves, and what cannot be
//! replaced leaves as it came.

use super::fault::{Fault, client_gone};
use super::response::tell_head;
use super::{Exchange, Response, media_type};
use crate::http::content::Content;
use crate::http::page::Way;
use crate::http::replace::{Became, Replacing, TOO_LONG, head_of_replaced};
use lockgate_inspect::{HoldPlan, Inspection, Root};
use lockgate_model::{Buffer, Direction, Rewriter, Transaction};
use lockgate_proto::http::{Framing, ResponseHead, Trailing};
use std::sync::Arc;

/// What is known of a page that is held for its rules.
pub struct Held {
    rewriter: Arc<dyn Rewriter>,
    root: Root,
    head: ResponseHead,
}

impl Exchange<'_> {
    /// Whether a page is to be held whole, and what is to be written down where it cannot be.
    pub fn held_for_rules(
        &self,
        head: &ResponseHead,
        framing: Framing,
        root: &Root,
        content_type: Option<&str>,
    ) -> (Option<Box<Held>>, &'static str) {
        let rewriter = self.changes.of_content(head, &media_type(content_type.unwrap_or_default()));
        match (rewriter, framing) {
            (None, _) | (_, Framing::None) => (None, ""),
            (_, Framing::Length(bytes)) if bytes > self.replace_bytes_max() as u64 => (None, TOO_LONG),
            (Some(rewriter), _) => {
                let (root, head) = (root.clone(), head.clone());
                (Some(Box::new(Held { rewriter, root, head })), TOO_LONG)
            }
        }
    }

    /// How such a page is held.
    pub fn whole_plan(&self) -> HoldPlan {
        let tail_bytes = usize::try_from(self.session.client.gate.settings.tail_bytes).unwrap_or(usize::MAX);
        HoldPlan::WholeOrTail { hold_bytes: self.replace_bytes_max(), tail_bytes }
    }

    fn replace_bytes_max(&self) -> usize {
        usize::try_from(self.session.shared.settings.load().replace_bytes_max).unwrap_or(usize::MAX)
    }

    /// All of a page has come and may leave: now its rules have their turn, if it has any.
    pub fn begin_replacing(&mut self) {
        let bytes_max = self.replace_bytes_max();
        let Some(response) = &mut self.response else { return };
        let Some(held) = response.held.as_ref() else { return };
        let content = response.content.inspection().held();
        let (rewriter, pool) = (Arc::clone(&held.rewriter), self.session.pool());
        self.replacing = Some(Box::new(Replacing::new(rewriter, content, &held.root, bytes_max, &pool)));
    }

    /// What a step of it came to.
    pub fn replacing_came_to(&mut self, became: Became) -> Result<(), Fault> {
        match became {
            Became::Going => Ok(()),
            Became::Same => self.leave_page(""),
            Became::Left(why) => self.leave_page(why),
            Became::Other(content, by) => self.replace_page(&content, by),
        }
    }

    /// It leaves as it came, and why.
    fn leave_page(&mut self, note: &str) -> Result<(), Fault> {
        self.replacing = None;
        if let Some(response) = &mut self.response {
            response.note = note.to_owned();
        }
        self.let_go_whole()
    }

    /// It leaves as it came.
    pub fn let_go_whole(&mut self) -> Result<(), Fault> {
        let Some(response) = &mut self.response else { return Ok(()) };
        response.content.let_go_whole(&mut self.client).map_err(client_gone)
    }

    /// Another one leaves in its place, if it may: it goes the way of any other.
    fn replace_page(&mut self, content: &[u8], by: String) -> Result<(), Fault> {
        self.replacing = None;
        let Some(Response { content: original, status, content_type, held: Some(held), .. }) =
            self.response.take()
        else {
            return Ok(());
        };
        let head = head_of_replaced(held.head, content.len());
        let inspection = self.open_replaced(&head, content_type.as_deref());
        let replaced = Content::new(inspection, head, Framing::Length(content.len() as u64));
        let is_refused = replaced.inspection().is_refused();
        let response = self.response.insert(Response {
            content: replaced,
            status,
            content_type,
            trailing: Trailing::default(),
            held: None,
            note: by,
            original: Some(original.into_inspection()),
        });
        if is_refused {
            return Err(self.blocked(Way::ToClient));
        }
        let pushed = response.content.push(content, Some(&mut self.client));
        self.response_came_to(pushed)?;
        let Some(response) = &mut self.response else { return Ok(()) };
        let ended = response.content.end(Some(&mut self.client));
        self.response_came_to(ended)
    }

    fn open_replaced(&self, head: &ResponseHead, content_type: Option<&str>) -> Inspection {
        let about = Transaction { direction: Direction::ToClient, ..self.about.clone() };
        let plan = self.whole_plan();
        let mut inspection = self.session.begin(&about, Arc::clone(&self.guest.group), Root::File, plan);
        self.asked.tell(&mut inspection);
        tell_head(head, &mut inspection);
        inspection.about(Buffer::HttpContentType, content_type.unwrap_or_default().as_bytes());
        inspection
    }
}
