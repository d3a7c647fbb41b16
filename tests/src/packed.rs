//! Content packed by programs of others. Rule: nothing here packs anything by itself.

use std::process::Command;

use crate::process::run;
use crate::temporary::Directory;

/// What a program makes of a file's content, beside it under its name with this ending.
pub fn packed(program: &str, arguments: &[&str], ending: &str, content: &[u8]) -> Vec<u8> {
    let directory = Directory::new("packed");
    let path = directory.write("file", content);
    run(Command::new(program).args(arguments).arg(&path));
    std::fs::read(directory.join(&format!("file.{ending}"))).expect("it was made")
}

/// What gzip makes of it, the same each time.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    packed("gzip", &["-n"], "gz", content)
}

/// What zstd makes of it, with a check sum.
pub fn zstd(content: &[u8]) -> Vec<u8> {
    packed("zstd", &["-q"], "zst", content)
}
