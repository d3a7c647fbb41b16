//! What the server answers, on its way to the client. Rule: its head is read before anything else of it, and what it says
//! of the next hop alone goes no further.

use super::fault::{Fault, client_gone, gateway, origin_fault};
use super::{Exchange, Response, Upstream, hold_plan, is_stream, media_type, read_bytes, stream_plan};
use crate::http::asked::{is_of_connection, lines};
use crate::http::coding::{self, Codings};
use crate::http::content::{Content, Outcome, Said};
use crate::http::page::Way;
use crate::http::range::Window;
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading};
use lockgate_inspect::{HoldPlan, Inspection, Root};
use lockgate_model::{Buffer, Direction, Reason, Transaction};
use lockgate_proto::http::{
    Eof, Fields, Frame, Framing, ResponseHead, Trailing, Version, status_line, strip_hop_by_hop,
};
use std::io;
use std::sync::Arc;

impl Exchange<'_> {
    /// Reads once from the origin and passes on what came; says whether anything did.
    pub fn read_origin(&mut self) -> Result<bool, Fault> {
        if self.origin.is_none() || self.origin_reading() == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| {
            let said = self.response.as_ref().map_or(Said::Nothing, |response| response.content.said());
            let scratch = &mut scratch[..read_bytes(said)];
            let Some(origin) = self.origin.as_mut() else { return Ok(false) };
            let is_used = origin.is_used();
            let count = match origin.try_read(scratch).map_err(|e| origin_fault(is_used, &e))? {
                ReadOutcome::Bytes(count) => count,
                // What was read before may still be a whole message whose end was not looked at.
                ReadOutcome::WouldBlock => 0,
                // … and so when the server has closed behind it, while the last of it was inspected.
                ReadOutcome::End if self.take_out(&mut &[][..])? => return Ok(true),
                ReadOutcome::End => return self.origin_ended().map(|()| true),
            };
            // From the first byte on the server has seen the request.
            self.is_repeatable &= count == 0;
            let mut rest = &scratch[..count];
            let has_moved = self.take_out(&mut rest)?;
            if let Some(origin) = self.origin.as_mut() {
                origin.unread(rest);
            }
            Ok(has_moved || count > 0)
        })
    }

    /// Takes bytes from the origin as far as they are of this response and there is time; leaves the others. Says whether
    /// anything but the need for more came of it.
    fn take_out(&mut self, rest: &mut &[u8]) -> Result<bool, Fault> {
        let mut has_moved = false;
        loop {
            let Some(origin) = self.origin.as_mut() else { return Ok(has_moved) };
            let step = origin.step(rest);
            *rest = &rest[step.consumed..];
            match step.frame {
                Frame::NeedInput => return Ok(has_moved),
                Frame::Head(head, framing) => self.response_head(*head, framing)?,
                Frame::Body(content) => self.response_content(content)?,
                Frame::Trailers(trailers) => self.response_trailers(trailers),
                Frame::End if self.response.is_some() => return self.response_end().map(|()| true),
                Frame::End => {}
                Frame::Refused(refusal) => {
                    return Err(gateway(502, &format!("its answer cannot be relayed: {}", refusal.words())));
                }
            }
            has_moved = true;
            if self.is_busy() || self.has_switched() {
                return Ok(true);
            }
        }
    }

    fn origin_ended(&mut self) -> Result<(), Fault> {
        let Some(origin) = self.origin.as_mut() else { return Ok(()) };
        match (origin.eof(), &self.response) {
            (Eof::Complete, Some(response)) if response.content.is_open() => self.response_end(),
            (Eof::Complete, None) if origin.is_used() && self.is_repeatable => Err(Fault::Stale),
            (_, None) => Err(gateway(502, "the server closed the connection before it answered")),
            (_, Some(_)) => Err(gateway(502, "the server closed the connection in the middle of its answer")),
        }
    }

    fn response_head(&mut self, mut head: ResponseHead, framing: Framing) -> Result<(), Fault> {
        if head.status == 407 && self.origin.as_ref().is_some_and(Upstream::leads_to_parent) {
            // The client has no login for it, and is not to give it one.
            return Err(gateway(502, "the proxy behind this one does not take the gateway's login"));
        }
        if head.status == 101 {
            return self.switch(head);
        }
        let trailing = Trailing::of(&head.fields);
        strip_hop_by_hop(&mut head.fields);
        if head.fields.list("www-authenticate").any(is_of_connection) {
            // From here on the connection is its client's; that it will be, the client wants to be told (RFC 4559).
            head.fields.push(b"Proxy-Support", b"Session-Based-Authentication");
            self.origin.iter_mut().for_each(Upstream::pin);
        }
        // It would lead the client past the gateway, to another protocol that nobody looks into.
        head.fields.remove("alt-svc");
        let hostname = &self.session.shared.settings.load().hostname;
        let version = if head.version == Version::Http2 { "2" } else { "1.1" };
        head.fields.push(b"Via", format!("{version} {hostname}").as_bytes());
        if head.is_interim() {
            return self.interim(&head);
        }
        let root = match coding::codings(&head.fields) {
            Codings::Known(root) => root,
            Codings::Refused(why) => return Err(gateway(502, &format!("its answer is {why}"))),
        };
        let content_type =
            head.fields.get("content-type").map(|value| String::from_utf8_lossy(value).into_owned());
        self.changes.of_response(&mut head.fields);
        let framing = self.framing_to_client(framing, &mut head);
        if head.status == 206 && !self.may_be_partial(content_type.as_deref()) {
            return Err(gateway(502, "it sends a part of its content that nobody may ask for"));
        }
        let came = head.status;
        let (framing, window) = self.windowed(&mut head, framing, content_type.as_deref());
        if window.is_none() && self.asked.takes_trailers() && self.has_place_for_trailers(framing) {
            trailing.announce(&mut head.fields);
        }
        let status = head.status;
        let (held, note) = self.held_for_rules(&head, framing, &root, content_type.as_deref());
        let plan = held.as_ref().map(|_| self.whole_plan());
        let inspection = self.open_response(came, &head, root, content_type.as_deref(), plan);
        let is_stream = is_stream(content_type.as_deref());
        let mut content = Content::new(inspection, head, framing);
        if is_stream {
            content = content.with_tail_for(self.session.client.gate.settings.tail_time_max);
        }
        content = content.through(window).withheld();
        let is_refused = content.inspection().is_refused();
        let note = note.to_owned();
        let response = Response { content, status, content_type, trailing, held, note, original: None };
        let response = self.response.insert(response);
        if is_refused {
            return Err(self.blocked(Way::ToClient));
        }
        if is_stream && framing != Framing::Length(0) {
            // The client is told that it is connected before the first event comes. A call of gRPC that has failed before
            // it began is a head and nothing behind it, and is to stay one.
            response.content.begin(&mut self.client).map_err(client_gone)?;
        }
        Ok(())
    }

    /// Where the client asked for a range and the server sends the whole, the head of the range and what of the whole
    /// leaves. What rules may change has no ranges.
    fn windowed(
        &self,
        head: &mut ResponseHead,
        framing: Framing,
        content_type: Option<&str>,
    ) -> (Framing, Option<Window>) {
        let has_rules =
            self.changes.of_content(head, &media_type(content_type.unwrap_or_default())).is_some();
        let range = self.asked.range().filter(|_| !has_rules);
        match range.and_then(|range| range.of(head, framing)) {
            Some((window, framing)) => (framing, Some(window)),
            None => (framing, None),
        }
    }

    /// Whether content of this type may come in part from the host.
    fn may_be_partial(&self, content_type: Option<&str>) -> bool {
        let settings = &self.session.client.gate.settings;
        let media_type = media_type(content_type.unwrap_or_default());
        let is_listed = settings.range_types.is_empty() || settings.range_types.contains(&media_type);
        // What nobody asked for is partial all the same, and policy says what becomes of it.
        is_listed || !settings.range_hosts.contains(&self.asked.host)
    }

    /// How the client is told where the content ends, and whether its connection does.
    fn framing_to_client(&mut self, framing: Framing, head: &mut ResponseHead) -> Framing {
        let version = self.asked.version;
        let framing = match framing {
            Framing::Chunked | Framing::UntilClose if version == Version::Http10 => Framing::UntilClose,
            Framing::UntilClose => Framing::Chunked,
            framing => framing,
        };
        self.closes |= framing == Framing::UntilClose || self.request.is_open() || self.session.is_draining();
        match (self.closes, version) {
            // A stream is no connection.
            (_, Version::Http2) => {}
            (true, _) => head.fields.push(b"Connection", b"close"),
            (false, Version::Http10) => head.fields.push(b"Connection", b"keep-alive"),
            (false, Version::Http11) => {}
        }
        framing
    }

    fn interim(&mut self, head: &ResponseHead) -> Result<(), Fault> {
        match head.status {
            // We have answered the client's Expect, and it has asked nothing more.
            100 => Ok(()),
            _ if self.asked.version == Version::Http10 => Ok(()),
            _ => self.client.say_interim(head).map_err(client_gone),
        }
    }

    fn open_response(
        &mut self,
        status: u16,
        head: &ResponseHead,
        root: Root,
        content_type: Option<&str>,
        plan: Option<HoldPlan>,
    ) -> Inspection {
        let session = self.session;
        let about = Transaction { direction: Direction::ToClient, ..self.about.clone() };
        let settings = &session.client.gate.settings;
        let plan = plan.unwrap_or_else(|| match is_stream(content_type) {
            // Its parts would wait for as long as the server has no more to say.
            true => stream_plan(settings),
            false => hold_plan(settings),
        });
        let mut inspection = session.begin(&about, Arc::clone(&self.guest.group), root, plan);
        self.asked.tell(&mut inspection);
        tell_head(head, &mut inspection);
        inspection.about(Buffer::HttpContentType, content_type.unwrap_or_default().as_bytes());
        if status == 206 {
            inspection.incomplete(Reason::Partial);
        }
        inspection
    }

    fn response_content(&mut self, content: &[u8]) -> Result<(), Fault> {
        let Some(response) = &mut self.response else { return Ok(()) };
        let outcome = response.content.push(content, Some(&mut self.client));
        self.response_came_to(outcome)
    }

    /// Fields behind the content: for a client that takes them.
    fn response_trailers(&mut self, trailers: Fields) {
        let Some(response) = self.response.as_mut().filter(|_| self.asked.takes_trailers()) else { return };
        response.content.set_trailers(response.trailing.passed_on(trailers));
    }

    /// Whether a client gets fields behind content that is framed so.
    fn has_place_for_trailers(&self, framing: Framing) -> bool {
        match self.asked.version {
            Version::Http2 => framing != Framing::None,
            _ => framing == Framing::Chunked,
        }
    }

    fn response_end(&mut self) -> Result<(), Fault> {
        let Some(response) = &mut self.response else { return Ok(()) };
        let outcome = response.content.end(Some(&mut self.client));
        self.response_came_to(outcome)
    }

    /// What inspecting more of the response came to.
    pub fn response_came_to(&mut self, outcome: io::Result<Outcome>) -> Result<(), Fault> {
        match outcome.map_err(client_gone)? {
            Outcome::More | Outcome::Complete => Ok(()),
            Outcome::Whole => {
                self.begin_replacing();
                Ok(())
            }
            Outcome::Refused => Err(self.blocked(Way::ToClient)),
        }
    }
}

/// Tells the engines what the server says before its content.
pub(super) fn tell_head(head: &ResponseHead, inspection: &mut Inspection) {
    if inspection.wants(Buffer::HttpResponseLine) {
        inspection.about(Buffer::HttpResponseLine, &status_line(head));
    }
    if inspection.wants(Buffer::HttpResponseHeader) {
        let mut fields = head.fields.clone();
        strip_hop_by_hop(&mut fields);
        inspection.about(Buffer::HttpResponseHeader, &lines(&fields));
    }
}
