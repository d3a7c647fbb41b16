//! A page as signatures for pages expect it: ClamAV's texts of it. Rule: the same bytes at every cut.
//!
//! Without comments: tags and text in lower case, quotes made double, runs of white space one space or, in scripts and
//! styles, none, references to characters undone, comments and the data of `data:` URLs left out. Without tags: the text,
//! and where links lead. Scripts: see [`script`]. `sigtool --html-normalise` shows what ClamAV makes of a page; where that
//! looks odd here it is on purpose, since signatures are made by it.

mod names;
mod reference;
mod script;
#[cfg(test)]
mod tests;

use script::Scripts;

/// One of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    NoComment,
    NoTags,
    Script,
}

/// How much of a text is gathered before it is handed out.
const STEP_BYTES: usize = 4096;
/// How much of a name in a tag is looked at: more than any that matters has.
const NAME_BYTES: usize = 8;
/// The longest value, and the longest reference to a character.
const VALUE_BYTES_MAX: usize = 1024;
/// What begins a URL that is data itself, with and without the quote before it.
const DATA: [&[u8]; 2] = [b"data:", b"\"data:"];

/// A page on its way.
pub(crate) struct Page {
    place: Place,
    /// White space is passed over before the place.
    skips: bool,
    /// Where a reference to a character stands.
    back: Place,
    inside: Inside,
    tag: Name,
    argument: Name,
    /// What a value is in, `"` or `'`.
    quote: Option<u8>,
    value: Vec<u8>,
    /// Where the tag at hand leads.
    link: Option<Vec<u8>>,
    entity: Vec<u8>,
    number: u64,
    radix: u32,
    /// How many characters of `%xx` have come.
    escaped: u8,
    /// Bytes over 0x7f that are not written yet, in text and in a value.
    wide: u32,
    wide_value: u32,
    /// Written unless what follows takes it back.
    tentative: Option<u8>,
    after_space: bool,
    no_comment: Vec<u8>,
    no_tags: Vec<u8>,
    scripts: Scripts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    /// Behind white space in text.
    Space,
    /// Behind a byte over 0x7f in text.
    Wide,
    Tag,
    /// The tag has been closed.
    TagEnded,
    Argument,
    /// Behind an argument and white space.
    Equals,
    Value,
    Comment,
    Reference,
    Entity,
    Number,
    DataType,
    Data,
    Escape,
}

/// What the text at hand belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Page,
    Script,
    Style,
}

/// Whether a byte has been used, or is to be looked at again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    Yes,
    No,
}

/// The beginning of a name.
#[derive(Clone, Copy, Default)]
struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.length == 0
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// What is itself in both texts of a page, wherever it stands in text, but for its case.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'!'..=0x7f) && !matches!(byte, b'<' | b'&')
}

impl Page {
    pub fn new() -> Self {
        Self {
            place: Place::Text,
            skips: true,
            back: Place::Text,
            inside: Inside::Page,
            tag: Name::default(),
            argument: Name::default(),
            quote: None,
            value: Vec::new(),
            link: None,
            entity: Vec::new(),
            number: 0,
            radix: 10,
            escaped: 0,
            wide: 0,
            wide_value: 0,
            tentative: None,
            after_space: false,
            no_comment: Vec::new(),
            no_tags: Vec::new(),
            scripts: Scripts::default(),
        }
    }

