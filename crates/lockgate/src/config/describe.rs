//! What a configuration says, in words for people: [`describe`]. Rule: nothing is read and nothing is loaded.

use crate::config::Config;
use lockgate_inspect::Group;
use lockgate_model::{Class, Reason, Verdict};
use lockgate_relay::settings::{ClientAddress, EventsTo, Intercept, Listener, NextHop, Speaks};
use std::fmt::Write;

/// Who is served, how mail is judged, and where events go.
pub fn describe(config: &Config) -> String {
    let mut out = format!("configuration: {}\n\nlisteners\n", config.file);
    for listener in &config.settings.listeners {
        out.push_str(&listener_text(listener));
    }
    if config.settings.listeners.is_empty() {
        out.push_str("  none: add [[listen]], nothing is served\n");
    }
    out.push_str("\npolicy\n");
    for group in config.policy.groups() {
        out.push_str(&group_text(group));
    }
    let events = match &config.settings.events.eve {
        EventsTo::Nowhere => "not written; set eve in [events]".to_owned(),
        EventsTo::Stderr => "standard error".to_owned(),
        EventsTo::File(path) => path.display().to_string(),
    };
    let _ = writeln!(out, "\nevents: {events}");
    out
}

/// A listener, and whether it accepts recipients for whom the next hop would not accept mail from a stranger.
fn listener_text(listener: &Listener) -> String {
    let intercept = match listener.intercept {
        Intercept::Explicit => "",
        Intercept::Redirect => ", intercepted by nft redirect",
        Intercept::Tproxy => ", intercepted by nft tproxy",
    };
    let Listener { name, address, next_hop, .. } = listener;
    let protocol = listener.protocol.name();
    let mut out = format!("  {name}: {protocol} on {address}{intercept}");
    match listener.protocol {
        Speaks::Http => {
            out.push_str(", to where each request is for\n");
            if let Some(users) = &listener.users {
                let _ = writeln!(out, "    for those in {}", users.display());
            }
        }
        Speaks::Smtp | Speaks::Pop3 => _ = writeln!(out, ", next hop {next_hop}"),
    }
    if listener.protocol == Speaks::Smtp {
        let _ = writeln!(out, "    {}", recipients_text(listener));
    }
    out
}

fn recipients_text(listener: &Listener) -> String {
    const WHY: &str = "it would take every client for the gateway, whose address it may trust";
    const ALSO: &str = "authenticated clients and servers in accept_xforward_from may write to everybody";
    let domains = match listener.relay_domains.as_slice() {
        [] => "refused, every one: set relay_domains, or client_address".to_owned(),
        domains => format!("only in {}", domains.join(", ")),
    };
    match (&listener.next_hop, listener.intercept, listener.client_address) {
        (NextHop::Maildir(_), ..) => {
            "recipients: every one, delivered into the maildir and nowhere else".to_owned()
        }
        (_, Intercept::Tproxy, _) => {
            "recipients: as the next hop decides, which sees the client's address".to_owned()
        }
        (_, _, ClientAddress::Xclient | ClientAddress::ProxyV1 | ClientAddress::ProxyV2) => {
            "recipients: as the next hop decides, which learns the client's address".to_owned()
        }
        (_, _, ClientAddress::Auto) => format!(
            "recipients: as the next hop decides, if it takes XCLIENT from the gateway\n    \
             recipients if it does not: {domains}; {WHY}\n    {ALSO}"
        ),
        (_, _, ClientAddress::Xforward | ClientAddress::None) => {
            format!(
                "recipients: {domains}; the next hop does not learn the client's address, and {WHY}\n    {ALSO}"
            )
        }
    }
}

fn group_text(group: &Group) -> String {
    let mut out = format!("  {}:", group.name);
    for verdict in Verdict::ALL {
        let findings = Class::ALL.into_iter().filter(|c| group.on_finding(*c) == verdict).map(Class::name);
        let reasons =
            Reason::ALL.into_iter().filter(|r| group.on_incomplete(*r) == verdict).map(Reason::name);
        let (findings, reasons): (Vec<_>, Vec<_>) = (findings.collect(), reasons.collect());
        if findings.is_empty() && reasons.is_empty() {
            continue;
        }
        let _ = write!(out, "\n    {:10} {}", verdict.name(), findings.join(" "));
        if !reasons.is_empty() {
            let gap = if findings.is_empty() { "" } else { "; " };
            let _ = write!(out, "{gap}not inspected: {}", reasons.join(" "));
        }
    }
    let bans = group.banned_names.len() + group.banned_types.len();
    if bans > 0 {
        let _ = write!(out, "\n    {bans} banned names and types");
    }
    out.push('\n');
    out
}
