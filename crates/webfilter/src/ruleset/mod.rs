//! Text of lists → AST, one line at a time. Rule: a bad line is a [`Fault`] and never spoils the next one.

pub(crate) mod directive;
pub(crate) mod filter;
pub(crate) mod kind;
pub(crate) mod lines;
pub(crate) mod punycode;
pub(crate) mod replacement;
pub(crate) mod site;
pub(crate) mod words;

pub use kind::Kind;

use crate::filters::Glob;
use crate::moment::TimeLimit;
use kind::{Content, Purpose, Rank};
pub(crate) use replacement::Template;
use std::net::IpAddr;

/// Why a line is not loaded: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub String);

/// What one line lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A name and all below it.
    Site(String),
    /// A name alone.
    Name(String),
    /// All below a top-level domain.
    Top(String),
    /// Addresses from one to another.
    Network {
        first: IpAddr,
        last: IpAddr,
    },
    /// A path of a host and all below them.
    Url {
        host: String,
        path: Vec<u8>,
    },
    /// A regular expression.
    Pattern(String),
    /// The end of a file's name, with its dot.
    Extension(String),
    MediaType(String),
    /// An address with wildcards.
    Glob(Glob),
    /// Everything, or every host that is no name.
    Blanket(Scope),
    /// A regular expression for the lines of a header.
    Header(String),
    /// A regular expression for what a browser calls itself.
    UserAgent(String),
    /// Words in their normal form.
    Words(String),
    /// A regular expression for addresses whose words are not looked at.
    NoSearch(String),
    /// Clients from one address to another.
    Client {
        first: IpAddr,
        last: IpAddr,
    },
    /// What stands in place of what an expression matches.
    Replacement {
        purpose: Purpose,
        expression: String,
        template: Template,
    },
}

/// What a blanket entry covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    /// Hosts that are addresses.
    Addresses,
    /// Tunnels and what is encrypted.
    Encrypted,
    /// The same, to hosts that are addresses.
    EncryptedAddresses,
}

/// What a line comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Entries(Vec<Entry>),
    /// An entry of another rank than its list's.
    Filter(Rank, Entry),
    /// Another list to be read in its place.
    Include(String),
    /// The list's category.
    Category(String),
    /// When the list holds.
    Time(TimeLimit),
    /// About something that no gateway sees.
    PassedOver,
    Comment,
}

/// Reads one line.
pub(crate) fn parse(content: Content, line: &str) -> Result<Line, Fault> {
    if let Some(said) = directive::parse(content, line)? {
        return Ok(said);
    }
    if content == Content::Filters {
        return filter::parse(line);
    }
    let one = |entry| Ok(Line::Entries(vec![entry]));
    let text = match content {
        Content::Patterns | Content::Headers | Content::UserAgents => lines::without_spaced_comment(line),
        // Anything may stand between the quotes.
        Content::Replacements(_) | Content::NoSearches => line,
        _ => lines::without_comment(line),
    };
    if text.is_empty() {
        return Ok(Line::Comment);
    }
    match content {
        Content::Sites => one(site::parse_site(text)?),
        Content::Urls => one(site::parse_url(text)?),
        Content::Patterns => one(Entry::Pattern(text.to_owned())),
        Content::Extensions => one(site::parse_extension(text)?),
        Content::MediaTypes => one(site::parse_media_type(text)?),
        Content::Hosts => match site::parse_hosts(text)? {
            none if none.is_empty() => Ok(Line::PassedOver),
            entries => Ok(Line::Entries(entries)),
        },
        Content::Headers => one(Entry::Header(text.to_owned())),
        Content::UserAgents => one(Entry::UserAgent(text.to_owned())),
        Content::Words => one(Entry::Words(words::parse(text)?)),
        Content::NoSearches => one(Entry::NoSearch(replacement::unquoted(text).to_owned())),
        Content::Clients => one(site::parse_client(text)?),
        Content::ClientNames => Err(Fault(format!(
            "{text:?} is the name of a client, and those are not looked up: list its address in bannediplist or \
             exceptioniplist"
        ))),
        Content::Replacements(purpose) => {
            let (expression, template) = replacement::parse(text)?;
            one(Entry::Replacement { purpose, expression: expression.to_owned(), template })
        }
        Content::Filters | Content::Usage | Content::Phrases => Ok(Line::Comment),
    }
}
