//! A connection that is asked for by host and port: by CONNECT, or by TLS from a client that knows of no proxy. Rule: whom
//! it leads to is judged before anything goes there, by each name that is said.

use super::admission::{self, Guest};
use super::asked::Asked;
use super::intercept::{self, Course, Wish};
use super::opening::{self, Opening, Said};
use super::origin::Origin;
use super::page::{Page, Way};
use super::replace::Changes;
use super::session::{Over, Session, VisitEnd, client_gone};
use super::tunnel;
use crate::events::access::{Ending, Server};
use crate::events::{Action, Passage, Record};
use crate::interception::Interception;
use crate::settings::Unseen;
use crate::stream::Stream;
use lockgate_inspect::{Group, HoldPlan, Inspection, Progress, Root};
use lockgate_model::{Transaction, TransactionId};
use lockgate_proto::tls::{ClientHello, Ech};
use std::sync::Arc;
use std::time::Duration;

/// How long a client may say nothing before it is taken for one that waits for the server to speak.
const SILENCE: Duration = Duration::from_secs(3);

/// Leads the client that says CONNECT to where it wants to go, if it may.
pub async fn serve(session: &Session, client: &mut Stream, asked: Asked, guest: Guest) -> Result<(), Over> {
    session.settle(guest.user.clone());
    session.secure();
    let way = Asking::judge(session, asked, guest);
    if !session.client.gate.settings.connect_ports.contains(&way.asked.port) {
        let page = Page::forbidden(format!("CONNECT to port {} is not allowed", way.asked.port));
        return way.answer(client, &page);
    }
    match way.interception() {
        Ok(interception) => {
            say_open(client)?;
            let is_patient = interception.settings.other_protocols == Unseen::Refuse;
            let handshake = session.client.gate.settings.timeouts.handshake;
            let patience = if is_patient { handshake } else { SILENCE };
            let opening = opening::read(client, None, patience).await.map_err(client_gone)?;
            way.intercept(client, opening, &interception).await
        }
        Err(why) => way.tunnel(client, &why).await,
    }
}

/// Serves a client that began with TLS, since it takes the gateway for the server.
pub async fn transparent(session: &Session, client: &mut Stream) -> Result<(), Over> {
    session.secure();
    let handshake = session.client.gate.settings.timeouts.handshake;
    let opening = opening::read(client, None, handshake).await.map_err(client_gone)?;
    let server = session.client.server;
    let name = match &opening.said {
        Said::Hello(hello) => hello.server_name.clone(),
        Said::Unreadable(_) | Said::Other | Said::Nothing => None,
    };
    let host = name.unwrap_or_else(|| server.ip().to_string());
    let asked = Asked::implied(host, server.port());
    // Nobody is asked for a name here, so there is no page in place of it.
    let guest = admission::admit(session, &asked).await.map_err(|_| Over::Said)?;
    let way = Asking::judge(session, asked, guest);
    match way.interception() {
        Ok(interception) => way.intercept(client, opening, &interception).await,
        Err(why) => way.pass(client, opening, &why).await,
    }
}

/// A 2xx to CONNECT has no content and opens the way (RFC 9110 section 9.3.6); in front of it stands Via for no one.
fn say_open(client: &mut Stream) -> Result<(), Over> {
    client.write(b"HTTP/1.1 200 Connection established\r\n\r\n").map_err(client_gone)
}

/// Somebody who asks for a host and port.
struct Asking<'s> {
    session: &'s Session,
    asked: Asked,
    guest: Guest,
    about: Transaction,
    inspection: Inspection,
}

impl<'s> Asking<'s> {
    fn judge(session: &'s Session, mut asked: Asked, guest: Guest) -> Self {
        let about = session.transaction(TransactionId(session.shared.next_id()), &guest.group);
        let inspection = judged(session, &about, &guest.group, &asked);
        let changes = Changes::of(session.rewriter(&guest.group), &asked, session.client.client.ip());
        asked.change(&changes.request);
        Self { session, asked, guest, about, inspection }
    }

