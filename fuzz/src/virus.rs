//! What the targets of the virus engine share: signatures, and a scan. Rule: as the gateway asks the engine, without the gateway.

use crate::asked;
use lockgate_antivirus::{Database, Sources};
use lockgate_model::{Buffer, Database as _, Direction, FileType, Hit, Protocol, Sink};
use std::sync::Arc;

/// One signature of each sort, over bytes that a fuzzer finds easily.
pub const SIGNATURES: [(&str, &str); 9] = [
    (
        "a.ndb",
        "A.Any:0:*:61626364\nA.Start:0:0:65666768\nA.End:0:EOF-4:696a6b6c\nA.Gap:0:*:6d6e{2-4}6f70\n\
        A.Text:7:*:68656c6c6f\nA.Html:3:*:776f726c64\nA.Script:3:*:6e303030\nA.ScriptText:7:*:6e303030\nA.Pe:1:EP+0:9090\nA.Sec:1:S0+0:9090\nA.Last:1:SL+0,4:9090\nA.Within:1:SE0:9090\nA.Version:1:VI:61626364\nA.Elf:6:EP+0:9090\nA.Mach:9:EP+0:9090\nA.Group:0:$12:626262\nA.Star:0:*:7172*7374\nA.Alt:0:*:75(76|77)7879\n",
    ),
    (
        "a.ldb",
        "L.And;Engine:51-255,Target:0;0&1;61626364;65666768\n\
        L.Or;Engine:51-255,Target:0;(0|1)>2;6162;6364\nL.Ends;Engine:51-255,Target:0;0>2;6162{1-3}6364\nL.Cond;Engine:51-255,Target:1,NumberOfSections:1-3,EntryPoint:1-2000;0;9090\nL.Size;Engine:51-255,Target:0,FileSize:1-9;0;61\nL.Perl;Engine:81-255,Target:0;1;61626364;0/(.)\\1x+(?=y)|z{2,}/gi\n\
        L.Number;Engine:81-255,Target:0;0&1;61626364;0(>>4#hb2#>16)\nL.Not;Engine:51-255,Target:0;0=0&1;7a7a7a;61616161\n\
        L.Icon;Engine:51-255,Target:1,IconGroup1:X;0;0:4d5a\nL.Pdf;Engine:51-255,HandlerType:CL_TYPE_PDF,Target:0;0;65666768\nL.Page;Engine:51-255,Target:3;(0&1|2);3c61;3e;0/h+/\n\
        L.Macro;Engine:51-255,Target:0;0&1;61616161;${6-7}12$\nL.Text;Engine:81-255,Target:0;0&1;61626364;0/nothing|abcde+/\nL.Rule;Engine:81-255,Target:1;0&1;6162;0/nothing/\n",
    ),
    (
        "a.idb",
        "I.A:X:Y:185c80f1052b0e00354090f0eb04051020a0413b000bf70011f60e00f20e0fe5030ce61009e70306590f103910052f0a010d00000e040f17060043051c0d\n",
    ),
    ("a.hdb", "900150983cd24fb0d6963f7d28e17f72:3:H.Abc\n"),
    ("a.hsb", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad:3:H.Sha\n"),
    ("a.mdb", "*:900150983cd24fb0d6963f7d28e17f72:M.Abc:73\n"),
    ("a.imp", "900150983cd24fb0d6963f7d28e17f72:*:I.Abc:73\n"),
    ("a.yar", "rule R { strings: $a = \"rule\" nocase $b = /x\\d+/ condition: #a > 1 or @b[1] > 2 }\n"),
    ("a.fp", "0cc175b9c0f1b6a831c399e269772661:1:F.A\n"),
];

/// A database of all of these, and of signatures that ask for common patterns once a rare one is there: more than are asked for
/// one by one, and no more than a part may have hits.
pub fn database() -> Database {
    let mut sources = Sources::new();
    SIGNATURES.iter().for_each(|(name, text)| sources.add(name, text.as_bytes()));
    let asking = |number: u8| {
        format!("S{number};Engine:51-255,Target:1;0&1&2;93d71ce5{number:02x}b2a84fc9;610562;61056263\n")
    };
    let mut asks: String = (0..13).map(asking).collect();
    asks += "S;Engine:51-255,Target:1;0&1&2;93d71ce5b2a84fc9e16a;6b65726e656c3332;546869732070726f6772616d\n";
    sources.add("b.ldb", asks.into_bytes());
    let (database, report) = sources.compile();
    assert_eq!(report.signatures_failed(), 0);
    database
}

struct Hits(Vec<String>);

impl Sink for Hits {
    fn hit(&mut self, hit: Hit) {
        // Where a signature is told first, in the bytes or in the text made of them, depends on the cuts; that it is
        // told does not.
        self.0.push(format!("{:?} {} {}", hit.class, hit.rule, hit.name));
    }
}

/// What is found in a file that comes in these chunks, in the order of names.
pub fn hits<'a>(
    database: &Arc<Database>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    detected: FileType,
) -> Vec<String> {
    let nowhere = ([127, 0, 0, 1], 0).into();
    let mut flow = Arc::clone(database).open_flow(&asked::flow(Protocol::File, nowhere));
    let mut scanner = flow.open(&asked::transaction(Direction::ToServer));
    let mut sink = Hits(Vec::new());
    let part = asked::part(detected);
    scanner.open(&part);
    for chunk in chunks {
        scanner.push(part.id, Buffer::FileData, chunk, &mut sink);
    }
    scanner.end(part.id, Buffer::FileData, &mut sink);
    scanner.close(part.id, &mut sink);
    scanner.finish(&mut sink);
    sink.0.sort();
    sink.0
}
