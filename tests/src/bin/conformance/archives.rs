//! Archives beside the tools of their formats: the same members, by name, size and content. Rule: each difference is printed.
//!
//! Names that are not ASCII are compared by their content alone: which charset they are in, tools guess. A link's name is
//! compared by itself: where it leads, the tool looks up. Of what is compressed the inside is compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lockgate_content::filetype::Sniffer;
use lockgate_content::{Decoder, Event, Means, More, open};
use lockgate_model::{FileType, Pool};
use lockgate_tests::temporary::Directory;

use crate::{files_below, name_of};

/// How much may be held of one archive here.
const HELD_BYTES: u64 = 64 << 20;
/// How much of an archive's members is looked at.
const MEMBER_BYTES_MAX: usize = 256 << 20;
/// How often compression is looked through: some files hold themselves.
const CODECS_MAX: u8 = 2;
/// A tool that waits for a password or a next volume waits no longer.
const TOOL_SECONDS: &str = "20";

/// A member: its name, and its content as length and check sum.
type Member = (String, (usize, u64));

/// Compares each archive's members with those that its own tool extracts.
pub fn check(directory: &Path) -> Vec<String> {
    let files = files_below(directory);
    let (mut same, mut unread, mut wrong) = (0, 0, Vec::new());
    for path in &files {
        let Ok(bytes) = fs::read(path) else { continue };
        let Inside { file_type, content, members: ours, links, faults: said } =
            look_into(bytes.clone(), CODECS_MAX);
        let place = Directory::new("inside");
        let unpacked = place.path().join("unpacked");
        // Volumes are read beside one another, where they stand.
        let inside = if content == bytes { path } else { &unpacked };
        let Ok(()) = fs::write(&unpacked, content) else { continue };
        let Some(theirs) = tools(file_type).iter().find_map(|tool| extracted(tool, inside)) else {
            unread += 1;
            continue;
        };
        let sums = |members: &BTreeSet<Member>| members.iter().map(|m| m.1).collect::<BTreeSet<_>>();
        let contents_missing = sums(&theirs).difference(&sums(&ours)).count();
        let foreign: BTreeSet<_> = ours.iter().filter(|m| !m.0.is_ascii()).map(|m| m.1).collect();
        let is_met = |m: &Member| {
            ours.contains(m) || links.contains(&m.0) || !m.0.is_ascii() || foreign.contains(&m.1)
        };
        let names_missing: Vec<&str> =
            theirs.iter().filter(|m| !is_met(m)).map(|m| m.0.as_str()).take(3).collect();
        if contents_missing == 0 && names_missing.is_empty() {
            same += 1;
        } else {
            wrong.push(format!(
                "{} ({}): of {} members {contents_missing} contents are missing, named {names_missing:?}; here {:?} {said:?}",
                name_of(path),
                file_type.name(),
                theirs.len(),
                ours.iter().map(|m| m.0.as_str()).take(3).collect::<Vec<_>>(),
            ));
        }
    }
    println!(
        "archives: {} files, {same} with the same members as their own tools extract, {} otherwise, {unread} that no tool reads",
        files.len(),
        wrong.len()
    );
    wrong
}

/// What is inside compression.
struct Inside {
    file_type: FileType,
    content: Vec<u8>,
    members: BTreeSet<Member>,
    /// Names without content: links lead to another's.
    links: BTreeSet<String>,
    /// What was said to be wrong.
    faults: Vec<String>,
}

fn look_into(bytes: Vec<u8>, depth_max: u8) -> Inside {
    let mut sniffer = Sniffer::new();
    let file_type = sniffer.push(&bytes).unwrap_or_else(|| sniffer.end());
    let means = Means { pool: Pool::new(HELD_BYTES) };
    let (mut children, mut faults) = match open(file_type, &means) {
        Ok(Some(mut decoder)) => children(&mut *decoder, &bytes),
        other => (Vec::new(), vec![format!("{:?}", other.map(|_| "no container"))]),
    };
    if is_codec(file_type)
        && depth_max > 0
        && children.len() == 1
        && let Some((name, content)) = children.pop()
    {
        let mut inside = look_into(content, depth_max - 1);
        if !inside.members.is_empty() {
            inside.faults.append(&mut faults);
            return inside;
        }
        children.push((name, inside.content));
    }
    let (links, members): (Vec<_>, Vec<_>) = children.iter().partition(|(_, content)| content.is_empty());
    Inside {
        file_type,
        members: members.iter().map(|(name, content)| (plain(name), sum(content))).collect(),
        links: links.iter().map(|(name, _)| plain(name)).collect(),
        content: bytes,
        faults,
    }
}

