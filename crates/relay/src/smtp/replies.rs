//! What the client is told, in words: every reply of the proxy's own. Rule: each says what to do.

use lockgate_inspect::Judgement;
use lockgate_model::{Class, TransactionId, Verdict};
use lockgate_proto::line_ends::Refusal;
use lockgate_proto::smtp::Reply;

/// Before the first command.
pub fn greeting(hostname: &str) -> Reply {
    Reply::plain(220, &[&format!("{hostname} ESMTP")])
}

/// The session is over because the client said nothing.
pub fn silent() -> Reply {
    Reply::new(421, "4.4.2", "nothing came for too long; connect again")
}

/// The session is over because the gateway shuts down.
pub fn draining() -> Reply {
    Reply::new(421, "4.3.2", "the gateway is shutting down; connect again in a minute")
}

/// The next hop cannot be used now.
pub fn unavailable(code: u16, why: &str) -> Reply {
    Reply::new(code, "4.4.1", &format!("the next mail server cannot be reached ({why}); try again later"))
}

/// The next hop broke off within a mail.
pub fn lost(why: &str) -> Reply {
    Reply::new(451, "4.4.2", &format!("the next mail server broke off ({why}); send the mail again"))
}

/// The next hop has as many connections as it may have.
pub fn crowded() -> Reply {
    Reply::new(421, "4.3.2", "too many connections to the next mail server; connect again in a minute")
}

/// An authenticated session cannot go on: its next hop, which knew who it was, is gone.
pub fn identity_lost() -> Reply {
    Reply::new(421, "4.4.2", "the next mail server closed this session; connect and authenticate again")
}

/// A recipient that the gateway may not relay to.
pub fn relaying_denied(address: &str) -> Reply {
    Reply::new(
        550,
        "5.7.1",
        &format!("<{address}>: relaying denied; this gateway takes mail for its own domains only"),
    )
}

/// A recipient whose policy is not that of the first one.
pub fn other_group() -> Reply {
    Reply::new(452, "4.5.3", "this recipient has another policy; send it a copy of its own")
}

/// The mail is longer than what is taken.
pub fn too_long(bytes_max: u64) -> Reply {
    Reply::new(552, "5.3.4", &format!("the mail is longer than {bytes_max} bytes"))
}

/// The mail's line ends could be read in two ways.
pub fn refused_line_ends(refusal: Refusal) -> Reply {
    let what = match refusal {
        Refusal::BareCr => "a CR without LF",
        Refusal::BareLf => "an LF without CR",
        Refusal::NulAtLineStart => "a NUL at the start of a line",
        Refusal::LongLine => "a line that is too long",
    };
    Reply::new(550, "5.6.0", &format!("the mail has {what}; end each line with CR LF"))
}

/// Nothing could be stored.
pub fn not_stored(why: &str) -> Reply {
    Reply::new(452, "4.3.1", &format!("the mail could not be stored ({why}); try again later"))
}

/// The mail will not go on: why, and under which name the administrator finds it. `None` where it goes on.
pub fn judged(judgement: &Judgement, id: TransactionId) -> Option<Reply> {
    let because = because(judgement);
    match judgement.verdict {
        Verdict::Pass | Verdict::Tag => None,
        Verdict::Quarantine => {
            Some(Reply::new(250, "2.7.1", &format!("kept in quarantine: {because} [{id}]")))
        }
        Verdict::Defer if judgement.is_ours => {
            Some(Reply::new(451, "4.3.2", &format!("not inspected yet: {because}; try again later [{id}]")))
        }
        Verdict::Defer => {
            Some(Reply::new(451, "4.7.1", &format!("deferred: {because}; try again later [{id}]")))
        }
        Verdict::Reject => Some(Reply::new(550, "5.7.1", &format!("refused: {because} [{id}]"))),
    }
}

/// The reason in a few words.
fn because(judgement: &Judgement) -> String {
    if let Some(finding) = judgement.deciding_finding() {
        let what = match finding.class {
            Class::Virus => "virus",
            Class::Pua => "unwanted program",
            Class::Spam => "spam",
            Class::Intrusion | Class::Alert => "intrusion",
            Class::Web => "unwanted content",
            Class::Anomaly => "misleading format",
            Class::BannedName => "banned name",
            Class::BannedType => "banned type",
        };
        return format!("{what} {} in {}", finding.name, finding.part);
    }
    match judgement.incomplete.iter().find(|i| i.reason.is_ours() == judgement.is_ours) {
        Some(incomplete) => format!("{} could not be inspected ({})", incomplete.part, incomplete.reason),
        None => String::from("policy"),
    }
}
