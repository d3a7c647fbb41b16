//! What lists change of an exchange beside judging it: [`Rewriter`]. Rule: it says what a thing becomes; whoever carries the
//! exchange does that, or says that it did not.

use std::net::IpAddr;
use std::sync::Arc;

/// A request, as a rewriter sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Who sends it.
    pub client: IpAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Whether it asks for a tunnel.
    pub is_tunnel: bool,
    /// The host in lower case, without port.
    pub host: &'a str,
    /// Path and query.
    pub uri: &'a [u8],
    /// Its header: lines `Name: value`, each with CRLF.
    pub header: &'a [u8],
}

/// A line of a header that becomes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which line of those given, from 0; `None` for one that is added.
    pub at: Option<usize>,
    /// What stands there then; nothing where the line is taken away.
    pub text: Vec<u8>,
}

/// What becomes of a request, and of the page that answers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewriting {
    /// The client is sent there.
    pub redirect: Option<Vec<u8>>,
    /// The URL that is asked for in its place, or for a tunnel `https://` and the host.
    pub url: Option<Vec<u8>>,
    /// Lines of its header.
    pub lines: Vec<Line>,
    /// Whether rules for content hold for the page.
    pub changes_content: bool,
    /// Where the rules stand that changed something, each as `FILE:LINE`.
    pub rules: Vec<Arc<str>>,
}

impl Rewriting {
    /// Whether the request stays as it is.
    pub fn is_nothing(&self) -> bool {
        self.redirect.is_none() && self.url.is_none() && self.lines.is_empty()
    }
}

/// What one rule makes of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// It stays as it is.
    Nothing,
    /// It becomes this, by the rule that stands there.
    With(Vec<u8>, Arc<str>),
    /// It would become longer than is allowed.
    TooLong,
}

/// An engine's rules for changing things: immutable, shared between threads and flows.
pub trait Rewriter: Send + Sync {
    /// What becomes of a request.
    fn request(&self, asking: &Asking<'_>) -> Rewriting;
    /// What becomes of the lines of a response's header, given as [`Asking::header`] is.
    fn response(&self, header: &[u8]) -> Vec<Line>;
    /// How many rules for content there are; they hold in this order.
    fn content_rules(&self) -> usize;
    /// What a rule for content makes of it.
    fn replace(&self, rule: usize, content: &[u8], bytes_max: usize) -> Replaced;
}