/// All that the decoder says is in these bytes, and what it says is wrong with them.
fn children(decoder: &mut dyn Decoder, mut bytes: &[u8]) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
    let (mut children, mut faults): (Vec<(String, Vec<u8>)>, _) = (Vec::new(), Vec::new());
    let (mut scratch, mut total) = (vec![0; 64 << 10], 0);
    while total <= MEMBER_BYTES_MAX {
        let step = decoder.step(bytes, More::Ended, &mut scratch);
        let piece = match &step.event {
            Event::Input(range) => &bytes[range.clone()],
            Event::Output(length) => &scratch[..*length],
            _ => &[],
        };
        total += piece.len();
        if let Some(child) = children.last_mut() {
            child.1.extend_from_slice(piece);
        }
        bytes = &bytes[step.consumed..];
        match step.event {
            // Another name of the same content.
            Event::Name(name) => children.insert(children.len().saturating_sub(1), (name, Vec::new())),
            Event::Open(entry) => children.push((entry.name.unwrap_or(entry.label), Vec::new())),
            Event::End => return (children, faults),
            Event::Broken(_) | Event::Incomplete(_) | Event::Anomaly(_) => {
                faults.push(format!("{:?}", step.event))
            }
            _ => {}
        }
    }
    faults.push("longer than is looked at".to_owned());
    (children, faults)
}

fn is_codec(file_type: FileType) -> bool {
    use FileType as T;
    matches!(file_type, T::Gzip | T::Bzip2 | T::Xz | T::Lzma | T::Zstd | T::Compress | T::Lzip)
}

/// A name without what extracting tools take off its front.
fn plain(name: &str) -> String {
    let parts = name.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

fn sum(bytes: &[u8]) -> (usize, u64) {
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (bytes.len(), sum)
}

/// Commands that extract a file of this type into the directory where they run.
fn tools(file_type: FileType) -> &'static [&'static str] {
    use FileType as T;
    match file_type {
        T::Zip => &["unzip -qqo", "7zz x -y -bd -p-", "bsdtar -xf"],
        T::SevenZip => &["7zz x -y -bd -p-", "bsdtar -xf"],
        T::Rar => &["bsdtar -xf", "unar -q -D -f"],
        T::Lha => &["lhasa xq2f", "bsdtar -xf", "7zz x -y -bd"],
        T::Arj => &["arj x -y", "7zz x -y -bd"],
        T::Cab => &["cabextract -q", "7zz x -y -bd", "bsdtar -xf"],
        T::Chm | T::Iso9660 | T::Data | T::Szdd => &["7zz x -y -bd", "bsdtar -xf"],
        T::Tar | T::Cpio | T::Ar => &["bsdtar -xf", "7zz x -y -bd"],
        _ => &[],
    }
}

/// The members that the tool extracts; `None` where it says that all is not well.
fn extracted(tool: &str, path: &Path) -> Option<BTreeSet<Member>> {
    let place = Directory::new("extracted");
    let mut words = tool.split(' ');
    let status = Command::new("timeout")
        .args([TOOL_SECONDS, words.next()?])
        .args(words)
        .arg(path)
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    if !status.success() {
        return None;
    }
    let mut members = BTreeSet::new();
    for file in files_below(place.path()) {
        let content = fs::read(&file).ok().filter(|content| !content.is_empty());
        if let (Some(content), Ok(name)) = (content, file.strip_prefix(place.path())) {
            members.insert((plain(&name.to_string_lossy()), sum(&content)));
        }
    }
    (!members.is_empty()).then_some(members)
}
