//! Seeds of ClamAV's databases, and of what is scanned with them. Rule: each kind of line, right and wrong.

use crate::{CUTS, Corpus};
use lockgate_tests::icons;

/// Signatures that the end of a file decides, files described by their container, rules.
const LATE: &str = "A;Engine:81-255,Target:0;0&1;6162;0/(?P<a>x|[^a-c\\\\]\\d)*?(?=y)\\1{2,3}(?i:z)$/smi\nB;Target:0;1;6162;EOF-5,3:0&(0>1)/(?<!a)b++|\\Qx\\E\\x41[[:alpha:]]/gre::i\n\
        C;Target:0;0&1;6162;0(>>0x4#hle4#>10,<0x20)\nD;Target:0;0&1;6162;0(<<2#ib2#=7)\nE;Target:0;0&1;6162;${6-7}12$\n\
        F;Target:0,Intermediates:CL_TYPE_MAIL>CL_TYPE_ANY;0;6162\nG;Target:0,Container:CL_TYPE_OOXML_WORD;0;VI:6162\nH;Target:0;1;61;0/(?(1)a|b)(a)(?>b)\\R\\h/xAEU\nI;Target:0,HandlerType:CL_TYPE_PDF;0;61";
const IDB: &str = "A:ONE:TWO:185c80f1052b0e00354090f0eb04051020a0413b000bf70011f60e00f20e0fe5030ce61009e70306590f103910052f0a010d00000e040f17060043051c0d\nB:x:y:21\nC:x";
const CDB: &str = "A:CL_TYPE_ZIP:5:\\.exe$:*:10-20:0:1:352441c2:*\nB:*:*:*:*:*:*:*:*:*:1:300\nC:CL_TYPE_MAIL:*:a:9:*:*:2-3:*:*\nD:x:1:(:*:*:1:*:ff:*";
const YAR: &str = "rule A : t { meta: a = \"b\" strings: $a = \"x\\x41\" nocase wide $b1 = { 01 ?? [2-4] (02|0?) } $c = /a\\/b/is condition: ($a and not $b1 at 5) or #a > 1KB and @a[1] in (0..filesize) or 2 of ($a, $b*) or all of them or uint16be(0) * 2 - 1 == 0x4d5a }\n\
        import \"pe\"\nrule B { strings: $a = \"ab\" condition: $a in (1..2) and entrypoint % 2 == 0 }\nglobal rule C { condition: true }";

/// Writes all of them, each line by itself as well, and what is scanned with them.
pub fn seeds(corpus: &Corpus) {
    let ndb = "A:0:*:6162636465\nB:1:EP+10:61626364\nC:1:EP-10:61626364\nD:1:S0+3:61626364\nE:1:SL+3:61626364\nF:1:SE1:61626364\nG:0:EOF-10:61626364\n\
        H:0:10,20:61626364\nI:6:VI:61626364\nJ:4:0:61626364*65666768:51:99\nK:7:*:61626364:10\nL:99:*:6162\nM:0:x:6162\nN:0:*:zz\nO\n\nP:0:*:6162{2-}6364\n#comment\n\
        Q:0:$0:61626364\nR:0:*:616263[1-2]64\nS:12:*:61626364\nT:3:0,5:3c68746d6c3e";
    let ldb = "L;Engine:51-255,Target:0;0&1;61626364;65666768\nM;Target:1,FileSize:10-20,EntryPoint:1-2,NumberOfSections:1-3;(0|1)=2,1;6162::i;6364::w\n\
        N;Target:0;0>1&(1<2|2=0);6162;6364::a;6566::f\nO;Target:0;0/abc/;6162\nP;Target:0;0;0/ab+c/i\nQ;Target:0;0&(1;6162\nR;Target:0;0;$1:6162\n\
        S;Target:0,Container:CL_TYPE_ZIP;0;EP+0:6162::iwfa\nT;Target:0;0;fuzzy_img#af2ad01ed42993c7#0\nU;Target:0;0&1&2&3;61;62;63;64\nV;Target:0;0;6162(63|64)65::i\n\
        W;Engine:200-255,Target:0;0;61626364\nX;Target:7;((0|1)&2)>3,2;61626364;65666768;696a6b6c\nY;Target:0,IconGroup1:x;0;61626364\nZ;Target:0;0=0;61626364\n;;;";
    let hdb = "900150983cd24fb0d6963f7d28e17f72:3:A\n900150983cd24fb0d6963f7d28e17f72:*:B:73\n9001:3:C\nzz\na9993e364706816aba3e25717850c26c9cd0d89d:3:D\n\
        ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad:x:E\n:::";
    let ign = "main.ndb:1:A\nA\nA:0cc175b9c0f1b6a831c399e269772661\n#\n";
    for (name, file, text) in [
        ("ndb", "a.ndb", ndb),
        ("ldb", "a.ldb", ldb),
        ("hdb", "a.hdb", hdb),
        ("hsb", "a.hsb", hdb),
        ("fp", "a.fp", hdb),
        ("sfp", "a.sfp", hdb),
        ("ign", "a.ign", ign),
        ("ign2", "a.ign2", ign),
        ("mdb", "a.mdb", hdb),
        ("late", "a.ldb", LATE),
        ("cdb", "a.cdb", CDB),
        ("yar", "a.yar", YAR),
        ("all", "a.ndb\na.ldb\na.hdb\na.ign2\na.db\na.unknown\nREADME", ndb),
        ("db", "a.db", "A=6162636465\nB=x"),
        ("ndu", "a.ndu", ndb),
        ("ldu", "a.ldu", ldb),
        ("msb", "a.msb", hdb),
        ("imp", "a.imp", hdb),
        ("idb", "a.idb", IDB),
        ("cvd", "a.cvd\na.cud", "ClamAV-VDB:1 Jan 2026:1:1:90:x:y:z:1"),
    ] {
        corpus.put("antivirus_database", name, format!("{file}\n\n{text}").as_bytes());
        for (index, line) in text.lines().enumerate() {
            corpus.put(
                "antivirus_database",
                &format!("{name}{index}"),
                format!("{file}\n\n{line}").as_bytes(),
            );
        }
    }
    scanned(corpus);
}

