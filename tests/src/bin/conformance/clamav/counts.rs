//! How often a body matches: bodies with gaps of different widths in bytes that repeat themselves, drawn by seed. Rule: for each
//! count a signature asks, and both programs name the same.

use super::{Directory, clamscan, lockgate};
use crate::random::Random;

/// How many bodies and files are drawn. No more is told of a file than 32 findings.
const BODIES: usize = 30;
const FILES: usize = 40;
/// The longest file, around which there are bytes that make it none of text.
const FILE_BYTES_MAX: usize = 45;
const AROUND: [u8; 32] = [0xfe; 32];

/// Which counts differ, of how many that are not 0.
pub fn compare(random: &mut Random) -> Vec<String> {
    let (place, lists) = (Directory::new("counted"), Directory::new("counting"));
    let bodies: Vec<String> = (0..BODIES).map(|_| body(random)).collect();
    let asking = |(number, body): (usize, &String)| {
        let line = |count| format!("{number}={count};Engine:51-255,Target:0;0={count};{body}\n");
        (1..=FILE_BYTES_MAX).map(line).collect::<String>()
    };
    lists.write("counting.ldb", bodies.iter().enumerate().map(asking).collect::<String>());
    for number in 0..FILES {
        let letters: &[u8] = if number % 2 == 0 { b"ab" } else { b"aab." };
        let length = random.between(8, FILE_BYTES_MAX);
        let file: Vec<u8> = (0..length).filter_map(|_| random.pick(letters).copied()).collect();
        place.write(&number.to_string(), [&AROUND[..], &file, &AROUND].concat());
    }
    let theirs = clamscan(place.path(), lists.path(), &[]);
    let ours = lockgate(place.path(), lists.path());
    let counted: usize = theirs.values().map(std::collections::BTreeSet::len).sum();
    println!("clamav: {BODIES} bodies in {FILES} files: {counted} counts that are not 0");
    let files = (0..FILES).map(|number| number.to_string());
    let differing = files.filter(|file| theirs.get(file) != ours.get(file));
    let wrong = |file: String| format!("counts in {file}: {:?} and {:?}", theirs.get(&file), ours.get(&file));
    let mut wrong: Vec<String> = differing.map(wrong).collect();
    if counted < BODIES {
        wrong.push(format!("{counted} counts only"));
    }
    wrong
}

/// Two or three pieces of two or three letters.
fn body(random: &mut Random) -> String {
    let mut body = String::new();
    for piece in 0..random.between(2, 3) {
        if piece > 0 {
            let least = random.below(6);
            body += &format!("{{{least}-{}}}", least + random.between(1, 40));
        }
        for _ in 0..random.between(2, 3) {
            body += ["61", "62"][random.below(2)];
        }
    }
    body
}
