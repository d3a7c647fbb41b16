//! Rule files → [`Database`]. Rule: a rule goes in whole or not at all, and what does not is reported.

use crate::classes::Classes;
use crate::database::{
    Body, Clock, Compiled, CompiledBit, CompiledInteger, CompiledList, CompiledValue, Database, Heads,
    OF_EXCHANGES,
};
use crate::filled;
use crate::hashing::HashKinds;
use crate::kinds::Kinds;
use crate::memory::Name;
use crate::packets::asked::{Asked, event_of, is_of_content, is_of_packets};
use crate::packets::groups::GroupsBuilder;
use crate::report::{Report, Scope};
use crate::ruleset::bits::{BitAction, FlowInteger, FlowState, IntegerAction, IntegerValue, Stream, Track};
use crate::ruleset::datasets::DataSets;
use crate::ruleset::digests::{Digests, Listed};
use crate::ruleset::header::{Action, ActionOrder, Application, Protocol};
use crate::ruleset::lines::{RULE_BYTES_MAX, rules};
use crate::ruleset::network::Variables;
use crate::ruleset::packet::PacketTest;
use crate::ruleset::parse;
use crate::ruleset::rule::{Rule, Test};
use crate::ruleset::sticky::{Side, Sticky};
use crate::search::{SearchBuilder, fast_pattern};
use crate::tuning::{Line, Tuning};
use crate::views::{ViewId, Views};
use lockgate_model::{Buffer, BufferSet, Direction, Signature, Wish};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What rules have named so far.
#[derive(Default)]
struct Known {
    /// Lists that have been read: the rule's file, the list's, and how long its digests are.
    lists: HashMap<(String, String, usize), Arc<Digests>>,
    sets: DataSets,
}

impl Known {
    /// Fills in the digests of a list.
    fn fill_in(
        &mut self,
        listed: &mut Listed,
        file: &str,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        let key = (file.to_owned(), listed.file.to_string(), listed.digest_bytes);
        if let Some(digests) = self.lists.get(&key) {
            listed.digests = Arc::clone(digests);
            return Ok(());
        }
        let wrong = |reason| format!("{}: {reason}", listed.file);
        let text = read(&listed.file).map_err(wrong)?;
        let digests = Digests::parse(&text, listed.digest_bytes).map_err(wrong)?;
        listed.digests = Arc::new(digests);
        self.lists.insert(key, Arc::clone(&listed.digests));
        Ok(())
    }
}

/// How many views a rule may look at: one bit of a word says of each whether it held.
const LISTS_MAX: usize = 64;

/// Rule files, to be compiled together.
#[derive(Default)]
pub struct Sources {
    files: Vec<(Arc<str>, Vec<u8>)>,
    variables: Variables,
    classes: Classes,
    order: ActionOrder,
    lists: Option<Box<ReadList>>,
}

/// Reads a list that a rule names: the name of the rule's file, and that of the list. Says what is wrong where it cannot.
pub type ReadList = dyn Fn(&str, &str) -> Result<Vec<u8>, String>;

