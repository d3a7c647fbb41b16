//! Paths and addresses of RFC 5321 section 4.1.2. Rule: an address that another server could route elsewhere says so.
//!
//! The text stays as it came, so that what is judged is what is relayed; only a source route is dropped, as section
//! 4.1.1.3 allows. Domains are compared in lower case and without the final dot.

use super::reply::Reply;

/// The argument of MAIL or RCPT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// `<>`: the sender of a notice that must not be answered.
    Null,
    /// An address, without source route.
    Address(Address),
}

impl Path {
    /// Reads the path at the start of the text; gives what stands behind it, too.
    pub(crate) fn parse(text: &str) -> Result<(Self, &str), Reply> {
        let text = text.trim_start_matches([' ', '\t']);
        let Some(inner) = text.strip_prefix('<') else {
            // Not in the grammar, but printers and scripts send it, and it can be read in one way only.
            let end = text.find([' ', '\t']).unwrap_or(text.len());
            let (word, rest) = text.split_at(end);
            if word.is_empty() || word.contains(['<', '>', '"', '\\']) {
                return Err(bad("put the address between < and >"));
            }
            return Ok((Self::Address(Address::parse(word)?), rest));
        };
        let end = closing_bracket(inner).ok_or_else(|| bad("the address has no closing >"))?;
        let (inner, rest) = inner.split_at(end);
        let rest = rest.get(1..).unwrap_or_default();
        if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return Err(bad("put a space between the address and its parameters"));
        }
        if inner.is_empty() {
            return Ok((Self::Null, rest));
        }
        Ok((Self::Address(Address::parse(without_route(inner)?)?), rest))
    }

    /// The address, if there is one.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Null => None,
            Self::Address(address) => Some(address),
        }
    }

    /// The text between the brackets, empty for the null path.
    pub fn as_str(&self) -> &str {
        self.address().map_or("", Address::as_str)
    }
}

/// Where the `>` stands that is not within quotes.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quoting = Quoting::default();
    text.char_indices().find(|(_, c)| quoting.step(*c) == Quoted::No && *c == '>').map(|(at, _)| at)
}

/// Drops `@a,@b:`; its hosts must look like hosts, so that nothing is dropped that means something else.
fn without_route(text: &str) -> Result<&str, Reply> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    let colon = text.find(':').ok_or_else(|| bad("the source route has no colon; leave it out"))?;
    let (route, rest) = text.split_at(colon);
    for host in route.split(',') {
        let host =
            host.strip_prefix('@').ok_or_else(|| bad("the source route is malformed; leave it out"))?;
        check_domain(host)?;
    }
    Ok(rest.get(1..).unwrap_or_default())
}

/// A mailbox: local part and mostly a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    text: String,
    local_bytes: usize,
}

impl Address {
    /// Reads `local@domain`, or `local` alone, as in `RCPT TO:<postmaster>`.
    pub fn parse(text: &str) -> Result<Self, Reply> {
        let local_bytes = local_part(text)?;
        match text.get(local_bytes..).and_then(|rest| rest.strip_prefix('@')) {
            Some(domain) => check_domain(domain)?,
            None if local_bytes == text.len() => {}
            None => return Err(bad("a character of the address is not allowed there")),
        }
        Ok(Self { text: text.to_owned(), local_bytes })
    }

    /// As it came, without a source route.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the `@`, with its quotes.
    pub fn local_part(&self) -> &str {
        self.text.get(..self.local_bytes).unwrap_or_default()
    }

    /// What stands behind the `@`, in lower case, without the final dot; an address literal with its brackets. `None`
    /// for a local part alone, which the next hop takes for one of its own.
    pub fn domain(&self) -> Option<String> {
        let domain = self.text.get(self.local_bytes + 1..)?;
        Some(domain.strip_suffix('.').unwrap_or(domain).to_lowercase())
    }

    /// Whether the domain is an address literal, such as `[192.0.2.1]`.
    pub fn is_literal(&self) -> bool {
        self.text.get(self.local_bytes..).is_some_and(|rest| rest.starts_with("@["))
    }

    /// Whether the local part can be read as an address of its own: `user%other@relay`, `other!user@relay`,
    /// `"user@other"@relay`, `host::user`, Exchange's `IMCEASMTP-user+40other@relay`. A next hop that trusts the gateway might send it on, so a gateway that
    /// accepts domains instead of passing the client's address must not take it. Quotes make no difference, since
    /// servers look inside them.
    pub fn is_routed(&self) -> bool {
        let local = self.local_part();
        let is_encapsulated = local.trim_start_matches('"').to_ascii_uppercase().starts_with("IMCEASMTP-");
        is_encapsulated || local.contains(['%', '!', '@', ':'])
    }

