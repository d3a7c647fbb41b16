//! Seeds of ClamAV's databases, and of what is scanned with them. Rule: each kind of line, right and wrong.

use crate::programs;
use crate::{CUTS, Corpus};
use lockgate_tests::process::run;
use lockgate_tests::{Directory, mail};
use std::process::Command;

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
    containers(corpus);
    scanned(corpus);
}

/// Databases in one file: with sums that are right and not, signed by nobody who may, as a tar and gzipped.
fn containers(corpus: &Corpus) {
    let directory = Directory::new("containers");
    directory.write("a.ndb", "A:0:*:616263646566\n");
    directory.write("COPYING", "free");
    run(Command::new("sh")
        .args(["-ec", "tar --format=v7 -cf a.tar a.ndb COPYING; gzip -n -k a.tar"])
        .current_dir(directory.path()));
    for (name, path) in [("plain", "a.tar"), ("gzipped", "a.tar.gz")] {
        let content = std::fs::read(directory.join(path)).expect("it was made");
        let sum = Command::new("md5sum").arg(directory.join(path)).output().expect("md5sum runs").stdout;
        let sum = String::from_utf8_lossy(&sum[..32]).into_owned();
        let signature: String = mail::noise(3, 170).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        for (kind, sum, signature) in [
            ("right", &*sum, &*signature),
            ("wrong", &sum.replace('1', "2"), "x"),
            ("none", "x", "x"),
            ("short", &sum, "?"),
        ] {
            let mut head =
                format!("ClamAV-VDB:1 Jan 2026 00-00 +0000:1:1:90:{sum}:{signature}:x:1").into_bytes();
            head.resize(512, b' ');
            let file = [&b"a.cvd\na.cud\n\n"[..], &head, &content].concat();
            corpus.put("antivirus_database", &format!("{name}.{kind}"), &file);
            corpus.put("antivirus_database", &format!("{name}.{kind}.cut"), &file[..file.len() * 2 / 3]);
        }
    }
}

/// What is scanned with all those signatures, and with a database of which bytes are others.
fn scanned(corpus: &Corpus) {
    /// Windows programs, which are to come as each kind of file.
    const PROGRAMS: [usize; 8] = [8, 13, 14, 15, 16, 17, 18, 19];
    let program = programs::windows();
    let asked = [&program, &b"\x93\xd7\x1c\xe5\xb2\xa8\x4f\xc9\xe1\x6a kernel32 This program"[..]].concat();
    let many: Vec<u8> =
        (0..13_u8).flat_map(|number| [0x93, 0xd7, 0x1c, 0xe5, number, 0xb2, 0xa8, 0x4f, 0xc9]).collect();
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
        &programs::with_icons(),
        &programs::with_imports(),
        &programs::with_version(),
        &programs::elf(),
        &programs::mach_o(),
        &asked,
        &[&program[..], &many, b"a\x05ba\x05bcnothing"].concat(),
        b"some text <A HREF=x>world, n000",
        b"bbbb aaaa..bbb x 0x1f 1f2e abcd12 abcde aaaa\x01\x02",
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
