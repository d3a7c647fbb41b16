//! Compiling, keeping and sharing. Rule: whatever becomes of the file, the signatures are those of the sources.

use super::*;
use crate::scratch::Scratch;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const SOME: &str = "Good:0:*:6465616462656566\nBad:0:*:zz\nAlso:1:EP+3:61626364\n";
const LOGICAL: &str = "Both;Target:0;(0&1)|2;6465616462656566;63616665;0/ca(f|p)e/i\n";

/// Sources in one directory, and a place for what is compiled of them in another.
fn scene(name: &str) -> (Scratch, Config) {
    let scratch = Scratch::new(&format!("signatures-{name}"));
    scratch.write("sources/a.ndb", SOME);
    scratch.write("sources/b.ldb", LOGICAL);
    scratch.write("sources/c.cbc", "of a kind that is not read");
    let mut config = Config::load(None).unwrap();
    config.databases = vec![Source::Path(scratch.path().join("sources"))];
    config.cache = Cache::In(scratch.path().join("kept"));
    (scratch, config)
}

fn kept(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(scratch.path().join("kept")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Loads, and says whether a file was used: then it is not written again.
fn load_and_tell(scratch: &Scratch, config: &Config) -> (Read, bool) {
    let number = |path: &PathBuf| path.metadata().unwrap().ino();
    let before = kept(scratch).first().map(number);
    let read = load(config, None);
    let is_used = before.is_some() && before == kept(scratch).first().map(number);
    (read, is_used)
}

#[test]
fn a_second_start_compiles_nothing() {
    let (scratch, config) = scene("second");
    let (first, is_used) = load_and_tell(&scratch, &config);
    assert_eq!((first.errors, first.notes, is_used), (vec![], vec![], false));
    assert_eq!(first.signatures.report.failures.len(), 1);
    let file = &kept(&scratch)[0];
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let (second, is_used) = load_and_tell(&scratch, &config);
    assert_eq!((second.errors, second.notes, is_used), (vec![], vec![], true));
    assert_eq!(second.signatures.report, first.signatures.report);
    assert_eq!(second.signatures.database.strategies(), first.signatures.database.strategies());
    // Off is off, and leaves what is there.
    let off = Config { cache: Cache::Off, ..config };
    assert_eq!(load(&off, None).signatures.report, first.signatures.report);
    assert_eq!(kept(&scratch).len(), 1);
}

#[test]
fn small_sources_have_no_file_beside_them() {
    let (scratch, config) = scene("small");
    let config = Config { cache: Cache::Auto, ..config };
    assert_eq!(load(&config, None).errors, [""; 0]);
    assert_eq!(files_below(&scratch.path().join("sources")).unwrap().len(), 3);
    assert!(std::fs::read_dir(scratch.path().join("sources")).unwrap().count() == 3);
    // What is larger has one, which is no source itself.
    let line = "Good:0:*:6465616462656566\n";
    scratch.write("sources/large.ndb", line.repeat(KEPT_BYTES_MIN as usize / line.len() + 1));
    assert_eq!(load(&config, None).errors, [""; 0]);
    assert_eq!(std::fs::read_dir(scratch.path().join("sources")).unwrap().count(), 5);
    assert_eq!(files_below(&scratch.path().join("sources")).unwrap().len(), 4);
}

#[test]
fn what_changes_is_compiled_again() {
    let (scratch, config) = scene("changes");
    load(&config, None);
    assert!(load_and_tell(&scratch, &config).1);
    // As many bytes, at the same time.
    let path = scratch.path().join("sources/a.ndb");
    let time = path.metadata().unwrap().modified().unwrap();
    scratch.write("sources/a.ndb", SOME.replace("Good", "Gold"));
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let (read, is_used) = load_and_tell(&scratch, &config);
    assert!(!is_used && read.notes[0].ends_with("their sources have changed"), "{:?}", read.notes);
    assert!(load_and_tell(&scratch, &config).1);
    // A name counts as well, also of a file that is only named.
    std::fs::rename(scratch.path().join("sources/c.cbc"), scratch.path().join("sources/d.cbc")).unwrap();
    assert!(!load_and_tell(&scratch, &config).1);
    // Errors leave no file, and use none.
    scratch.write("sources/broken.ndb", "no signature\n");
    let (read, is_used) = load_and_tell(&scratch, &config);
    assert!(is_used && read.errors.len() == 1 && read.signatures.key.is_none(), "{:?}", read.errors);
}

#[test]
fn a_file_that_is_damaged_is_made_anew() {
    let (scratch, config) = scene("damaged");
    let report = load(&config, None).signatures.report.clone();
    let path = kept(&scratch)[0].clone();
    let whole = std::fs::read(&path).unwrap();
    let step = whole.len() / 200 + 1;
    let cuts = (0..whole.len()).step_by(step).map(|at| whole[..at].to_vec());
    let changes = (0..whole.len()).step_by(step).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        bytes
    });
    let longer = [&whole[..], b"\0"].concat();
    for bytes in cuts.chain(changes).chain([longer, Vec::new()]) {
        std::fs::write(&path, &bytes).unwrap();
        let (read, is_used) = load_and_tell(&scratch, &config);
        assert!(!is_used && read.notes.len() == 1, "{:?}", read.notes);
        assert_eq!((&read.errors[..], &read.signatures.report), (&[][..], &report));
    }
    // Written in the end: it is used again.
    assert!(load_and_tell(&scratch, &config).1);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn the_same_sources_are_shared_between_generations() {
    let (scratch, config) = scene("shared");
    let first = load(&config, None).signatures;
    std::fs::remove_dir_all(scratch.path().join("kept")).unwrap();
    let second = load(&config, Some(&first)).signatures;
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(kept(&scratch).len(), 0, "nothing is loaded and nothing stored");
    scratch.write("sources/a.ndb", "Other:0:*:6465616462656566\n");
    let third = load(&config, Some(&second)).signatures;
    assert!(!Arc::ptr_eq(&second, &third));
    // What could not be read as a whole is shared with nobody.
    let missing = Config { databases: vec![Source::Path(scratch.path().join("missing.ndb"))], ..config };
    let none = load(&missing, Some(&third));
    assert!(
        none.errors.len() == 1
            && !Arc::ptr_eq(&none.signatures, &load(&missing, Some(&none.signatures)).signatures)
    );
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_of() {
    let (scratch, config) = scene("unwritable");
    let file = scratch.write("kept", "a file is no directory");
    let read = load(&config, None);
    assert_eq!(read.errors, [""; 0]);
    assert!(read.notes.len() == 1 && read.notes[0].contains("kept nowhere"), "{:?}", read.notes);
    assert_eq!(std::fs::read(file).unwrap(), b"a file is no directory");
}

#[test]
fn sources_that_others_may_not_read_are_kept_from_them() {
    let (scratch, config) = scene("private");
    let path = scratch.path().join("sources/a.ndb");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    load(&config, None);
    assert_eq!(kept(&scratch)[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn several_may_write_at_once() {
    let (scratch, config) = scene("writers");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(load(&config, None).errors, [""; 0]);
                    let _ = std::fs::remove_file(scratch.path().join("kept").join(".lockgate"));
                }
            });
        }
    });
    assert_eq!(kept(&scratch).len(), 1, "nothing is left on its way");
    assert!(load_and_tell(&scratch, &config).1);
}

#[test]
fn what_a_writer_left_behind_is_taken_away() {
    let (scratch, config) = scene("left");
    load(&config, None);
    let file = kept(&scratch)[0].clone();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let left = scratch.write(&format!("kept/{name}.1-0.tmp"), "half of it");
    let fresh = scratch.write(&format!("kept/{name}.2-0.tmp"), "half of it");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    File::options().write(true).open(&left).unwrap().set_modified(old).unwrap();
    scratch.write("sources/a.ndb", "Other:0:*:6465616462656566\n");
    load(&config, None);
    assert!(!left.exists() && fresh.exists() && file.exists());
}
