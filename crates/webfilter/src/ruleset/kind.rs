//! What a list is about, by its file's name or, without one, its first lines: [`Kind`]. Rule: one row for each name.

use super::lines::lines;

/// What the lines of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Names of sites, each with all below it.
    Sites,
    /// Hosts and paths.
    Urls,
    /// Regular expressions for URLs.
    Patterns,
    /// Ends of file names.
    Extensions,
    MediaTypes,
    /// Addresses and names, as `/etc/hosts` has them.
    Hosts,
    /// Adblock filters.
    Filters,
    /// Whether a category is of sites to ban.
    Usage,
    /// Words in pages.
    Phrases,
    /// Regular expressions for the lines of a request's header.
    Headers,
    /// Regular expressions for what a browser calls itself.
    UserAgents,
    /// Words that are looked for, joined with `+`.
    Words,
    /// Regular expressions for addresses whose words are not looked at.
    NoSearches,
    /// Addresses of clients.
    Clients,
    /// Names of clients, which are not looked up.
    ClientNames,
    /// Regular expressions with what stands in place of what they match.
    Replacements(Purpose),
}

/// What a replacement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The words that are looked for, out of a URL.
    Search,
    /// Another URL, which the client does not hear of.
    Url,
    /// Another URL, which the client is sent to.
    Redirect,
    /// Another host for a tunnel.
    Tunnel,
    /// Lines of a request's header.
    Header,
    /// A further line, by URL.
    AddedHeader,
    /// Lines of a response's header.
    ResponseHeader,
    /// The content of a page.
    Content,
}

/// What a list says of what is on it. The lists of a lower rank are not asked where one of a higher rank has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A client that gets nothing.
    ClientBanned,
    /// A client that gets everything.
    ClientException,
    LocalException,
    /// Words that are looked for: grey sites are no way round.
    LocalSearchBanned,
    LocalGrey,
    LocalBanned,
    Exception,
    /// What pages of such a site lead to.
    RefererException,
    Grey,
    Banned,
    /// A filter with the option `important`.
    ImportantFilter,
    FilterException,
    Filter,
    /// An exception wherever nothing bans it.
    SemiException,
    /// Words that may be looked for wherever the site is not banned.
    SearchException,
    SearchBanned,
    /// Files may be fetched from there whatever they are.
    FilesAllowed,
    /// A type of file.
    FileBanned,
    /// A type of file that may be fetched where all others are banned.
    FileAllowed,
    /// It says nothing of whether something is banned.
    Nothing,
}

/// The kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(u8);

