//! A change to another protocol: [`Upgrade`]. Rule: only to one that policy lists, only where both sides say so, and
//! without extensions that would hide what is said.

use super::fault::{Fault, client_gone, gateway};
use super::{Exchange, stream_plan};
use crate::events::access::Ending;
use crate::events::{Action, Record};
use crate::http::asked::Asked;
use crate::http::downstream::Downstream;
use crate::http::session::{Over, VisitEnd};
use crate::http::upgraded::{Broken, Upgraded, Way};
use crate::http::upstream::Upstream;
use crate::settings::Listener;
use lockgate_inspect::{HoldPlan, Inspection, Root};
use lockgate_model::{Direction, Transaction};
use lockgate_proto::http::{Fields, Framing, ResponseHead, strip_hop_by_hop};
use lockgate_proto::websocket::Side;
use std::sync::Arc;

/// A protocol that a client would change to, and may.
pub struct Upgrade {
    token: String,
    has_switched: bool,
}

const WEBSOCKET: &str = "websocket";
/// What WebSocket's extensions are agreed by: a message that is compressed could not be read.
const EXTENSIONS: &str = "sec-websocket-extensions";

impl Upgrade {
    /// What is asked for, if the listener lists it. What a request with content would change to is not asked for.
    pub fn asked_for(asked: &Asked, settings: &Listener, framing: Framing) -> Option<Self> {
        let token = asked.upgrade().filter(|_| framing == Framing::None)?;
        let is_listed = settings.upgrades.iter().any(|known| known.eq_ignore_ascii_case(token));
        is_listed.then(|| Self { token: token.to_owned(), has_switched: false })
    }

    /// Asks the server for it.
    pub fn ask(&self, fields: &mut Fields) {
        fields.push(b"Connection", b"Upgrade");
        fields.push(b"Upgrade", self.token.as_bytes());
        if self.is_websocket() {
            fields.remove(EXTENSIONS);
        }
    }

    /// Whether the server agrees to what it was asked, and to nothing else.
    fn check(&self, fields: &Fields) -> Result<(), &'static str> {
        let mut said = fields.list("upgrade");
        let says_so = said.next().is_some_and(|said| said.eq_ignore_ascii_case(self.token.as_bytes()));
        if !says_so || said.next().is_some() || !fields.list_has("connection", "upgrade") {
            return Err("the server changes to another protocol than was asked for");
        }
        match self.is_websocket() && fields.get(EXTENSIONS).is_some() {
            true => Err("the server uses an extension that nobody asked for"),
            false => Ok(()),
        }
    }

    fn is_websocket(&self) -> bool {
        self.token.eq_ignore_ascii_case(WEBSOCKET)
    }
}

impl Exchange<'_> {
    /// Whether both sides speak another protocol from here on.
    pub fn has_switched(&self) -> bool {
        self.upgrade.as_ref().is_some_and(|upgrade| upgrade.has_switched)
    }

    /// The server says that it changes.
    pub fn switch(&mut self, mut head: ResponseHead) -> Result<(), Fault> {
        let hostname = &self.session.shared.settings.load_full().hostname;
        let Some(upgrade) = &mut self.upgrade else {
            // Upgrade was not passed on, so nothing was agreed to.
            return Err(gateway(502, "the server changes to another protocol that nobody asked for"));
        };
        upgrade.check(&head.fields).map_err(|why| gateway(502, why))?;
        strip_hop_by_hop(&mut head.fields);
        head.fields.remove("alt-svc");
        head.fields.push(b"Via", format!("1.1 {hostname}").as_bytes());
        head.fields.push(b"Connection", b"Upgrade");
        head.fields.push(b"Upgrade", upgrade.token.as_bytes());
        upgrade.has_switched = true;
        self.client.say_interim(&head).map_err(client_gone)
    }

    /// Carries what is said in the other protocol, to its end; with it the client's connection ends.
    pub async fn serve_upgraded(mut self) -> Result<(), Over> {
        let settings = &self.session.client.gate.settings;
        let (tail_time, patience) = (settings.tail_time_max, settings.timeouts.command);
        let is_websocket = self.upgrade.as_ref().is_some_and(Upgrade::is_websocket);
        let (session, guest, asked, base) = (self.session, &self.guest, &self.asked, &self.about);
        let way = |direction, side| {
            let about = Transaction { direction, ..base.clone() };
            let begin = move |plan| session.begin(&about, Arc::clone(&guest.group), Root::File, plan);
            let plan = if is_websocket { HoldPlan::Discard } else { stream_plan(settings) };
            let mut whole = begin(plan);
            asked.tell(&mut whole);
            match is_websocket {
                true => Way::framed(whole, side, tail_time, move || begin(stream_plan(settings))),
                false => Way::plain(whole, tail_time),
            }
        };
        let (up, down) = (way(Direction::ToServer, Side::Client), way(Direction::ToClient, Side::Server));
        let mut both = Upgraded { up, down, patience };
        let carried = match (&mut self.client, &mut self.origin) {
            (Downstream::Http1(client), Some(Upstream::Http1(origin))) => {
                both.carry(&mut client.stream, origin.stream()).await
            }
            _ => Err(Broken::Lost),
        };
        let (action, why) = match &carried {
            Ok(()) => (Action::Forwarded, ""),
            Err(Broken::Lost) => (Action::Lost, "one side broke, or nothing moved for too long"),
            Err(Broken::Refused) => (Action::Cut, ""),
            Err(Broken::Frames(why)) => (Action::Cut, *why),
        };
        self.note_upgraded(&both, action, why);
        drop(both);
        // Both sides are left at once where something is wrong.
        Err(if carried.is_ok() { Over::Said } else { Over::BreakOff })
    }

    /// One event for each way in which something was found, or one for what went to the client.
    fn note_upgraded(&self, both: &Upgraded<'_>, action: Action, reply: &str) {
        let (up, down) = (both.up.inspection(), both.down.inspection());
        let write = |direction, inspection: &Inspection, action| {
            self.session.shared.events.load().verdict(&Record {
                flow: &self.session.flow(),
                about: &Transaction { direction, ..self.about.clone() },
                mail: Default::default(),
                http: Some(self.asked.noted(&self.guest, Some(101), None)),
                judgement: inspection.judgement(),
                action,
                reply,
                wire_bytes: inspection.wire_bytes(),
                released_bytes: inspection.released_bytes(),
            });
        };
        let found = up.judgement();
        if !found.findings.is_empty() || !found.incomplete.is_empty() {
            let is_refused = up.is_refused();
            write(Direction::ToServer, up, if is_refused { action } else { Action::Forwarded });
        }
        write(Direction::ToClient, down, if up.is_refused() { Action::Lost } else { action });
        let server = self.origin.as_ref().map(Upstream::server);
        let ending = if action == Action::Forwarded { Ending::Relayed } else { Ending::Aborted };
        let bytes = both.down.bytes();
        let end = VisitEnd { ending, status: 101, bytes, server, content_type: None };
        self.session.visit(&self.asked, Some(&self.guest), &end);
    }
}
