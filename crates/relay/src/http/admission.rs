//! Who asks, and by which group it is judged: [`Guest`]. Rule: nothing of a request is served before it is known who asks, and
//! an intercepted client, which knows of no proxy, is never asked for a name.

use super::asked::{Asked, Method};
use super::bypass::{self, Invalid};
use super::connect;
use super::downstream::Downstream;
use super::exchange::Exchange;
use super::page::Page;
use super::session::{Over, Session};
use crate::events::access::Ending;
use crate::events::record::plain;
use lockgate_inspect::Group;
use lockgate_model::{Class, TransactionId, Verdict};
use lockgate_proto::http::Framing;
use std::sync::Arc;
use std::time::SystemTime;

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

/// Serves one request.
pub async fn serve(
    session: &Session,
    mut client: Downstream<'_>,
    asked: Asked,
    framing: Framing,
) -> Result<(), Over> {
    let page = match admit(session, &asked).await {
        Ok(guest) if asked.method == Method::Connect => {
            return match client {
                Downstream::Http1(client) => connect::serve(session, &mut client.stream, asked, guest).await,
                // It was made a connection of its own before it came here.
                Downstream::Http2(_) => Err(Over::BreakOff),
            };
        }
        Ok(guest) => return Exchange::new(session, guest, client, asked, framing).run().await,
        Err(page) => page,
    };
    // A request whose end has not come would be taken for the next one.
    let closes = asked.wants_close || session.is_draining() || framing != Framing::None;
    // A request without content ends without a further byte; only then the next one can be read.
    let _ = client.step(&[]);
    let mut about = session.about(Some(&asked), TransactionId(session.shared.next_id()));
    about.closes = closes;
    let written = client.say_page(&page, &about);
    let bytes = page.response(&about).1.len() as u64;
    session.visit(&asked, None, &page.visit(bytes, Ending::Denied));
    written.map_err(|_| Over::Client)?;
    if closes { Err(Over::Said) } else { Ok(()) }
}

/// Who it is; or what is said in place of serving him.
pub async fn admit(session: &Session, asked: &Asked) -> Result<Guest, Page> {
    let user = match session.settled() {
        Some(user) => user,
        None => prove(session, asked).await?,
    };
    let group = session.group_for(user.as_deref());
    let Some(time) = group.bypass else { return Ok(Guest { user, group, passage: Passage::Judged }) };
    let (bypasses, now) = (&session.shared.bypasses, SystemTime::now());
    let way = bypass::Way { client: session.client.client.ip(), user: user.as_deref(), host: &asked.host };
    if asked.uri().starts_with(bypass::PATH) {
        let to = bypasses.open(way, asked.uri(), time, now).map_err(|invalid| {
            Page::link_over(match invalid {
                Invalid::Forged => "the link is none of the gateway's, or was made for somebody else",
                Invalid::Expired => "the link is too old",
            })
        })?;
        let (host, client) = (plain(&asked.host), way.client.to_canonical());
        let who = way.user.map(|user| format!(" ({})", plain(user))).unwrap_or_default();
        let details = format!("{host} for {client}{who} for {} s, group {}", time.as_secs(), group.name);
        session.shared.events.load().notice("bypass opened", &details);
        return Err(Page::go_on(format!("{}{to}", asked.site())));
    }
    if !bypasses.is_open(way, now) {
        return Ok(Guest { user, group, passage: Passage::Judged });
    }
    let mut lenient = Group::clone(&group);
    lenient.set_finding(Class::Web, Verdict::Pass);
    Ok(Guest { user, group: Arc::new(lenient), passage: Passage::Bypassed })
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