const KINDS: [(&str, Content, Rank); 67] = [
    ("localexceptionsitelist", Content::Sites, Rank::LocalException),
    ("localexceptionsiteiplist", Content::Sites, Rank::LocalException),
    ("localexceptionurllist", Content::Urls, Rank::LocalException),
    ("localexceptionregexpurllist", Content::Patterns, Rank::LocalException),
    ("localgreysitelist", Content::Sites, Rank::LocalGrey),
    ("localgreysiteiplist", Content::Sites, Rank::LocalGrey),
    ("localgreyurllist", Content::Urls, Rank::LocalGrey),
    ("localgreyregexpurllist", Content::Patterns, Rank::LocalGrey),
    ("localbannedsitelist", Content::Sites, Rank::LocalBanned),
    ("localbannedsiteiplist", Content::Sites, Rank::LocalBanned),
    ("localbannedurllist", Content::Urls, Rank::LocalBanned),
    ("localbannedregexpurllist", Content::Patterns, Rank::LocalBanned),
    ("exceptionsitelist", Content::Sites, Rank::Exception),
    ("exceptionsiteiplist", Content::Sites, Rank::Exception),
    ("exceptionurllist", Content::Urls, Rank::Exception),
    ("exceptionregexpurllist", Content::Patterns, Rank::Exception),
    ("greysitelist", Content::Sites, Rank::Grey),
    ("greysiteiplist", Content::Sites, Rank::Grey),
    ("greyurllist", Content::Urls, Rank::Grey),
    ("greyregexpurllist", Content::Patterns, Rank::Grey),
    ("bannedsitelist", Content::Sites, Rank::Banned),
    ("bannedsiteiplist", Content::Sites, Rank::Banned),
    ("bannedurllist", Content::Urls, Rank::Banned),
    ("bannedregexpurllist", Content::Patterns, Rank::Banned),
    ("exceptionfilesitelist", Content::Sites, Rank::FilesAllowed),
    ("exceptionfilesiteiplist", Content::Sites, Rank::FilesAllowed),
    ("exceptionfileurllist", Content::Urls, Rank::FilesAllowed),
    ("bannedextensionlist", Content::Extensions, Rank::FileBanned),
    ("exceptionextensionlist", Content::Extensions, Rank::FileAllowed),
    ("bannedmimetypelist", Content::MediaTypes, Rank::FileBanned),
    ("exceptionmimetypelist", Content::MediaTypes, Rank::FileAllowed),
    ("exceptionphraselist", Content::Phrases, Rank::Exception),
    ("bannedphraselist", Content::Phrases, Rank::Banned),
    ("weightedphraselist", Content::Phrases, Rank::Banned),
    ("bannedregexpheaderlist", Content::Headers, Rank::Banned),
    ("exceptionregexpheaderlist", Content::Headers, Rank::Exception),
    ("bannedregexpuseragentlist", Content::UserAgents, Rank::Banned),
    ("exceptionregexpuseragentlist", Content::UserAgents, Rank::Exception),
    ("refererexceptionsitelist", Content::Sites, Rank::RefererException),
    ("refererexceptionsiteiplist", Content::Sites, Rank::RefererException),
    ("refererexceptionurllist", Content::Urls, Rank::RefererException),
    ("localbannedsearchlist", Content::Words, Rank::LocalSearchBanned),
    ("bannedsearchlist", Content::Words, Rank::SearchBanned),
    ("bannedsearchoveridelist", Content::Words, Rank::SearchException),
    ("searchregexplist", Content::Replacements(Purpose::Search), Rank::Nothing),
    ("searchexceptionregexplist", Content::NoSearches, Rank::Nothing),
    ("urlregexplist", Content::Replacements(Purpose::Url), Rank::Nothing),
    ("urlredirectregexplist", Content::Replacements(Purpose::Redirect), Rank::Nothing),
    ("sslsiteregexplist", Content::Replacements(Purpose::Tunnel), Rank::Nothing),
    ("headerregexplist", Content::Replacements(Purpose::Header), Rank::Nothing),
    ("addheaderregexplist", Content::Replacements(Purpose::AddedHeader), Rank::Nothing),
    ("responseheaderregexplist", Content::Replacements(Purpose::ResponseHeader), Rank::Nothing),
    ("contentregexplist", Content::Replacements(Purpose::Content), Rank::Nothing),
    ("bannediplist", Content::Clients, Rank::ClientBanned),
    ("exceptioniplist", Content::Clients, Rank::ClientException),
    ("bannedclientlist", Content::ClientNames, Rank::ClientBanned),
    ("exceptionclientlist", Content::ClientNames, Rank::ClientException),
    ("bannedsearchoverridelist", Content::Words, Rank::SearchException),
    ("semiexceptionsitelist", Content::Sites, Rank::SemiException),
    ("semiexceptionsiteiplist", Content::Sites, Rank::SemiException),
    ("localsemiexceptionsitelist", Content::Sites, Rank::SemiException),
    ("localsemiexceptionsiteiplist", Content::Sites, Rank::SemiException),
    ("domains", Content::Sites, Rank::Banned),
    ("urls", Content::Urls, Rank::Banned),
    ("expressions", Content::Patterns, Rank::Banned),
    ("hosts", Content::Hosts, Rank::Banned),
    ("adblock", Content::Filters, Rank::Filter),
];

/// A category's own file, which says what its lists are good for. It has no row, for it lists nothing.
const USAGE: Kind = Kind(u8::MAX);
/// Names that other collections have for the same.
const ALSO: [(&str, &str); 2] =
    [("expression", "expressions"), ("very_restrictive_expression", "expressions")];
/// Lists of e2guardian that decide nothing here, by the beginnings of their names, and why.
const IDLE: [(&[&str], &str); 12] = [
    (&["log", "nolog", "alertcategorylist"], "what is logged is chosen in `[events]`"),
    (&["exceptionvirus"], "everything is scanned for viruses, wherever it comes from"),
    (&["managed", "fancy", "trickle"], "there is one way to hold downloads, whatever fetches them"),
    (&["authexception"], "who must say who he is is chosen by listener"),
    (
        &["filtergroupslist", "ipgroups", "portgroups", "default"],
        "who is in which group is chosen in `[[policy.group]]`",
    ),
    (&["browserregexplist"], "no page asks browsers for a password"),
    (&["domainsnobypass", "urlnobypass", "ipnobypass"], "no list says what may be bypassed"),
    (&["embededreferer"], "addresses within addresses are not taken apart"),
    (
        &["nomitm", "nocheckcert"],
        "what is intercepted, and how it is checked, is chosen in the configuration",
    ),
    (
        &["bannedsslsite", "greysslsite", "localbannedsslsite", "localgreysslsite"],
        "e2guardian's own storyboard does not ask for it",
    ),
    (
        &["allowedtldlist", "blanketblocktldlist"],
        "only a storyboard of one's own asks for it: list `.TLD` in bannedsitelist",
    ),
    (&["bannedtimelist", "blankettimelist"], "write `#time:` and `**` into a bannedsitelist of its own"),
];
/// How many lines decide what a file without a telling name is.
const LINES_SNIFFED: usize = 64;