/// What is scanned with all those signatures, and with a database of which bytes are others.
fn scanned(corpus: &Corpus) {
    /// Windows programs, which are to come as each kind of file.
    const PROGRAMS: [usize; 2] = [8, 13];
    let program = program();
    let texts: &[&[u8]] = &[
        b"abcd efgh mn..op qr...st uvxy ijkl",
        b"efgh",
        b"abc",
        b"a",
        b"aaaa zzz",
        b"HELLO World  hello\tworld",
        b"<html>WORLD</html> world",
        b"mn....op mn.op uwxy",
        &program,
        b"",
        b"ab ab ab cd",
        b"<script>var ab=1;eval('x=\"world\"')/*c*/</script><a href='x y'>y&amp;&#65;<!-- q -->efgh",
        b"<script>// c\nfunction f(a,b){var x=1.5e+3,y=0x1f,z=[1,2],w='a'+\"b\"+'c\\'d';return x.y(a)+b++;}\
          var $q_=99999999999,r=2.;f(1);(function(){var t=2;t.u=t})(\\u0041b,x+=1e5,3.7E-2,'n000'#@`</script>",
        &program_with_icons(),
    ];
    for (index, text) in texts.iter().enumerate() {
        // As it is stored, and with one byte that differs.
        corpus.put("antivirus_stored", &format!("whole{index}"), &[&[0], *text].concat());
        let place = (index as u16 * 700).to_le_bytes();
        let changed = [&[1, place[0], place[1], 0, 0x40], *text].concat();
        corpus.put("antivirus_stored", &format!("changed{index}"), &changed);
    }
    for kind in 0..60_u8 {
        for (index, text) in texts.iter().enumerate() {
            if kind < 12 || PROGRAMS.contains(&index) || index % 4 == usize::from(kind) % 4 {
                corpus.put(
                    "antivirus_scanner",
                    &format!("{kind}.{index}"),
                    &[&[kind], &CUTS[..], text].concat(),
                );
            }
        }
    }
}

/// A Windows program with one section and two no-ops at its entry point.
fn program() -> Vec<u8> {
    let mut bytes = vec![0; 0x400];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c] = 0x80;
    bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
    bytes[0x84..0x86].copy_from_slice(&[0x4c, 0x01]);
    bytes[0x86] = 1;
    bytes[0x94] = 0xe0;
    bytes[0x98..0x9a].copy_from_slice(&[0x0b, 0x01]);
    // Entry point, section alignment, file alignment, size of the headers.
    for (at, value) in [(16, 0x1000_u32), (32, 0x1000), (36, 0x200), (60, 0x200)] {
        bytes[0x98 + at..0x98 + at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let section = 0x98 + 0xe0;
    bytes[section..section + 5].copy_from_slice(b".text");
    for (at, value) in [(8, 0x200_u32), (12, 0x1000), (16, 0x200), (20, 0x200)] {
        bytes[section + at..section + at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes[0x200..0x202].copy_from_slice(&[0x90, 0x90]);
    bytes
}

/// The same, its section full of an icon's pictures: of each depth, and one that a signature names.
fn program_with_icons() -> Vec<u8> {
    let sizes = [
        (16, 16, 4),
        (32, 32, 8),
        (24, 24, 24),
        (48, 48, 32),
        (32, 32, 1),
        (32, 32, 16),
        (40, 38, 32),
        (20, 22, 8),
    ];
    let pictures: Vec<_> =
        sizes.into_iter().map(|(width, height, depth)| icons::picture(width, height, depth)).collect();
    let resources = icons::resources(&pictures);
    let mut bytes = program();
    bytes.truncate(0x200);
    let length = (resources.len() as u32).to_le_bytes();
    // How many directories, the third of which is that of resources; then the section's lengths.
    bytes[0x98 + 92] = 16;
    bytes[0x98 + 96 + 16..][..4].copy_from_slice(&icons::ADDRESS.to_le_bytes());
    for at in [0x98 + 96 + 20, 0x98 + 0xe0 + 8, 0x98 + 0xe0 + 16] {
        bytes[at..at + 4].copy_from_slice(&length);
    }
    bytes.extend(resources);
    bytes
}