    /// Hands out the texts of a chunk, in pieces.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn FnMut(Text, &[u8])) {
        let mut rest = chunk;
        while let [first, after @ ..] = rest {
            match self.run(rest.get(..STEP_BYTES).unwrap_or(rest)) {
                0 => {
                    self.byte(*first);
                    rest = after;
                }
                run => rest = rest.get(run..).unwrap_or_default(),
            }
            if self.inside != Inside::Script && self.scripts.is_open() {
                self.scripts.end(out);
            } else if self.scripts.is_full() {
                self.scripts.cut(out);
            }
            if self.no_comment.len() >= STEP_BYTES || self.no_tags.len() >= STEP_BYTES {
                self.hand_out(out);
            }
        }
        self.hand_out(out);
    }

    /// The page has ended.
    pub fn finish(&mut self, out: &mut dyn FnMut(Text, &[u8])) {
        self.write_tentative();
        if !self.entity.is_empty() {
            self.entity_ends(false);
        }
        if self.scripts.is_open() {
            self.scripts.end(out);
        }
        self.hand_out(out);
    }

    fn hand_out(&mut self, out: &mut dyn FnMut(Text, &[u8])) {
        for (text, bytes) in [(Text::NoComment, &mut self.no_comment), (Text::NoTags, &mut self.no_tags)] {
            if !bytes.is_empty() {
                out(text, bytes);
                bytes.clear();
            }
        }
    }

    /// Uses as many of the bytes as need no looking at one by one: words of a page, and what is in its comments.
    fn run(&mut self, bytes: &[u8]) -> usize {
        if self.skips || self.inside != Inside::Page {
            return 0;
        }
        match self.place {
            Place::Text => self.words(bytes),
            Place::Comment => memchr::memchr(b'>', bytes).unwrap_or(bytes.len()),
            _ => 0,
        }
    }

    /// Words with a space between them.
    fn words(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..) {
            let word = rest.iter().take_while(|byte| is_plain(**byte)).count();
            let Some(text) = rest.get(..word).filter(|text| !text.is_empty()) else { break };
            for texts in [&mut self.no_comment, &mut self.no_tags] {
                texts.extend(text.iter().map(u8::to_ascii_lowercase));
            }
            self.after_space = false;
            used += word;
            // What stands behind a space decides whether it is one.
            if rest.get(word) != Some(&b' ') || !rest.get(word + 1).is_some_and(|byte| is_plain(*byte)) {
                break;
            }
            self.no_comment.push(b' ');
            self.no_tags.push(b' ');
            used += 1;
        }
        used
    }

    fn byte(&mut self, byte: u8) {
        let is_data = matches!(self.place, Place::Data | Place::Escape);
        let byte = match byte {
            0 => return,
            b'\r' if !is_data => {
                if self.inside == Inside::Script {
                    self.scripts.byte(b' ');
                }
                return;
            }
            b'\n' if !is_data => b' ',
            byte => byte,
        };
        // Each place that leaves a byte to another one leaves it to one that uses it.
        while self.step(byte) == Used::No {}
        if self.inside == Inside::Script {
            self.scripts.byte(byte);
        }
    }

    fn step(&mut self, byte: u8) -> Used {
        if self.skips {
            if is_space(byte) {
                return Used::Yes;
            }
            self.skips = false;
        }
        match self.place {
            Place::Text => self.text(byte),
            Place::Space => self.space(byte),
            Place::Wide => self.wide(byte),
            Place::Tag => self.tag(byte),
            Place::TagEnded => self.tag_ended(),
            Place::Argument => self.argument(byte),
            Place::Equals => self.equals(byte),
            Place::Value => self.value(byte),
            Place::Comment => self.comment(byte),
            Place::Reference => self.reference(byte),
            Place::Entity => self.entity(byte),
            Place::Number => self.number(byte),
            Place::DataType => self.data_type(byte),
            Place::Data => self.data(byte),
            Place::Escape => self.escape(byte),
        }
    }

    fn go(&mut self, place: Place) -> Used {
        self.place = place;
        Used::Yes
    }

    fn skip_to(&mut self, place: Place) -> Used {
        self.skips = true;
        self.go(place)
    }

    fn leave(&mut self, place: Place) -> Used {
        self.place = place;
        Used::No
    }

    /// A byte of the text without comments.
    fn write(&mut self, byte: u8) {
        self.no_comment.push(byte);
    }

    /// A space in the text without tags.
    fn write_space(&mut self) {
        if self.inside == Inside::Page && !self.after_space {
            self.no_tags.push(b' ');
            self.after_space = true;
        }
    }

    fn write_tentative(&mut self) {
        self.no_comment.extend(self.tentative.take());
    }

    fn add_to_value(&mut self, byte: u8) {
        if self.value.len() < VALUE_BYTES_MAX {
            self.value.push(byte);
        }
    }

    fn text(&mut self, byte: u8) -> Used {
        match byte {
            b'<' => {
                self.tentative = Some(b'<');
                self.write_space();
                self.tag = Name::default();
                self.skip_to(Place::Tag)
            }
            _ if is_space(byte) => {
                self.write_space();
                self.leave(Place::Space)
            }
            b'&' => {
                self.write_space();
                self.back = Place::Text;
                self.go(Place::Reference)
            }
            0x80.. => {
                self.wide = u32::from(byte);
                self.go(Place::Wide)
            }
            _ => {
                let lower = byte.to_ascii_lowercase();
                let is_quote = self.inside != Inside::Page && byte == b'\'';
                self.write(if is_quote { b'"' } else { lower });
                if byte < b' ' {
                    self.write_space();
                } else if self.inside == Inside::Page {
                    self.no_tags.push(lower);
                    self.after_space = false;
                }
                Used::Yes
            }
        }
    }

    fn space(&mut self, byte: u8) -> Used {
        if is_space(byte) {
            return Used::Yes;
        }
        if self.inside == Inside::Page {
            self.write(b' ');
        }
        self.leave(Place::Text)
    }

    fn wide(&mut self, byte: u8) -> Used {
        if byte >= 0x80 && self.wide < 0x10000 {
            self.wide = self.wide << 8 | u32::from(byte);
            return Used::Yes;
        }
        if is_full_stop(self.wide, byte) {
            self.write(b'.');
            self.no_tags.push(b'.');
            if self.wide == 0xa1 {
                self.wide = 0;
                return Used::Yes;
            }
        } else {
            let [_, first, second, third] = self.wide.to_be_bytes();
            for byte in leading(first, second) {
                self.write(byte);
                self.no_tags.push(byte);
            }
            self.write(third);
            // As ClamAV has it: the last but one once more.
            self.no_tags.push(second);
        }
        self.wide = 0;
        self.leave(Place::Text)
    }

    fn tag(&mut self, byte: u8) -> Used {
        if byte == b'!' && self.tag.is_empty() {
            if self.inside == Inside::Page {
                self.tentative = None;
            } else {
                self.write_tentative();
                self.write(b'!');
            }
            return self.go(Place::Comment);
        }
        self.write_tentative();
        if byte == b'>' {
            self.write(b'>');
            return self.skip_to(Place::TagEnded);
        }
        if is_space(byte) {
            self.argument = Name::default();
            let is_page = self.inside == Inside::Page;
            return self.skip_to(if is_page { Place::Argument } else { Place::TagEnded });
        }
        let lower = byte.to_ascii_lowercase();
        self.write(lower);
        // In a script only its end is a tag.
        if self.inside != Inside::Page && self.tag.is_empty() && byte != b'/' {
            self.place = Place::Text;
        }
        self.tag.push(lower);
        Used::Yes
    }

    fn tag_ended(&mut self) -> Used {
        match self.tag.text() {
            b"/script" => self.inside = Inside::Page,
            b"/style" if self.inside == Inside::Style => self.inside = Inside::Page,
            b"script" => {
                self.inside = Inside::Script;
                self.scripts.begin();
            }
            b"style" => self.inside = Inside::Style,
            b"a" | b"img" => {
                let link = self.link.take().filter(|link| !link.is_empty());
                if let Some(link) = link {
                    self.no_tags.extend(link);
                    self.no_tags.push(b' ');
                    self.after_space = true;
                }
            }
            _ => {}
        }
        self.link = None;
        self.skips = true;
        self.leave(Place::Text)
    }

    fn argument(&mut self, byte: u8) -> Used {
        match byte {
            b'=' => self.value_begins(),
            _ if is_space(byte) => self.skip_to(Place::Equals),
            b'>' => {
                self.write(b'>');
                self.argument_without_value();
                self.go(Place::TagEnded)
            }
            _ => {
                if self.argument.is_empty() {
                    self.write(b' ');
                }
                let lower = byte.to_ascii_lowercase();
                self.write(lower);
                self.argument.push(lower);
                Used::Yes
            }
        }
    }

    fn equals(&mut self, byte: u8) -> Used {
        if byte == b'=' {
            return self.value_begins();
        }
        self.argument_without_value();
        self.argument = Name::default();
        self.leave(Place::Argument)
    }

    fn value_begins(&mut self) -> Used {
        self.write(b'=');
        self.quote = None;
        self.value.clear();
        self.skip_to(Place::Value)
    }

    fn argument_without_value(&mut self) {
        if !self.argument.is_empty() && self.is_link() {
            self.link.get_or_insert_default();
        }
    }

    fn is_link(&self) -> bool {
        matches!((self.tag.text(), self.argument.text()), (b"a", b"href") | (b"img", b"src"))
    }

    /// The argument at hand has its value.
    fn value_ends(&mut self) {
        if self.is_link() && self.link.is_none() {
            let value = match self.value.as_slice() {
                [b'"', inner @ .., _] => inner,
                [b'"'] => &[],
                bare => bare,
            };
            self.link = Some(value.to_vec());
        }
    }

    fn value(&mut self, byte: u8) -> Used {
        if DATA.contains(&self.value.as_slice()) {
            self.tentative = None;
            if self.quote.is_some() {
                self.write(b'"');
            }
            self.value.clear();
            return self.leave(Place::DataType);
        }
        match byte {
            b'&' => {
                self.back = Place::Value;
                self.go(Place::Reference)
            }
            b'"' | b'\'' => {
                let is_first = self.value.is_empty();
                self.write(b'"');
                self.add_to_value(b'"');
                if is_first {
                    self.quote = Some(byte);
                } else if self.quote == Some(byte) {
                    self.value_ends();
                    self.argument = Name::default();
                    return self.skip_to(Place::Argument);
                }
                Used::Yes
            }
            _ if is_space(byte) || byte == b'>' => {
                if self.quote.is_none() {
                    self.value_ends();
                    self.argument = Name::default();
                    self.skips = true;
                    return self.leave(Place::Argument);
                }
                self.write(byte);
                self.add_to_value(if byte == b'>' { b'>' } else { b' ' });
                // As ClamAV has it: what is quoted ends there, in a way.
                self.quote = None;
                self.skip_to(Place::Value)
            }
            _ => self.value_byte(byte),
        }
    }

    fn value_byte(&mut self, byte: u8) -> Used {
        if self.wide_value != 0 && (byte < 0x80 || self.wide_value >= 0x10000) {
            let wide = std::mem::take(&mut self.wide_value);
            if is_full_stop(wide, byte) {
                self.write(b'.');
                self.add_to_value(b'.');
                if wide == 0xa1 {
                    return Used::Yes;
                }
            } else {
                let [_, first, second, third] = wide.to_be_bytes();
                for byte in leading(first, second).chain([third]) {
                    self.write(byte);
                    self.add_to_value(byte);
                }
            }
        }
        if byte >= 0x80 {
            self.wide_value = self.wide_value << 8 | u32::from(byte);
            return Used::Yes;
        }
        self.add_to_value(byte);
        if byte == b':' && DATA.contains(&self.value.as_slice()) {
            self.tentative = Some(b':');
        } else {
            self.write(byte.to_ascii_lowercase());
        }
        Used::Yes
    }

    fn comment(&mut self, byte: u8) -> Used {
        if self.inside != Inside::Page && !is_space(byte) {
            self.write(if byte == b'\'' { b'"' } else { byte.to_ascii_lowercase() });
        }
        if byte == b'>' { self.skip_to(Place::Text) } else { Used::Yes }
    }

    fn data_type(&mut self, byte: u8) -> Used {
        match byte {
            b',' => self.go(Place::Data),
            b'"' | b'\'' if self.quote == Some(byte) => {
                self.argument = Name::default();
                self.skip_to(Place::Argument)
            }
            _ if is_space(byte) || byte == b'>' => {
                if self.quote.take().is_some() {
                    return self.skip_to(Place::DataType);
                }
                self.argument = Name::default();
                self.skips = true;
                self.leave(Place::Argument)
            }
            _ => Used::Yes,
        }
    }

    fn data(&mut self, byte: u8) -> Used {
        match byte {
            b'&' => {
                self.back = Place::Data;
                self.go(Place::Reference)
            }
            b'%' => {
                self.escaped = 0;
                self.go(Place::Escape)
            }
            _ if self.quote == Some(byte) || (self.quote.is_none() && (is_space(byte) || byte == b'>')) => {
                self.quote = None;
                self.skip_to(Place::Argument)
            }
            _ => Used::Yes,
        }
    }

    fn escape(&mut self, byte: u8) -> Used {
        self.escaped += 1;
        if self.escaped == 2 || !byte.is_ascii_hexdigit() { self.go(Place::Data) } else { Used::Yes }
    }
}

/// Whether these are a full stop of East Asian text, as two encodings have it.
fn is_full_stop(wide: u32, next: u8) -> bool {
    matches!(wide, 0x00e3_8082 | 0x00ef_bc8e | 0x00ef_b992)
        || (wide == 0xa1 && matches!(next, b'C' | b'D' | b'O'))
}

/// The bytes before the last of up to three.
fn leading(first: u8, second: u8) -> impl Iterator<Item = u8> {
    let has_second = first != 0 || second != 0;
    [(first, first != 0), (second, has_second)].into_iter().filter(|(_, is)| *is).map(|(byte, _)| byte)
}