impl Kind {
    /// The kind that a file's name tells: the names of e2guardian's lists (`.in` behind them is a template's), those of
    /// the files of a category (`adult/domains`), or the endings `.domains`, `.urls`, `.expressions`, `.hosts`, `.adblock`.
    pub fn of_file(file_name: &str) -> Option<Self> {
        let name = file_name.rsplit(['/', ':']).next()?;
        let name = name.strip_suffix(".in").unwrap_or(name);
        if name == "usage" {
            return Some(USAGE);
        }
        Self::named(name).or_else(|| {
            let (_, ending) = name.rsplit_once('.')?;
            Self::named(ending).filter(|kind| kind.is_of_a_category() || kind.is_by_ending())
        })
    }

    /// Why a file of that name decides nothing, where it is a list of e2guardian.
    pub fn idle(file_name: &str) -> Option<&'static str> {
        if file_name.contains("phraselists/") {
            return Some("no list of phrases includes it");
        }
        let name = file_name.rsplit(['/', ':']).next()?;
        let begins = |names: &&(&[&str], &str)| names.0.iter().any(|begin| name.starts_with(begin));
        IDLE.iter().find(begins).map(|(_, why)| *why)
    }

    /// The kind that a file's first lines tell: hosts, Adblock filters, or names of sites.
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..64 << 10).unwrap_or(bytes);
        let starts = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
        for (_, line) in lines(head).take(LINES_SNIFFED) {
            let line = line.ok()?;
            if starts(&line, &["[Adblock", "[uBlock", "||", "@@", "!"]) {
                return Self::named("adblock");
            }
            if starts(&line, &["#", ";"]) {
                continue;
            }
            let mut words = line.split_whitespace();
            let (first, second) = (words.next()?, words.next().filter(|word| !word.starts_with('#')));
            return match (first.parse::<std::net::IpAddr>(), second) {
                (Ok(_), Some(_)) => Self::named("hosts"),
                _ if second.is_none() && super::site::is_site(first) => Self::named("domains"),
                _ if second.is_none() && super::site::is_url(first) => Self::named("urls"),
                _ => None,
            };
        }
        None
    }

    /// The name that tells it.
    pub fn name(self) -> &'static str {
        self.row().map_or("usage", |(name, ..)| name)
    }

    /// Whether it is one of e2guardian's own lists: of a directory with such, nothing holds that they do not include.
    pub fn is_e2guardian(self) -> bool {
        self.row().is_some() && !self.is_of_a_category() && !self.is_by_ending()
    }

    pub(crate) fn content(self) -> Content {
        self.row().map_or(Content::Usage, |(_, content, _)| *content)
    }

    pub(crate) fn rank(self) -> Rank {
        self.row().map_or(Rank::Banned, |(.., rank)| *rank)
    }

    /// Whether the directory's name is that of a category.
    pub(crate) fn is_of_a_category(self) -> bool {
        matches!(self.name(), "domains" | "urls" | "expressions" | "usage")
    }

    fn is_by_ending(self) -> bool {
        matches!(self.name(), "hosts" | "adblock")
    }

    fn row(self) -> Option<&'static (&'static str, Content, Rank)> {
        KINDS.get(usize::from(self.0))
    }

    fn named(name: &str) -> Option<Self> {
        let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, name)| name);
        let at = KINDS.iter().position(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        u8::try_from(at).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_kind() {
        for (name, ..) in KINDS {
            assert_eq!(Kind::of_file(&format!("/etc/lists/{name}")).unwrap().name(), name);
        }
        for (file, kind) in [
            ("bannedsitelist.in", Some("bannedsitelist")),
            ("builtin:bannedsitelist", Some("bannedsitelist")),
            ("adult/very_restrictive_expression", Some("expressions")),
            ("adult/usage", Some("usage")),
            ("own.domains", Some("domains")),
            ("easy.ADBLOCK", Some("adblock")),
            ("own.bannedsitelist", None),
            ("phraselists/pornography/weighted", None),
            ("README", None),
            ("", None),
        ] {
            assert_eq!(Kind::of_file(file).map(Kind::name), kind, "{file}");
        }
        assert!(Kind::of_file("greyurllist").unwrap().is_e2guardian());
        assert!(!Kind::of_file("domains").unwrap().is_e2guardian());
    }

    #[test]
    fn the_first_lines_tell_the_kind() {
        for (text, kind) in [
            ("# a list\n\nads.example.com\nb.example\n", Some("domains")),
            ("; old\r\n*.example.com\r\n", Some("domains")),
            ("127.0.0.1 localhost\n0.0.0.0 ads.example\n", Some("hosts")),
            ("192.0.2.1\n", Some("domains")),
            ("a.example/path\n", Some("urls")),
            ("[Adblock Plus 2.0]\n", Some("adblock")),
            ("! Title: x\n", Some("adblock")),
            ("||ads.example^\n", Some("adblock")),
            ("This is a text.\n", None),
            ("%PDF-1.4\n", None),
            ("# nothing\n", None),
        ] {
            assert_eq!(Kind::of_content(text.as_bytes()).map(Kind::name), kind, "{text}");
        }
    }
}