impl Sources {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file: `classification.config` and `threshold.config` by their names, else rules.
    pub fn add<'b>(&mut self, file_name: &str, bytes: impl Into<Cow<'b, [u8]>>) {
        if file_name.rsplit('/').next() == Some("classification.config") {
            return self.classes.read(&bytes.into());
        }
        self.files.push((file_name.into(), bytes.into().into_owned()));
    }

    /// Says how lists are read that rules name.
    pub fn set_lists(&mut self, read: Box<ReadList>) {
        self.lists = Some(read);
    }

    /// Fills in the lists and sets that a rule names.
    fn read_lists(&self, rule: &mut Rule, file: &str, known: &mut Known) -> Result<(), String> {
        let read = |name: &str| {
            let read = self.lists.as_ref().ok_or("it is a file, and files are not read here")?;
            read(file, name)
        };
        for test in rule.lists.iter_mut().flat_map(|list| &mut list.tests) {
            match test {
                Test::Listed(listed) => known.fill_in(listed, file, read)?,
                Test::InSet(asked) => asked.resolve(&mut known.sets, read)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Says what a variable of addresses stands for, a list as in rules.
    ///
    /// # Errors
    ///
    /// What is wrong with the list.
    pub fn set_addresses(&mut self, name: &str, list: &str) -> Result<(), String> {
        self.variables.set_addresses(name, list)
    }

    /// The same for a variable of ports.
    ///
    /// # Errors
    ///
    /// What is wrong with the list.
    pub fn set_ports(&mut self, name: &str, list: &str) -> Result<(), String> {
        self.variables.set_ports(name, list)
    }

    /// What is changed of rules, in the order of the lines.
    fn tuning(&self, report: &mut Report) -> Vec<Line> {
        let mut lines = Vec::new();
        for (file, bytes) in self.files.iter().filter(|(file, _)| is_tuning(file)) {
            for (line, number) in String::from_utf8_lossy(bytes).lines().zip(1..) {
                let line = line.trim();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                match Line::parse(line, &self.variables) {
                    Ok(line) => lines.push(line),
                    Err(reason) => report.fail(file, number, None, reason),
                }
            }
        }
        lines
    }

    /// Says which rules go first of those that match at one moment: `pass`, `drop`, `reject` and `alert` in that order where
    /// nothing is said.
    ///
    /// # Errors
    ///
    /// A word that is none of the four, or one that is missing.
    pub fn set_action_order(&mut self, words: &[&str]) -> Result<(), String> {
        self.order = ActionOrder::parse(words)?;
        Ok(())
    }

    /// Makes a database of all that can be read, and a report of all that cannot.
    pub fn compile(self, clock: Clock) -> (Database, Report) {
        let mut report = Report::default();
        let (mut loaded, mut known) = (Vec::new(), Known::default());
        for (file, bytes) in self.files.iter().filter(|(file, _)| !is_tuning(file)) {
            let short: Arc<str> = file.rsplit('/').next().unwrap_or_default().into();
            let before = (loaded.len(), report.failures.len());
            for text in rules(bytes) {
                let Some(rule) = &text.rule else {
                    report.fail(file, text.line, None, format!("longer than {RULE_BYTES_MAX} bytes"));
                    continue;
                };
                match parse(rule, &self.variables) {
                    Ok(mut rule) => match self.read_lists(&mut rule, file, &mut known) {
                        Ok(()) => loaded.push((
                            rule,
                            format!("{short}:{}", text.line).into(),
                            (Arc::clone(file), text.line),
                        )),
                        Err(reason) => report.fail(file, text.line, None, reason),
                    },
                    Err(fault) => report.fail(file, text.line, Some(fault.at + 1), fault.reason),
                }
            }
            let first = report.failures.get(before.1).filter(|_| loaded.len() == before.0).cloned();
            report.useless.extend(first);
        }
        let order = self.order;
        loaded.sort_by_key(|(rule, ..)| rank(order, rule));
        let lines = self.tuning(&mut report);
        let mut compiler = Compiler { classes: self.classes, lines, ..Compiler::default() };
        for (rule, place, (file, line)) in loaded {
            match scope_of(&rule) {
                Scope::Nowhere => {
                    let of = unread(&rule).unwrap_or_default();
                    *report.unread.entry(of).or_default() += 1;
                }
                scope => match compiler.add(rule, place) {
                    Ok(()) if scope == Scope::Both => report.both += 1,
                    Ok(()) => report.wire += 1,
                    Err(reason) => report.fail(&file, line, None, reason),
                },
            }
        }
        (compiler.finish(clock), report)
    }
}

/// Names by their numbers.
fn in_order(numbers: &HashMap<Box<str>, Name>) -> Box<[Arc<str>]> {
    let mut names: Vec<(Name, &str)> = numbers.iter().map(|(name, number)| (*number, &**name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name.into()).collect()
}

/// Whether a file is `threshold.config`.
fn is_tuning(file: &str) -> bool {
    file.rsplit('/').next() == Some("threshold.config")
}

/// Of rules that match at one moment: those that let pass go first, then those that set bits which others ask for.
fn rank(order: ActionOrder, rule: &Rule) -> (u8, u8, u8) {
    let action = order.rank(rule.header.action);
    let is_asking = |action| matches!(action, BitAction::IsSet | BitAction::IsNotSet);
    let asks = rule.bits.iter().any(|bit| is_asking(bit.action));
    let sets = rule.bits.iter().any(|bit| !is_asking(bit.action));
    let bits = match (sets, asks) {
        (true, false) => 0,
        (true, true) => 1,
        (false, true) => 3,
        (false, false) => 2,
    };
    (action, bits, rule.priority.unwrap_or(3))
}

/// What a rule is about that nobody takes apart: a protocol, a buffer, an event.
fn unread(rule: &Rule) -> Option<&'static str> {
    if let Protocol::Unread(name) = rule.header.protocol {
        return Some(name);
    }
    let is_filled =
        |sticky| sticky == Sticky::Base64Data || is_of_packets(sticky) || buffer_of(sticky).is_some();
    let unfilled = rule.lists.iter().map(|list| list.sticky).find(|sticky| !is_filled(*sticky));
    let is_event =
        |test: &&PacketTest| matches!(test, PacketTest::DecodeEvent(_) | PacketTest::StreamEvent(_));
    let is_strange = rule.packet.iter().filter(is_event).any(|test| event_of(test).is_none());
    unfilled.map(Sticky::name).or(is_strange.then_some("decode-event"))
}

/// Where a rule can be asked.
fn scope_of(rule: &Rule) -> Scope {
    if unread(rule).is_some() {
        return Scope::Nowhere;
    }
    let is_of_proxies = |protocol| matches!(protocol, Protocol::Http | Protocol::Smtp | Protocol::Pop3);
    let is_stream = |protocol| matches!(protocol, Protocol::Ip | Protocol::Tcp | Protocol::TcpStream);
    let protocol = rule.header.protocol;
    let is_spoken = is_of_proxies(protocol) || is_stream(protocol);
    let of_proxies = |its: &Application| its.is_spoken && its.protocol.is_some_and(is_of_proxies);
    let application = rule.applications.iter().all(of_proxies);
    let asks_packets = !rule.packet.is_empty()
        || !rule.stream_sizes.is_empty()
        || !rule.events.is_empty()
        || rule.flow.stream == Some(Stream::No)
        || rule.flow.is_fragmented.is_some()
        || rule.flow.state == Some(FlowState::NotEstablished);
    let is_filled = |sticky: Sticky| {
        matches!(sticky, Sticky::Base64Data | Sticky::Payload) || buffer_of(sticky).is_some()
    };
    // Bytes of the connection are found by their pattern.
    let is_found =
        rule.lists.iter().any(|list| is_of_content(list.sticky)) || fast_pattern(rule, is_payload).is_some();
    let is_content = is_found && rule.lists.iter().all(|list| is_filled(list.sticky));
    let bits_are_ours = rule.bits.iter().all(|bit| matches!(bit.track, Track::Flow | Track::Transaction));
    if is_spoken && application && !asks_packets && is_content && bits_are_ours {
        Scope::Both
    } else {
        Scope::Wire
    }
}

/// The buffer of the waist that a sticky buffer is filled from.
fn buffer_of(sticky: Sticky) -> Option<Buffer> {
    use Sticky as S;
    Some(match sticky {
        S::FileData
        | S::FileName
        | S::FileMd5
        | S::FileSha1
        | S::FileSha256
        | S::HttpRequestBody
        | S::HttpResponseBody => Buffer::FileData,
        S::HttpUri | S::HttpUriRaw | S::HttpMethod | S::HttpRequestLine => Buffer::HttpRequestLine,
        S::HttpStatusCode | S::HttpStatusMessage | S::HttpResponseLine => Buffer::HttpResponseLine,
        S::HttpServer | S::HttpLocation | S::HttpResponseHeader => Buffer::HttpResponseHeader,
        S::HttpProtocol
        | S::HttpHeader
        | S::HttpHeaderRaw
        | S::HttpHeaderNames
        | S::HttpCookie
        | S::HttpConnection
        | S::HttpContentLength
        | S::HttpContentType
        | S::HttpStart => Buffer::HttpHeader,
        S::HttpRequestHeader
        | S::HttpUserAgent
        | S::HttpHost
        | S::HttpHostRaw
        | S::HttpAccept
        | S::HttpAcceptEncoding
        | S::HttpAcceptLanguage
        | S::HttpReferer => Buffer::HttpHeader,
        S::EmailFrom
        | S::EmailTo
        | S::EmailCc
        | S::EmailSubject
        | S::EmailDate
        | S::EmailMessageId
        | S::EmailMailer
        | S::EmailReceived => Buffer::MailHeader,
        S::FtpBounce => Buffer::FtpCommandData,
        // What a protocol fills by itself has the same name there.
        sticky => return filled::whole(sticky),
    })
}

/// Whether a buffer is made of a head of HTTP that goes this way.
fn is_of_head(sticky: Sticky, direction: Direction) -> bool {
    let is_of_way = match sticky.side() {
        Side::Client => direction == Direction::ToServer,
        Side::Server => direction == Direction::ToClient,
        Side::Either => true,
    };
    is_of_way && buffer_of(sticky).is_some_and(filled::is_of_http)
}

/// Whether a buffer is the bytes as they came.
fn is_payload(sticky: Sticky) -> bool {
    sticky == Sticky::Payload
}

/// Whether a buffer is content, of which there may be much.
fn is_body(sticky: Sticky) -> bool {
    matches!(sticky, Sticky::FileData | Sticky::HttpRequestBody | Sticky::HttpResponseBody)
}

#[derive(Default)]
struct Compiler {
    rules: Vec<Compiled>,
    views: Views,
    searches: Vec<SearchBuilder>,
    unsearched: Vec<Vec<u32>>,
    groups: GroupsBuilder,
    names: HashMap<Box<str>, Name>,
    classes: Classes,
    lines: Vec<Line>,
    known_signatures: HashSet<(u32, u32)>,
}

impl Compiler {
    fn add(&mut self, rule: Rule, place: Arc<str>) -> Result<(), String> {
        if rule.lists.len() > LISTS_MAX {
            return Err(format!("it looks at more than {LISTS_MAX} buffers"));
        }
        if !self.known_signatures.insert((rule.generator, rule.id)) {
            return Err(format!("another rule has the number {}:{} already", rule.generator, rule.id));
        }
        let signature = Arc::new(self.signature(&rule));
        let mut asked = Asked::of(&rule);
        let has_content = rule.lists.iter().any(|list| is_of_content(list.sticky));
        let mut views = Vec::with_capacity(rule.lists.len());
        for list in &rule.lists {
            views.push(self.view(list.sticky, &list.transforms).ok_or("too many kinds of buffers")?);
        }
        let reads_bytes = rule.lists.iter().any(|list| list.sticky == Sticky::Payload);
        match &mut asked {
            Some(asked) if !has_content => self.add_to_groups(&rule, asked),
            Some(asked) if reads_bytes => {
                self.add_to_searches(&rule, &views)?;
                asked.is_searched = self.add_mixed(&rule);
            }
            _ => self.add_to_searches(&rule, &views)?,
        }
        let compiled = self.compiled(rule, &views, signature, place, asked);
        self.rules.push(compiled);
        Ok(())
    }

    /// Packets are looked at for the rule.
    fn add_to_groups(&mut self, rule: &Rule, asked: &Asked) {
        let number = self.rules.len() as u32;
        let fast = fast_pattern(rule, is_payload).map(|(_, fast)| fast);
        self.groups.add(number, &rule.header, &rule.flow, asked, fast);
    }

    /// The bytes of a connection are looked at for the rule, besides what a protocol makes of them; says whether by a pattern.
    fn add_mixed(&mut self, rule: &Rule) -> bool {
        let number = self.rules.len() as u32;
        let fast = fast_pattern(rule, is_payload).map(|(_, fast)| fast);
        self.groups.add_mixed(number, &rule.flow, fast)
    }

    /// What a protocol makes of a stream is looked at for the rule.
    fn add_to_searches(&mut self, rule: &Rule, views: &[ViewId]) -> Result<(), String> {
        let number = self.rules.len() as u32;
        let fast = fast_pattern(rule, is_of_content);
        let is_found = fast.is_some_and(|(list, fast)| {
            let list = &rule.lists[list];
            let is_of_head = buffer_of(list.sticky).is_some_and(filled::is_of_http);
            // What is short is searched in one pass for all; of a body, what stands at its beginning is not looked for behind.
            let fast = if is_of_head || is_body(list.sticky) { fast } else { fast.anywhere() };
            // What the buffer is made into is not searched where it is the rule's own: the pattern stands in that.
            self.views
                .id(list.sticky, &list.transforms)
                .is_some_and(|view| self.searches[usize::from(view.0)].add(fast, number))
        });
        if !is_found {
            let is_content = |view: &ViewId| is_of_content(self.views.sticky(*view));
            let first = views.iter().copied().find(is_content);
            let first = first.ok_or("it looks at nothing")?;
            self.unsearched[usize::from(first.0)].push(number);
        }
        Ok(())
    }

    fn compiled(
        &mut self,
        rule: Rule,
        views: &[ViewId],
        signature: Arc<Signature>,
        place: Arc<str>,
        asked: Option<Asked>,
    ) -> Compiled {
        let reads = |test: &Test| matches!(test, Test::ByteExtract(_) | Test::ByteMath(_));
        let shares_variables =
            rule.lists.len() > 1 && rule.lists.iter().flat_map(|list| &list.tests).any(reads);
        let of_decoded = rule.lists.iter().find(|list| list.sticky == Sticky::Base64Data);
        let of_decoded: Vec<Test> = of_decoded.map(|list| list.tests.clone()).unwrap_or_default();
        let own = rule.lists.into_iter().zip(views).filter(|(list, _)| list.sticky != Sticky::Base64Data);
        let lists = own.map(|(list, view)| {
            let decodes = list.tests.iter().any(|test| matches!(test, Test::Base64(_)));
            let of_decoded = if decodes { of_decoded.clone() } else { Vec::new() };
            CompiledList { view: *view, tests: list.tests.into(), of_decoded: of_decoded.into() }
        });
        let lists = lists.collect();
        let bits = rule.bits.iter().map(|bit| CompiledBit {
            action: bit.action,
            names: bit.names.iter().map(|name| self.name(name)).collect(),
            track: bit.track,
            expire: bit.expire,
        });
        let bits: Box<[CompiledBit]> = bits.collect();
        let is_of_hosts = |bit: &CompiledBit| !matches!(bit.track, Track::Flow | Track::Transaction);
        let notes_hosts = bits.iter().any(is_of_hosts);
        let (mut threshold, mut tuning) = (rule.threshold, Tuning::default());
        for line in &self.lines {
            line.apply((rule.generator, rule.id), &mut threshold, &mut tuning);
        }
        let integers = rule.integers.iter().map(|integer| self.integer(integer)).collect();
        Compiled {
            header: rule.header,
            flow: rule.flow,
            applications: rule.applications.into(),
            lists,
            shares_variables,
            asked,
            bits,
            integers,
            is_told_of_pass: rule.is_told_of_pass,
            notes_hosts,
            threshold,
            tuning,
            is_silent: rule.is_silent,
            signature,
            message: (*rule.message).into(),
            place,
        }
    }

    fn view(
        &mut self,
        sticky: Sticky,
        transforms: &[crate::ruleset::transform::Transform],
    ) -> Option<ViewId> {
        let id = self.views.id(sticky, transforms)?;
        self.searches.resize_with(self.views.len(), SearchBuilder::default);
        self.unsearched.resize_with(self.views.len(), Vec::new);
        Some(id)
    }

    fn signature(&self, rule: &Rule) -> Signature {
        let class = rule.class.as_deref().and_then(|name| self.classes.of(name));
        let text = |text: &str| -> Arc<str> { text.into() };
        Signature {
            rank: self.rules.len() as u32,
            generator: rule.generator,
            id: rule.id,
            revision: rule.revision,
            category: class.map_or_else(
                || text(rule.class.as_deref().unwrap_or_default()),
                |class| text(&class.description),
            ),
            metadata: rule.metadata.iter().cloned().collect(),
            severity: rule.priority.or(class.map(|class| class.priority)).unwrap_or(3),
            wish: match rule.header.action {
                Action::Alert => Wish::Tell,
                Action::Drop | Action::Reject => Wish::Stop,
                Action::Pass => Wish::Pass,
            },
        }
    }

    fn name(&mut self, name: &str) -> Name {
        let next = self.names.len() as Name;
        *self.names.entry(name.into()).or_insert(next)
    }

    fn integer(&mut self, integer: &FlowInteger) -> (Name, CompiledInteger) {
        let mut value = |value: &IntegerValue| match value {
            IntegerValue::Number(number) => CompiledValue::Number(*number),
            IntegerValue::Named(name) => CompiledValue::Named(self.name(name)),
        };
        let action = match &integer.action {
            IntegerAction::IsSet => CompiledInteger::IsSet,
            IntegerAction::IsNotSet => CompiledInteger::IsNotSet,
            IntegerAction::Set(to) => CompiledInteger::Set(value(to)),
            IntegerAction::Add(more) => CompiledInteger::Add(value(more)),
            IntegerAction::Subtract(less) => CompiledInteger::Subtract(value(less)),
            IntegerAction::Compare(how, with) => CompiledInteger::Compare(*how, value(with)),
        };
        (self.name(&integer.name), action)
    }

    /// Content as it comes one way, looked at as each of these views: what they look for is searched in one go.
    fn body(&self, direction: Direction) -> Body {
        let of_way = match direction {
            Direction::ToServer => Sticky::HttpRequestBody,
            Direction::ToClient => Sticky::HttpResponseBody,
        };
        let is_as_it_came = |view: &ViewId| !self.views.is_transformed(*view);
        let stickies = [Sticky::FileData, of_way].into_iter();
        let views: Box<[ViewId]> =
            stickies.flat_map(|sticky| self.views.of(sticky)).filter(is_as_it_came).collect();
        let search = |all: SearchBuilder, view: &ViewId| all.and(&self.searches[usize::from(view.0)]);
        let searches = || views.iter().fold(SearchBuilder::default(), search);
        let connection = self.groups.connection(direction);
        let with_connection = searches().and_within_connection(&connection);
        Body {
            connection: connection.finish(),
            searches: searches().finish(),
            with_connection: with_connection.finish(),
            views: views.iter().copied().collect(),
        }
    }

    /// What all views of a head look for that goes this way.
    fn head(&self, direction: Direction) -> SearchBuilder {
        let all = (0..self.views.len() as u16).map(ViewId);
        let of_way = all.filter(|view| is_of_head(self.views.sticky(*view), direction));
        of_way
            .fold(SearchBuilder::default(), |all, view| all.and_in(view, &self.searches[usize::from(view.0)]))
    }

    fn finish(mut self, clock: Clock) -> Database {
        let directions = [Direction::ToServer, Direction::ToClient];
        let heads = directions.map(|direction| Heads {
            searches: self.head(direction).finish(),
            with_connection: self
                .head(direction)
                .and_of_connection(&self.groups.connection(direction))
                .finish(),
        });
        let bodies = directions.map(|direction| self.body(direction));
        let all = (0..self.views.len() as u16).map(ViewId);
        let of_heads = all.filter(|view| buffer_of(self.views.sticky(*view)).is_some_and(filled::is_of_http));
        for view in bodies.iter().flat_map(|body| body.views.iter().copied()).chain(of_heads) {
            self.searches[usize::from(view.0)] = SearchBuilder::default();
        }
        // The last one is for the bytes of a connection.
        let searches = self.views.len() + 2 * heads.len() + 2 * bodies.len() + 1;
        let kinds = Kinds::new(
            self.rules.iter().filter(|rule| !rule.lists.is_empty()).map(|rule| &rule.header),
            searches,
        );
        let all = (0..self.views.len() as u16).map(ViewId);
        let buffers = all.filter_map(|view| buffer_of(self.views.sticky(view)));
        let wants = buffers.fold(BufferSet::EMPTY, |set, buffer| {
            if filled::is_of_http(buffer) { set.and(OF_EXCHANGES) } else { set.and(filled::with(buffer)) }
        });
        let groups = self.groups.finish();
        let wants = if groups.reads_streams() {
            wants.and(OF_EXCHANGES).with(Buffer::FileData).with(Buffer::Payload)
        } else {
            wants
        };
        Database {
            rules: self.rules,
            hashes: HashKinds::of(&self.views),
            views: self.views,
            heads,
            bodies,
            kinds,
            searches: self.searches.into_iter().map(SearchBuilder::finish).collect(),
            groups,
            unsearched: self.unsearched.into_iter().map(Vec::into_boxed_slice).collect(),
            wants,
            names: in_order(&self.names),
            thresholds: Default::default(),
            hosts: Default::default(),
            clock,
        }
    }
}
