//! One signature → a file that it matches and one that it just misses. Rule: what cannot be made says why.

use super::choice::{Counts, meet};
use super::file::{Place, Whole, build, place, texture};
use super::pattern::{Piece, piece};
use super::wrap::Wrap;
use crate::random::{Random, Texture};
use crate::sentence::sentence;

/// A signature that was drawn.
pub struct Drawn {
    pub kind: String,
    pub line: String,
}

/// A file for it.
pub struct Witness {
    pub bytes: Vec<u8>,
    pub is_hit: bool,
    /// The name that the list of digests has for it, if it stands for a digest.
    pub hashed_as: Option<String>,
}

/// What a signature comes to, before it is a file.
struct Plan {
    whole: Whole,
    wrap: Wrap,
    /// For each piece: its offset, and what stands there.
    pieces: Vec<(String, Piece)>,
}

impl Drawn {
    pub fn witnesses(&self, random: &mut Random) -> Vec<Result<Witness, String>> {
        if self.kind == "hdb" {
            return self.digests(random);
        }
        let plan = match self.kind.as_str() {
            "ndb" => self.body(random),
            _ => self.logical(random),
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(reason) => return vec![Err(reason.to_owned())],
        };
        [true, false].into_iter().map(|is_hit| plan.file(is_hit, random)).collect()
    }

    fn digests(&self, random: &mut Random) -> Vec<Result<Witness, String>> {
        let name = self.line.split(':').nth(2).unwrap_or("digest").to_owned();
        let length = random.between(20, 3000);
        let bytes: Vec<u8> = (0..length).map(|_| random.filler(Texture::Binary)).collect();
        let mut other = bytes.clone();
        other[length / 2] ^= 1;
        let witness =
            |bytes, is_hit| Ok(Witness { bytes, is_hit, hashed_as: Some(format!("Digest.{name}")) });
        vec![witness(bytes, true), witness(other, false)]
    }

    fn body(&self, random: &mut Random) -> Result<Plan, &'static str> {
        let fields: Vec<&str> = self.line.split(':').collect();
        let [_, target, offset, hex, ..] = fields[..] else { return Err("no line") };
        let target = target.parse().map_err(|_| "no line")?;
        let piece = piece(hex, "", random, texture(target)).ok_or("a body that is not read here")?;
        let whole = Whole { target, ..Whole::default() };
        Ok(Plan { whole, wrap: Wrap::Nothing, pieces: vec![(offset.to_owned(), piece)] })
    }

    fn logical(&self, random: &mut Random) -> Result<Plan, &'static str> {
        let fields = fields(&self.line);
        let (Some(about), Some(expression)) = (fields.get(1), fields.get(2)) else { return Err("no line") };
        let (whole, wrap) = about_of(about)?;
        let subsignatures = fields.get(3..).unwrap_or_default();
        let mut counts: Counts = [0; 64];
        meet(expression, random, &mut counts).ok_or("an expression that is not read here")?;
        // What triggers an expression must match, too.
        for (id, text) in subsignatures.iter().enumerate().take(64).rev() {
            if counts[id] > 0
                && let Some((head, _)) = text.split_once('/')
            {
                let trigger = head.rsplit(':').next().unwrap_or(head);
                meet(trigger, random, &mut counts).ok_or("a trigger that is not read here")?;
            }
        }
        let mut pieces = Vec::new();
        for (text, count) in subsignatures.iter().zip(counts) {
            for _ in 0..count.min(200) {
                pieces.push(one(text, random, texture(whole.target))?);
            }
        }
        if pieces.is_empty() {
            return Err("nothing need match");
        }
        Ok(Plan { whole, wrap, pieces })
    }
}

impl Plan {
    fn file(&self, is_hit: bool, random: &mut Random) -> Result<Witness, String> {
        let mut pieces = self.pieces.clone();
        let spoiled = random.below(pieces.len());
        let can_move = pieces[spoiled].0 != "*" && !pieces[spoiled].0.starts_with("SE");
        let moves = !is_hit && can_move && random.below(2) == 0;
        if !is_hit && !moves && !pieces[spoiled].1.spoil(random) {
            return Err("nothing in it can be spoiled".to_owned());
        }
        let placed: Option<Vec<(Place, Piece)>> = pieces
            .into_iter()
            .enumerate()
            .map(|(at, (offset, piece))| Some((place(&offset, random, moves && at == spoiled)?, piece)))
            .collect();
        let placed = placed.ok_or("an offset that is not made here")?;
        let bytes = build(self.whole, &placed, random).ok_or("pieces that get in each other's way")?;
        Ok(Witness { bytes: self.wrap.around(bytes), is_hit, hashed_as: None })
    }
}

/// A subsignature's offset, and what matches it.
fn one(text: &str, random: &mut Random, texture: Texture) -> Result<(String, Piece), &'static str> {
    if let Some((head, rest)) = text.split_once('/') {
        let expression = rest.rsplit_once('/').map_or(rest, |(expression, _)| expression);
        let bytes = sentence(expression, random).ok_or("a regular expression that is not read here")?;
        let offset = head.rsplit_once(':').map_or("*", |(offset, _)| offset);
        let fixed = (0..bytes.len()).collect();
        return Ok((offset.to_owned(), Piece { bytes, fixed }));
    }
    let (body, modifiers) = text.split_once("::").unwrap_or((text, ""));
    let (offset, hex) = body.split_once(':').unwrap_or(("*", body));
    let piece = piece(hex, modifiers, random, texture).ok_or("a body that is not read here")?;
    Ok((offset.to_owned(), piece))
}

/// The fields of a line; a semicolon within an expression parts nothing.
fn fields(line: &str) -> Vec<&str> {
    let (mut fields, mut from, mut in_expression) = (Vec::new(), 0, false);
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let is_escaped = at > 0 && bytes[at - 1] == b'\\';
        if *byte == b'/' && !is_escaped && fields.len() > 2 {
            in_expression = !in_expression;
        }
        if *byte == b';' && !in_expression {
            fields.push(&line[from..at]);
            from = at + 1;
        }
    }
    fields.push(&line[from..]);
    fields
}

fn about_of(text: &str) -> Result<(Whole, Wrap), &'static str> {
    let (mut whole, mut wrap) = (Whole::default(), Wrap::Nothing);
    let range = |value: &str| {
        let (least, most) = value.split_once('-').unwrap_or((value, value));
        Some((least.parse().ok()?, most.parse().ok()?))
    };
    for pair in text.split(',') {
        let (key, value) = pair.split_once(':').unwrap_or((pair, ""));
        match key {
            "Engine" => {}
            "Target" => whole.target = value.parse().map_err(|_| "no target")?,
            "FileSize" => whole.size = range(value),
            "EntryPoint" => whole.entry = range(value),
            "NumberOfSections" => whole.sections = range(value),
            "Container" => wrap = Wrap::of(value).ok_or("a container that is not made here")?,
            _ => return Err("a keyword that is not made here"),
        }
    }
    Ok((whole, wrap))
}
