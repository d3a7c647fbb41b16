//! Stored databases that are not what was stored. Rule: whatever the bytes, they are refused or can be scanned with.

use crate::tests::{compile, scan};
use crate::{Database, Report};
use lockgate_model::FileType;
use std::sync::Arc;

/// One signature of each sort, and all that a report can say.
fn some() -> (Arc<Database>, Report) {
    compile(&[
        (
            "a.ndb",
            "A.Any:0:*:61626364\nA.Start:0:0:65666768\nA.End:0:EOF-4:696a6b6c\nA.Gap:0:*:6d6e{2-4}6f70\nA.Pe:1:EP+0:9090\n\
            A.Last:1:SL+0,4:9090\nA.Star:0:*:7172*7374\nA.Alt:0:*:75(76|77)7879\nA.Not:0:*:7a7a!(61|62)63\nA.Wide:0:*:61??6?64::i\n\
            A.Text:7:*:68656c6c6f\nA.Word:0:*:(B)776f7264(L)\nA.Zeros:0:*:0000000000000000\nA.Short:0:*:4d5a\nA.Bad:0:*:zz\n",
        ),
        (
            "a.ldb",
            "L.Or;Engine:51-255,Target:0;(0|1)>2;6162;6364\nL.Not;Engine:51-255,Target:0;0=0&1;7a7a7a;61616161\n\
            L.Perl;Engine:81-255,Target:0;1;61626364;0/(.)\\1x+(?=y)|z{2,}/gi\nL.Size;Target:1,FileSize:1-9;0;61\n\
            L.Number;Engine:81-255,Target:0;0&1;61626364;0(>>4#hb2#>16)\nL.In;Target:0,Container:CL_TYPE_ZIP;0;6162\n",
        ),
        ("a.hdb", "900150983cd24fb0d6963f7d28e17f72:3:H.Abc\n"),
        ("a.mdb", "*:900150983cd24fb0d6963f7d28e17f72:M.Abc:73\n"),
        ("a.fp", "0cc175b9c0f1b6a831c399e269772661:1:F.A\n"),
        ("a.cdb", "C.Exe:CL_TYPE_ZIP:*:\\.exe$:*:10-20:0:1:*:*\n"),
        (
            "a.yar",
            "rule R { strings: $a = \"rule\" nocase $b = /x\\d+/ condition: #a > 1 or @b[1] + 1 > 2 }\n",
        ),
        ("a.cbc", ""),
    ])
}

fn bytes_of(database: &Database, report: &Report) -> Vec<u8> {
    let mut bytes = Vec::new();
    database.store(report, &mut bytes).unwrap();
    bytes
}

fn load(bytes: &[u8]) -> Result<(Database, Report), crate::Unfit> {
    Database::load(&mut &*bytes, bytes.len() as u64)
}

#[test]
fn any_byte_that_differs_is_noticed() {
    let (database, report) = some();
    let whole = bytes_of(&database, &report);
    assert_eq!(load(&whole).map(|(_, report)| report), Ok(report));
    let step = whole.len() / 2000 + 1;
    for at in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(load(&bytes).is_err(), "changed at {at}");
        assert!(load(&whole[..at]).is_err(), "cut at {at}");
    }
    // The length that is given counts, whatever follows.
    assert!(Database::load(&mut whole.as_slice(), whole.len() as u64 - 1).is_err());
    assert!(Database::load(&mut whole.as_slice(), u64::MAX).is_err());
    assert!(load(&[]).is_err() && load(&whole[..3]).is_err());
}

#[test]
fn what_passes_its_checksum_all_the_same_can_be_scanned_with() {
    let (database, report) = some();
    let whole = bytes_of(&database, &report);
    let payload = whole.len() - 4;
    let file = b"MZabcd efgh word\nmn..op qr..st uvxy zzac rule Rule x12 zzzz aaaa ABxd\0\0\0\0\0\0\0\0\0 hello ijkl";
    let (mut loaded, mut refused) = (0, 0);
    let step = payload / 4000 + 1;
    for at in (0..payload).step_by(step) {
        let mut bytes = whole.clone();
        // What is no number of its own is mostly zero: a small change there, a large one elsewhere.
        bytes[at] ^= if bytes[at] == 0 { 1 << (at % 8) } else { 0xff };
        let sum = crc32fast::hash(&bytes[..payload]).to_le_bytes();
        bytes[payload..].copy_from_slice(&sum);
        match load(&bytes) {
            Err(_) => refused += 1,
            Ok((database, _)) => {
                loaded += 1;
                let database = Arc::new(database);
                for detected in [FileType::Data, FileType::Pe, FileType::Text] {
                    scan(&database, detected, &[file]);
                    let pieces: Vec<&[u8]> = file.chunks(7).collect();
                    scan(&database, detected, &pieces);
                }
            }
        }
    }
    assert!(loaded > 100 && refused > 100, "{loaded} loaded, {refused} refused");
}
