//! The words on a page, in each language. Rule: every language says all of it.

use crate::language::Language::{self, English, German};
use std::time::Duration;

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The address is on a list.
    Unwanted,
    /// Something was found in the request.
    RequestBlocked,
    /// Something was found in the response.
    ResponseBlocked,
    /// It could not be inspected just now.
    NotYet,
    /// The proxy does not go there.
    Forbidden,
    /// The client's request cannot be served.
    BadRequest,
    /// The server gave no answer that can be passed on.
    BadGateway,
    /// The server is not who it should be.
    Distrusted,
    /// Nobody knows who asks.
    Unknown,
    /// The link past a page is not taken.
    LinkOver,
    /// The link past a page was taken.
    GoOn,
    /// A list leads to another page.
    Led,
}

impl Subject {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [Self; 12] = [
        Self::Unwanted,
        Self::RequestBlocked,
        Self::ResponseBlocked,
        Self::NotYet,
        Self::Forbidden,
        Self::BadRequest,
        Self::BadGateway,
        Self::Distrusted,
        Self::Unknown,
        Self::LinkOver,
        Self::GoOn,
        Self::Led,
    ];

    /// The heading.
    pub fn title(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Unwanted | Self::ResponseBlocked, English) => "Page blocked",
            (Self::Unwanted | Self::ResponseBlocked, German) => "Seite gesperrt",
            (Self::RequestBlocked, English) => "Request blocked",
            (Self::RequestBlocked, German) => "Anfrage gesperrt",
            (Self::NotYet, English) => "Not let through yet",
            (Self::NotYet, German) => "Noch nicht durchgelassen",
            (Self::Forbidden, English) => "Not allowed",
            (Self::Forbidden, German) => "Nicht erlaubt",
            (Self::BadRequest, English) => "Request refused",
            (Self::BadRequest, German) => "Anfrage abgelehnt",
            (Self::BadGateway, English) => "No answer from the server",
            (Self::BadGateway, German) => "Keine Antwort vom Server",
            (Self::Distrusted, English) => "Server not trusted",
            (Self::Distrusted, German) => "Server nicht vertrauenswürdig",
            (Self::Unknown, English) => "Who are you?",
            (Self::Unknown, German) => "Anmeldung erforderlich",
            (Self::LinkOver, English) => "This link is no longer valid",
            (Self::LinkOver, German) => "Dieser Link gilt nicht mehr",
            (Self::GoOn, English) => "Going on",
            (Self::GoOn | Self::Led, German) => "Weiter",
            (Self::Led, English) => "Another page",
        }
    }

    /// What happened, in a sentence.
    pub fn what(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Unwanted, English) => "This page is not wanted here, so it is not let through.",
            (Self::Unwanted, German) => "Diese Seite ist hier nicht erwünscht und wird nicht durchgelassen.",
            (Self::RequestBlocked, English) => {
                "What was to be sent is not let through, and the server got none of it."
            }
            (Self::RequestBlocked, German) => {
                "Was gesendet werden sollte, wird nicht durchgelassen. Der Server hat nichts davon bekommen."
            }
            (Self::ResponseBlocked, English) => "What the server sent is not let through.",
            (Self::ResponseBlocked, German) => "Was der Server geschickt hat, wird nicht durchgelassen.",
            (Self::NotYet, English) => "It could not be inspected just now, and nothing passes that was not.",
            (Self::NotYet, German) => {
                "Es konnte gerade nicht geprüft werden, und was nicht geprüft ist, wird nicht durchgelassen."
            }
            (Self::Forbidden, English) => "The gateway does not go there.",
            (Self::Forbidden, German) => "Dorthin führt das Gateway nicht.",
            (Self::BadRequest, English) => "The gateway cannot serve this request as it came.",
            (Self::BadRequest, German) => "So, wie die Anfrage kam, kann das Gateway sie nicht bedienen.",
            (Self::BadGateway, English) => {
                "The server that was asked for gave no answer that can be passed on."
            }
            (Self::BadGateway, German) => {
                "Der angefragte Server gab keine Antwort, die weitergegeben werden kann."
            }
            (Self::Distrusted, English) => {
                "The server could not prove that it is the one that was asked for, so nothing was sent to it."
            }
            (Self::Distrusted, German) => {
                "Der Server konnte nicht beweisen, dass er der angefragte ist; ihm wurde nichts gesendet."
            }
            (Self::Unknown, English) => {
                "Only those are let through who give a name and password that are known."
            }
            (Self::Unknown, German) => {
                "Durchgelassen wird nur, wer einen bekannten Namen mit Passwort angibt."
            }
            (Self::LinkOver, English) => {
                "It was made for somebody else, or too long ago. Go to the page again for a new one."
            }
            (Self::LinkOver, German) => {
                "Er war für jemand anderen, oder er ist zu alt. Rufen Sie die Seite noch einmal auf, um einen neuen zu bekommen."
            }
            (Self::GoOn, English) => "For a while the page is let through.",
            (Self::GoOn, German) => "Die Seite wird eine Zeit lang durchgelassen.",
            (Self::Led, English) => "In place of this page there is another one.",
            (Self::Led, German) => "Statt dieser Seite gibt es eine andere.",
        }
    }

    /// What to do about it.
    pub fn advice(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::NotYet | Self::BadGateway, English) => {
                "Try again in a moment. If it stays so, tell your administrator and name this number."
            }
            (Self::NotYet | Self::BadGateway, German) => {
                "Versuchen Sie es gleich noch einmal. Wenn es so bleibt, nennen Sie Ihrer Administration diese Nummer."
            }
            (_, English) => "If you think that this is wrong, tell your administrator and name this number.",
            (_, German) => {
                "Wenn Sie das für einen Irrtum halten, nennen Sie Ihrer Administration diese Nummer."
            }
        }
    }
}

/// A label that stands on every page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Before what was asked for.
    Address,
    /// Before the reasons.
    Why,
    /// Before the number.
    Number,
    /// Before the organisation's contact.
    Contact,
}

impl Label {
    /// In that language.
    pub fn word(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Address, English) => "Address",
            (Self::Address, German) => "Adresse",
            (Self::Why, English) => "Why",
            (Self::Why, German) => "Grund",
            (Self::Number, English) => "Number",
            (Self::Number, German) => "Nummer",
            (Self::Contact, English) => "Whom to ask",
            (Self::Contact, German) => "Wen Sie fragen können",
        }
    }
}

/// The words of the link past the page, and what stands beside it.
pub fn offer(time: Duration, language: Language) -> (String, &'static str) {
    let minutes = time.as_secs().div_ceil(60);
    match (language, minutes) {
        (English, 1) => ("Go there for 1 minute all the same".to_owned(), "It is written down that you did."),
        (English, _) => {
            (format!("Go there for {minutes} minutes all the same"), "It is written down that you did.")
        }
        (German, 1) => ("Trotzdem 1 Minute lang dorthin".to_owned(), "Dass Sie es taten, wird festgehalten."),
        (German, _) => {
            (format!("Trotzdem {minutes} Minuten lang dorthin"), "Dass Sie es taten, wird festgehalten.")
        }
    }
}
