//! What the client sends, on its way to the server. Rule: a server hears of a request when something of it was let go, and
//! what may not be sent twice goes by a connection that nobody is about to close.

use super::fault::{Fault, client_gone, no_way, origin_fault};
use super::{Exchange, Upstream, read_bytes};
use crate::http::ALPN_HTTP2;
use crate::http::content::Outcome;
use crate::http::http2::Streams;
use crate::http::origin::Origin;
use crate::http::page::Way;
use crate::http::session::Repeats;
use crate::http::site::Site;
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Reading};
use lockgate_proto::http::{Frame, Scheme, Version};
use std::io;
use std::rc::Rc;
use tokio::time::Instant;

impl Exchange<'_> {
    /// Finds a connection for what was let go of the request.
    pub async fn connect(&mut self) -> Result<(), Fault> {
        if !self.request.is_parked() {
            return Ok(());
        }
        let mut origin = self.way().await?;
        if self.asked.authorizes_connection() {
            origin.pin();
        }
        self.last_progress = Instant::now();
        let is_used = origin.is_used();
        let written = self.request.unpark(&mut origin);
        self.origin = Some(origin);
        written.map_err(|e| origin_fault(is_used, &e))
    }

    /// By a connection that there is, or a new one.
    async fn way(&self) -> Result<Upstream, Fault> {
        let goal = self.asked.goal();
        let _connecting = match self.asked.version {
            Version::Http2 if goal.scheme == Scheme::Https => Some(self.session.connecting().await),
            _ => None,
        };
        // Where the server has just left it, nothing was said yet.
        if let Some(streams) = self.session.streams(&goal)
            && let Ok(stream) = self.stream(&streams).await
        {
            return Ok(stream);
        }
        let repeats = if self.is_repeatable { Repeats::Yes } else { Repeats::No };
        match self.session.take_kept(&goal, repeats) {
            Some(origin) => Ok(Upstream::Http1(origin)),
            None => self.dial().await,
        }
    }

    /// By a stream of a connection that others may use, too.
    async fn stream(&self, streams: &Streams) -> Result<Upstream, Fault> {
        let stream = streams.stream(Scheme::Https, self.is_repeatable).await;
        Ok(Upstream::Http2(Box::new(stream.map_err(|e| origin_fault(self.is_repeatable, &e))?)))
    }

    /// By a connection that is new.
    pub async fn send_again(&mut self) -> Result<(), Fault> {
        self.is_repeatable = false;
        self.origin = None;
        let mut origin = self.dial().await?;
        self.last_progress = Instant::now();
        let written = self.request.repeat(&mut origin);
        self.origin = Some(origin);
        written.map_err(|e| origin_fault(false, &e))
    }

    async fn dial(&self) -> Result<Upstream, Fault> {
        let ahead = self.session.take_ahead(&self.asked.goal());
        let dialled = match (ahead, self.session.site()) {
            (Some(origin), _) => Ok(origin),
            (None, Some(Site { fault: Some(page), .. })) => Err(page.clone()),
            (None, site) => Origin::reach(self.session, site, &self.asked.goal()).await,
        };
        let mut origin = dialled.map_err(no_way)?;
        if origin.stream().alpn() != Some(ALPN_HTTP2) {
            return Ok(Upstream::Http1(Box::new(origin)));
        }
        let patience = self.session.client.gate.settings.timeouts.handshake;
        let streams = Streams::open(origin, patience).await.map_err(|e| origin_fault(false, &e))?;
        let streams = Rc::new(streams);
        self.session.share(Rc::clone(&streams));
        self.stream(&streams).await
    }

    /// Reads once from the client and passes on what came; says whether anything did.
    pub fn read_client(&mut self) -> Result<bool, Fault> {
        if self.client_reading() == Reading::Unwanted {
            return Ok(false);
        }
        with_scratch(|scratch| {
            let scratch = &mut scratch[..read_bytes(self.request.said())];
            let count = match self.client.try_read(scratch).map_err(client_gone)? {
                ReadOutcome::Bytes(count) => count,
                // What was read before may still be a whole message whose end was not looked at.
                ReadOutcome::WouldBlock => 0,
                ReadOutcome::End if self.take_in(&mut &[][..])? => return Ok(true),
                ReadOutcome::End => return Err(Fault::Client),
            };
            let mut rest = &scratch[..count];
            let has_moved = self.take_in(&mut rest)?;
            self.client.unread(rest);
            Ok(has_moved || count > 0)
        })
    }

    /// Takes bytes from the client, as far as they are of this request and there is time; leaves the others. Says whether
    /// anything but the need for more came of it.
    pub fn take_in(&mut self, rest: &mut &[u8]) -> Result<bool, Fault> {
        let mut has_moved = false;
        while self.request.is_open() && !self.request.is_busy() {
            let step = self.client.step(rest);
            *rest = &rest[step.consumed..];
            let out = self.origin.as_mut();
            let outcome = match step.frame {
                Frame::NeedInput => break,
                Frame::Body(content) => self.request.push(content, out),
                Frame::End => self.request.end(out),
                Frame::Trailers(trailers) => {
                    self.request.set_trailers(self.asked.trailing().passed_on(trailers));
                    continue;
                }
                Frame::Head(..) => continue,
                Frame::Refused(refusal) => return Err(Fault::bad_request(refusal.status(), refusal.words())),
            };
            has_moved = true;
            self.request_came_to(outcome)?;
        }
        Ok(has_moved)
    }

    /// What inspecting more of the request came to.
    pub fn request_came_to(&mut self, outcome: io::Result<Outcome>) -> Result<(), Fault> {
        let is_used = self.origin.as_ref().is_some_and(Upstream::is_used);
        match outcome.map_err(|e| origin_fault(is_used, &e))? {
            Outcome::More | Outcome::Complete | Outcome::Whole => Ok(()),
            Outcome::Refused => Err(self.blocked(Way::ToServer)),
        }
    }
}