    /// Whether it is one of these domains' own, so that a next hop which trusts the gateway keeps it: an entry
    /// `example.com` stands for that domain alone, `*.example.com` for those under it. An address that is routed is
    /// nobody's. `postmaster` alone is the next hop's (RFC 5321 section 4.5.1), another local part alone is not:
    /// what is appended to it is not known here.
    pub fn belongs_to<S: AsRef<str>>(&self, domains: &[S]) -> bool {
        if self.is_routed() {
            return false;
        }
        let Some(domain) = self.domain() else { return self.text.eq_ignore_ascii_case("postmaster") };
        domains.iter().map(|entry| entry.as_ref().to_lowercase()).any(|entry| {
            let entry = entry.strip_suffix('.').unwrap_or(&entry);
            match entry.strip_prefix("*.") {
                Some(parent) => {
                    domain.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                }
                None => domain == entry,
            }
        })
    }

    /// Whether it needs SMTPUTF8 (RFC 6531).
    pub fn is_international(&self) -> bool {
        !self.text.is_ascii()
    }
}

/// How many bytes the local part has: a quoted string, or atoms and dots. Dots may stand anywhere: some large providers
/// gave out such addresses.
fn local_part(text: &str) -> Result<usize, Reply> {
    if !text.starts_with('"') {
        let end = text.find(|c| !is_local(c)).unwrap_or(text.len());
        return if end == 0 { Err(bad("the address has no local part")) } else { Ok(end) };
    }
    let mut quoting = Quoting::default();
    for (at, c) in text.char_indices() {
        if c.is_control() {
            break;
        }
        quoting.step(c);
        if quoting == Quoting::Outside {
            return Ok(at + 1);
        }
    }
    Err(bad("the quoted local part does not end"))
}

fn is_local(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && !"\"\\<>()[],;:@".contains(c)
}

fn check_domain(domain: &str) -> Result<(), Reply> {
    if let Some(literal) = domain.strip_prefix('[') {
        let inner = literal.strip_suffix(']').ok_or_else(|| bad("the address literal has no closing ]"))?;
        // RFC 5321 section 4.1.3: dcontent is printable and holds no brackets or backslash.
        let is_content = |c: char| c.is_ascii_graphic() && !"[]\\<>@\"".contains(c);
        return if !inner.is_empty() && inner.chars().all(is_content) {
            Ok(())
        } else {
            Err(bad("the address literal is malformed"))
        };
    }
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c) || is_letter(c))
    };
    if domain.split('.').all(is_label) { Ok(()) } else { Err(bad("the domain of the address is malformed")) }
}

/// Beyond ASCII, a character that is no space, no control and no stand-in for a dot or an at sign.
fn is_letter(c: char) -> bool {
    // IDNA reads these as dots (UTS 46), and these as `@`: as part of a label they would be read two ways.
    let looks_structural = matches!(c, '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{fe6b}' | '\u{ff20}');
    !c.is_ascii() && !c.is_control() && !c.is_whitespace() && !looks_structural
}

/// Follows quotes and backslashes.
#[derive(Default, PartialEq, Eq)]
enum Quoting {
    #[default]
    Outside,
    Inside,
    InsideEscaped,
}

#[derive(PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

impl Quoting {
    /// Whether this character stands within quotes.
    fn step(&mut self, c: char) -> Quoted {
        let before = std::mem::take(self);
        *self = match (&before, c) {
            (Self::Outside, '"') => Self::Inside,
            (Self::Outside, _) => Self::Outside,
            (Self::Inside, '"') => Self::Outside,
            (Self::Inside, '\\') => Self::InsideEscaped,
            (Self::Inside | Self::InsideEscaped, _) => Self::Inside,
        };
        if before == Self::Outside { Quoted::No } else { Quoted::Yes }
    }
}