    fn wish(&self) -> Wish<'_> {
        let Self { asked, inspection, .. } = self;
        Wish { host: &asked.host, port: asked.port, goal: asked.goal(), inspection }
    }

    /// To the host that was asked for, unless the lists name another one.
    async fn dial(&self) -> Result<Origin, Page> {
        let goal = self.asked.goal();
        Origin::dial_tunnel(self.session, goal.host, goal.port).await
    }

    /// What TLS is intercepted with, or why it is not.
    fn interception(&self) -> Result<Arc<Interception>, String> {
        let Some(interception) = &self.session.client.gate.interception else {
            return Err("the listener does not intercept TLS".to_owned());
        };
        match interception.exceptions.find(&self.asked.host) {
            None => Ok(Arc::clone(interception)),
            Some(place) => Err(format!("never intercepted: {place}")),
        }
    }

    /// In the server's place, unless it is not for us.
    async fn intercept(
        self,
        client: &mut Stream,
        opening: Opening,
        interception: &Arc<Interception>,
    ) -> Result<(), Over> {
        let wish = self.wish();
        match intercept::serve(self.session, client, &opening, &wish, interception).await? {
            Course::Within => Err(Over::Secured),
            Course::Unseen(why) => self.pass(client, opening, &why).await,
            Course::Ends => Err(Over::Said),
        }
    }

    /// By CONNECT, and not looked into.
    async fn tunnel(self, client: &mut Stream, why: &str) -> Result<(), Over> {
        if self.inspection.is_refused() {
            let page = Page::blocked(self.inspection.judgement(), Way::ToServer);
            return self.answer(client, &page);
        }
        let mut origin = match self.dial().await {
            Ok(origin) => origin,
            Err(page) => return self.answer(client, &page),
        };
        say_open(client)?;
        let patience = self.session.client.gate.settings.timeouts.command;
        let opening = opening::read(client, Some(origin.stream()), patience).await;
        let Ok(opening) = opening else {
            self.note(Action::Lost, (Some(200), 0, "the client is gone"), None);
            return Err(Over::Client);
        };
        if let Said::Hello(hello) = &opening.said {
            self.judge_name(client, hello)?;
        }
        self.carry(client, opening, origin, why).await
    }

    /// What has begun already, and is not looked into.
    async fn pass(self, client: &mut Stream, opening: Opening, why: &str) -> Result<(), Over> {
        if let Said::Hello(hello) = &opening.said {
            self.judge_name(client, hello)?;
        }
        if self.inspection.is_refused() {
            let why = Page::blocked(self.inspection.judgement(), Way::ToServer).why();
            self.note(Action::Refused, (None, 0, &why), None);
            intercept::refuse(client)?;
            return Err(Over::Said);
        }
        match self.dial().await {
            Ok(origin) => self.carry(client, opening, origin, why).await,
            Err(page) => {
                let action = if page.status() == 403 { Action::Refused } else { Action::Lost };
                self.note(action, (None, 0, &page.why()), None);
                Err(Over::Said)
            }
        }
    }

    /// The name under TLS may be another than the one that was judged; and it may be a cover.
    fn judge_name(&self, client: &mut Stream, hello: &ClientHello) -> Result<(), Over> {
        let (session, port) = (self.session, self.asked.port);
        let name = hello.server_name.as_deref().unwrap_or(&self.asked.host);
        if name != self.asked.host {
            let asked = Asked::implied(name.to_owned(), port);
            let inspection = judged(session, &self.about, &self.guest.group, &asked);
            if inspection.is_refused() {
                let (guest, about) = (self.guest.clone(), self.about.clone());
                let named = Self { session, asked, guest, about, inspection };
                let why = Page::blocked(named.inspection.judgement(), Way::ToServer).why();
                named.note(Action::Refused, (None, 0, &why), None);
                intercept::refuse(client)?;
                return Err(Over::Said);
            }
        }
        if hello.ech == Ech::Offered && session.shared.settings.load().interception.ech == Unseen::Refuse {
            session.note_tls(name, port, Passage::Refused, "the hello may hide another name (ECH)");
            intercept::refuse(client)?;
            return Err(Over::Said);
        }
        Ok(())
    }

    async fn carry(
        self,
        client: &mut Stream,
        opening: Opening,
        origin: Origin,
        why: &str,
    ) -> Result<(), Over> {
        let Self { session, asked, .. } = &self;
        match &opening.said {
            Said::Hello(hello) => {
                let name = hello.server_name.as_deref().unwrap_or(&asked.host);
                session.note_tls(name, asked.port, Passage::Unseen, why);
            }
            Said::Unreadable(refusal) => {
                intercept::unreadable(session, client, &self.wish(), *refusal);
                return Err(Over::Said);
            }
            Said::Other | Said::Nothing => {}
        }
        let server = Some(origin.server());
        let bytes = tunnel::carry(session, client, origin, &opening.bytes).await;
        self.note(Action::Forwarded, (Some(200), bytes, ""), server);
        Err(Over::Said)
    }

    /// Says why there is no way.
    fn answer(self, client: &mut Stream, page: &Page) -> Result<(), Over> {
        let action = if page.status() == 403 { Action::Refused } else { Action::Lost };
        let said = format!("{} {}", page.status(), page.why());
        self.record(action, (Some(page.status()), 0, &said));
        let about = self.session.about(Some(&self.asked), self.about.id);
        let written = client.write(&page.bytes(&about));
        let ending = if action == Action::Refused { Ending::Denied } else { Ending::Failed };
        let bytes = page.response(&about).1.len() as u64;
        self.session.visit(&self.asked, Some(&self.guest), &page.visit(bytes, ending));
        written.map_err(client_gone)?;
        Err(Over::Said)
    }

    /// It has ended: an event, and a line of the access log.
    fn note(&self, action: Action, (status, bytes, reply): (Option<u16>, u64, &str), server: Option<Server>) {
        self.record(action, (status, bytes, reply));
        let ending = match action {
            Action::Forwarded => Ending::Tunnelled,
            Action::Refused => Ending::Denied,
            _ => Ending::Aborted,
        };
        let end = VisitEnd { ending, status: status.unwrap_or(0), bytes, server, content_type: None };
        self.session.visit(&self.asked, Some(&self.guest), &end);
    }

    fn record(&self, action: Action, (status, bytes, reply): (Option<u16>, u64, &str)) {
        self.session.shared.events.load().verdict(&Record {
            flow: &self.session.flow(),
            about: &self.about,
            mail: Default::default(),
            http: Some(self.asked.noted(&self.guest, status, None)),
            judgement: self.inspection.judgement(),
            action,
            reply,
            wire_bytes: bytes,
            released_bytes: bytes,
        });
    }
}

/// What the engines find of a host: there is no content.
pub fn judged(session: &Session, about: &Transaction, group: &Arc<Group>, asked: &Asked) -> Inspection {
    let plan = HoldPlan::Head { hold_bytes: 0 };
    let mut inspection = session.begin(about, Arc::clone(group), Root::File, plan);
    asked.tell(&mut inspection);
    while inspection.finish() == Progress::Busy {}
    inspection
}
