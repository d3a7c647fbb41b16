//! Who asks, and by which group it is judged: [`Guest`]. Rule: nothing of a request is served before it is known who asks, and
//! an intercepted client, which knows of no proxy, is never asked for a name.

use super::asked::{Asked, Method};
use super::bypass::{self, Invalid};
use super::connect;
use super::downstream::Downstream;
use super::exchange::Exchange;
use super::page::{About, Page};
use super::session::{Over, Session};
use crate::events::access::Ending;
use crate::events::record::plain;
use crate::events::{Action, Record};
use lockgate_inspect::{Group, Judgement};
use lockgate_model::{Class, TransactionId, Verdict};
use lockgate_proto::http::Framing;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Who a request is from.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The name, where one was given and proved.
    pub user: Option<Arc<str>>,
    /// The group that judges.
    pub group: Arc<Group>,
    /// Whether lists hold for it.
    pub passage: Passage,
}

/// Whether what lists say of a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It does.
    Judged,
    /// The guest has followed the link past the page a short time ago. What else is found is judged as ever.
    Bypassed,
}

/// Somebody who is not served, and what he is told.
pub struct Turned {
    /// What is said in place of a response.
    page: Page,
    /// What that is, for events.
    action: Action,
    /// Who he is, as far as that is known.
    guest: Guest,
}

/// Serves one request.
pub async fn serve(
    session: &Session,
    mut client: Downstream<'_>,
    asked: Asked,
    framing: Framing,
) -> Result<(), Over> {
    let turned = match admit(session, &asked).await {
        Ok(guest) if asked.method == Method::Connect => {
            return match client {
                Downstream::Http1(client) => connect::serve(session, &mut client.stream, asked, guest).await,
                // It was made a connection of its own before it came here.
                Downstream::Http2(_) => Err(Over::BreakOff),
            };
        }
        Ok(guest) => return Exchange::new(session, guest, client, asked, framing).run().await,
        Err(turned) => turned,
    };
    // A request whose end has not come would be taken for the next one.
    let closes = asked.wants_close || session.is_draining() || framing != Framing::None;
    // A request without content ends without a further byte; only then the next one can be read.
    let _ = client.step(&[]);
    let mut about = session.about(Some(&asked), TransactionId(session.shared.next_id()));
    about.closes = closes;
    let written = client.say_page(&turned.page, &about);
    turned.note(session, &asked, &about);
    written.map_err(|_| Over::Client)?;
    if closes { Err(Over::Said) } else { Ok(()) }
}

impl Turned {
    /// An event, as of any request, and a line of the access log.
    fn note(&self, session: &Session, asked: &Asked, about: &About) {
        let Self { page, action, guest } = self;
        session.shared.events.load().verdict(&Record {
            flow: &session.flow(),
            about: &session.transaction(about.id, &guest.group),
            mail: Default::default(),
            http: Some(asked.noted(guest, Some(page.status()), None)),
            judgement: &Judgement::default(),
            action: *action,
            reply: &format!("{} {}", page.status(), page.why()),
            wire_bytes: 0,
            released_bytes: 0,
        });
        let bytes = page.response(about).1.len() as u64;
        session.visit(asked, Some(guest), &page.visit(bytes, Ending::Denied));
    }
}

/// Who it is; or what is said in place of serving him.
pub async fn admit(session: &Session, asked: &Asked) -> Result<Guest, Turned> {
    let user = match session.settled() {
        Some(user) => user,
        None => match prove(session, asked).await {
            Ok(user) => user,
            Err(page) => {
                let guest = Guest { user: None, group: session.group_for(None), passage: Passage::Judged };
                return Err(Turned { page, action: Action::Refused, guest });
            }
        },
    };
    let group = session.group_for(user.as_deref());
    let guest = Guest { user, group, passage: Passage::Judged };
    match guest.group.bypass {
        Some(time) => past_the_page(session, asked, guest, time),
        None => Ok(guest),
    }
}

/// Where a group's pages have a link: whether it is followed now, or was a short time ago.
fn past_the_page(session: &Session, asked: &Asked, guest: Guest, time: Duration) -> Result<Guest, Turned> {
    let (bypasses, now) = (&session.shared.bypasses, SystemTime::now());
    let client = session.client.client.ip();
    let way = bypass::Way { client, user: guest.user.as_deref(), host: &asked.host };
    if asked.uri().starts_with(bypass::PATH) {
        let (page, action) = match bypasses.open(way, asked.uri(), time, now) {
            Ok(to) => {
                let (host, client) = (plain(&asked.host), way.client.to_canonical());
                let who = way.user.map(|user| format!(" ({})", plain(user))).unwrap_or_default();
                let (seconds, group) = (time.as_secs(), &guest.group.name);
                let details = format!("{host} for {client}{who} for {seconds} s, group {group}");
                session.shared.events.load().notice("bypass opened", &details);
                (Page::go_on(format!("{}{to}", asked.site())), Action::Replaced)
            }
            Err(Invalid::Forged) => {
                let why = "the link is none of the gateway's, or was made for somebody else";
                (Page::link_over(why), Action::Refused)
            }
            Err(Invalid::Expired) => (Page::link_over("the link is too old"), Action::Refused),
        };
        return Err(Turned { page, action, guest });
    }
    if !bypasses.is_open(way, now) {
        return Ok(guest);
    }
    let mut lenient = Group::clone(&guest.group);
    lenient.set_finding(Class::Web, Verdict::Pass);
    Ok(Guest { group: Arc::new(lenient), passage: Passage::Bypassed, ..guest })
}

/// Asks for a name and password where the listener has users.
async fn prove(session: &Session, asked: &Asked) -> Result<Option<Arc<str>>, Page> {
    let gate = &session.client.gate;
    let Some(users) = &gate.users else { return Ok(None) };
    let unknown = |why| Page::unknown_user(&gate.settings.realm, why);
    let credentials = asked.credentials().map_err(unknown)?;
    let client = session.client.client.ip();
    let user = users.prove(client, &credentials.user, &credentials.password).await;
    if user.is_none() {
        let (client, name) = (client.to_canonical(), plain(&credentials.user));
        let log = format!("wrong name or password from {client} on {}: {name}", gate.settings.name);
        session.shared.events.load().log(&log);
    }
    user.map(Some).ok_or_else(|| unknown("the name or the password is wrong"))
}