fn bad(text: &str) -> Reply {
    Reply::new(501, "5.1.3", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path as it came, what is relayed, domain, routed.
    type Case = (&'static str, &'static str, Option<&'static str>, bool);

    #[test]
    fn addresses_are_classified() {
        let cases: &[Case] = &[
            ("<user@example.com>", "user@example.com", Some("example.com"), false),
            ("user@example.com", "user@example.com", Some("example.com"), false),
            ("  <user@EXAMPLE.com.>", "user@EXAMPLE.com.", Some("example.com"), false),
            ("<postmaster>", "postmaster", None, false),
            ("<user%other@relay>", "user%other@relay", Some("relay"), true),
            ("<user%other>", "user%other", None, true),
            ("<a!b@relay>", "a!b@relay", Some("relay"), true),
            ("<a!b>", "a!b", None, true),
            ("<@a,@b.c:user@z>", "user@z", Some("z"), false),
            ("<@a:user%other@z>", "user%other@z", Some("z"), true),
            ("<\"x@y\"@z>", "\"x@y\"@z", Some("z"), true),
            ("<\"x y\"@z>", "\"x y\"@z", Some("z"), false),
            ("<\"a%b\"@z>", "\"a%b\"@z", Some("z"), true),
            ("<\"a\\\"b>c\"@z>", "\"a\\\"b>c\"@z", Some("z"), false),
            ("<\"\"@z>", "\"\"@z", Some("z"), false),
            ("<user@[192.0.2.1]>", "user@[192.0.2.1]", Some("[192.0.2.1]"), false),
            ("<user@[IPv6:2001:db8::1]>", "user@[IPv6:2001:db8::1]", Some("[ipv6:2001:db8::1]"), false),
            ("<a..b.@z>", "a..b.@z", Some("z"), false),
            ("<ü@bücher.example>", "ü@bücher.example", Some("bücher.example"), false),
            ("<a_b+c=d/e@sub_d.example>", "a_b+c=d/e@sub_d.example", Some("sub_d.example"), false),
        ];
        for (text, relayed, domain, routed) in cases {
            let (path, rest) = Path::parse(text).expect(text);
            let address = path.address().expect("an address");
            assert_eq!(address.as_str(), *relayed);
            assert_eq!(address.domain().as_deref(), *domain, "{text}");
            assert_eq!(address.is_routed(), *routed, "{text}");
            assert_eq!(rest, "");
        }
        assert_eq!(Path::parse("<> SIZE=1").expect("null"), (Path::Null, " SIZE=1"));
    }

    #[test]
    fn only_what_a_domain_keeps_belongs_to_it() {
        let domains = ["Example.com", "*.example.org", "[192.0.2.1]"];
        let cases = [
            ("a@example.com", true),
            ("a@EXAMPLE.COM.", true),
            ("postmaster", true),
            ("a@sub.example.org", true),
            ("a@b.sub.example.org", true),
            ("a@[192.0.2.1]", true),
            ("a@sub.example.com", false),
            ("a@example.org", false),
            ("a@badexample.org", false),
            ("a@badexample.com", false),
            ("a@example.com.evil", false),
            ("a@[192.0.2.2]", false),
            ("a", false),
            ("evil%other@example.com", false),
            ("other!evil@example.com", false),
            ("\"evil@other\"@example.com", false),
            ("\"other!evil\"@example.com", false),
            ("\"other:evil\"@example.com", false),
            ("postmaster%other", false),
        ];
        for (text, expected) in cases {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.belongs_to(&domains), expected, "{text}");
        }
        let (_, rest) = Path::parse("<@example.com:a@other>").expect("a route");
        assert_eq!(rest, "");
        assert!(!Address::parse("a@other").expect("an address").belongs_to(&domains));
        assert!(!Address::parse("a@other").expect("an address").belongs_to(&["", ".", "*"]));
    }

    /// What testers of open relays try, towards a relay that takes mail for `relay` and `[192.0.2.1]` only.
    #[test]
    fn no_known_trick_relays() {
        let tricks = [
            "user@other",
            "user@other.",
            "user",
            "\"user@other\"",
            "\"user%other\"",
            "user@other@relay",
            "\"user@other\"@relay",
            "user%other@relay",
            "user%other@[192.0.2.1]",
            "\"user%other\"@relay",
            "\"user@other\"@[192.0.2.1]",
            "user@other@[192.0.2.1]",
            "@relay:user@other",
            "@[192.0.2.1]:user@other",
            "@relay,@relay:user%other@relay",
            "other!user",
            "other!user@relay",
            "other!user@[192.0.2.1]",
            "\"other!user\"@relay",
            "user@relay@other",
            "user%relay@other",
            "user@other,relay",
            "user@other;user@relay",
            "user@other user@relay",
            "user@other>,<user@relay",
            "user@relay\u{0}.other",
            "IMCEASMTP-user+40other@relay",
            "user@[192.0.2.1].other",
        ];
        for trick in tricks {
            let Ok((path, _)) = Path::parse(&format!("<{trick}>")) else { continue };
            let address = path.address().expect("not null");
            assert!(!address.belongs_to(&["relay", "[192.0.2.1]"]), "{trick}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let cases = [
            "",
            "<",
            "<a",
            "<a@b",
            "<user@>",
            "user@",
            "<@b>",
            "<@a:>",
            "<@a,b:c@d>",
            "<@:c@d>",
            "<a@b@c>",
            "a@b@c",
            "<a@b,c>",
            "<a@b..c>",
            "<a@.b>",
            "<a@b..>",
            "<a@b>SIZE=1",
            "<a b@c>",
            "<a@b c>",
            "<a@b>>",
            "<<a@b>",
            "<\"a@b>",
            "<\"a\"b@c>",
            "<a\"b\"@c>",
            "<\"a\"\"b\"@c>",
            "<a@[1.2.3.4>",
            "<a@[]>",
            "<a@[1]b>",
            "<a\\@b@c>",
            "<a:b@c>",
            "<a,b@c>",
            "<a;b@c>",
            "<(x)a@c>",
            "<a@b(x)>",
            "<a@b%c>",
            "<a@b!c>",
            "<a@b\u{ff20}c>",
            "<a@b\u{3002}c>",
            "<a@\u{2028}>",
            "a@b>",
            "<host::user>",
            "<\"a\u{1}\"@b>",
        ];
        for text in cases {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }
}
