//! What content is wrapped in: formats, packed by their own programs. Rule: where no program packs a format, its manual is written out here.

mod made;

use std::process::Command;

use crate::mail;
use crate::process::run;
use crate::temporary::Directory;

/// One way to wrap content.
pub struct Wrapping {
    /// The format, and the variant behind a dash.
    pub name: &'static str,
    how: How,
}

enum How {
    /// A shell line makes the file `packed` out of the file `content.txt`, beside it.
    Line(&'static str),
    /// No program of Debian does.
    Made(fn(&[u8]) -> Vec<u8>),
}

impl Wrapping {
    /// The content wrapped.
    pub fn wrap(&self, content: &[u8]) -> Vec<u8> {
        match self.how {
            How::Made(make) => make(content),
            How::Line(line) => {
                let directory = Directory::new("wrapping");
                directory.write("content.txt", content);
                run(Command::new("sh").args(["-ec", line]).current_dir(directory.path()));
                let packed = std::fs::read(directory.join("packed"));
                packed.unwrap_or_else(|error| panic!("{}: {error}", self.name))
            }
        }
    }

    /// Whether it stands for its format where formats are nested.
    pub fn is_first_of_its_format(&self) -> bool {
        !self.name.contains('-')
    }
}

const fn line(name: &'static str, line: &'static str) -> Wrapping {
    Wrapping { name, how: How::Line(line) }
}

const fn made(name: &'static str, make: fn(&[u8]) -> Vec<u8>) -> Wrapping {
    Wrapping { name, how: How::Made(make) }
}

fn attached(content: &[u8]) -> Vec<u8> {
    mail::with_attachment("within", "content.txt", content)
}

/// All of them, each format's commonest variant first and without a dash.
pub const ALL: &[Wrapping] = &[
    line("compress", "compress -c -f content.txt > packed"),
    line("compress-makeself", "mkdir a; mv content.txt a; makeself --compress a packed a true > log 2>&1"),
    line("gzip", "gzip -c content.txt > packed"),
    line("gzip-script", "chmod +x content.txt; gzexe content.txt; mv content.txt packed"),
    line(
        "gzip-script-zip",
        "zip -q a.zip content.txt; { printf '#!/bin/sh\\ntail -n +3 \"$0\" | zcat | funzip | sh; exit\\n'; gzip -c a.zip; } > packed",
    ),
    line("gzip-makeself", "mkdir a; mv content.txt a; makeself --gzip a packed a true > log 2>&1"),
    line("bzip2", "bzip2 -c content.txt > packed"),
    line("bzip2-script", "chmod +x content.txt; bzexe content.txt; mv content.txt packed"),
    line("xz", "xz -c content.txt > packed"),
    line("xz-x86", "xz -c --x86 --lzma2 content.txt > packed"),
    line("xz-makeself", "mkdir a; mv content.txt a; makeself --xz a packed a true > log 2>&1"),
    line("lzma", "xz --format=lzma -c content.txt > packed"),
    line("lzma-properties", "xz --format=lzma --lzma1=lc=1,lp=2,pb=0,dict=96KiB -c content.txt > packed"),
    line(
        "lzma-script",
        "{ printf '#!/bin/sh\\ntail -n +3 \"$0\" | unlzma | sh; exit\\n'; xz --format=lzma -c content.txt; } > packed",
    ),
    line("lzip", "lzip -c content.txt > packed"),
    line(
        "lzip-script",
        "{ printf '#!/bin/sh\\ntail -n +3 \"$0\" | lzip -d | sh; exit\\n'; lzip -c content.txt; } > packed",
    ),
    line("zstd", "zstd -q -c content.txt > packed"),
    line("zstd-makeself", "mkdir a; mv content.txt a; makeself --zstd a packed a true > log 2>&1"),
    line("zip", "zip -q a.zip content.txt; mv a.zip packed"),
    line("zip-stored", "zip -q -0 a.zip content.txt; mv a.zip packed"),
    line("zip-descriptor", "zip -q - - < content.txt > packed"),
    line("zip-descriptor-stored", "zip -q -0 - - < content.txt > packed"),
    line("zip-64", "zip -q -fz a.zip content.txt; mv a.zip packed"),
    line(
        "zip-prefix",
        "zip -q b.zip content.txt; head -c 5000 /dev/urandom | cat - b.zip > a.zip; zip -q -A a.zip; mv a.zip packed",
    ),
    line("zip-bzip2", "zip -q -Z bzip2 a.zip content.txt; mv a.zip packed"),
    line("zip-deflate64", "7zz a -tzip -mm=Deflate64 a.zip content.txt; mv a.zip packed"),
    line("zip-lzma", "7zz a -tzip -mm=LZMA a.zip content.txt; mv a.zip packed"),
    line("zip-ppmd", "7zz a -tzip -mm=PPMd a.zip content.txt; mv a.zip packed"),
    // The model's memory is used up, and it forgets some or all of what it learnt.
    line(
        "zip-ppmd-forgets",
        "seq 300000 | cat - content.txt > long.txt; 7zz a -tzip -mm=PPMd -mx=9 -mo=16 -mmem=1m a.zip long.txt; mv a.zip packed",
    ),
    line(
        "zip-ppmd-restarts",
        "seq 300000 | cat - content.txt > long.txt; 7zz a -tzip -mm=PPMd -mx=5 -mo=16 -mmem=1m a.zip long.txt; mv a.zip packed",
    ),
    line("zip-xz", "7zz a -tzip -mm=xz a.zip content.txt; mv a.zip packed"),
    line(
        "zip-program",
        "zip -q b.zip content.txt; cat /bin/true b.zip > a.zip; zip -q -A a.zip; mv a.zip packed",
    ),
    made("zip-zstd", made::zip_zstd),
    made("zip-imploded", made::zip_imploded),
    made("zip-shrunk", made::zip_shrunk),
    line("7z", "7zz a a.7z content.txt; mv a.7z packed"),
    line("7z-lzma", "7zz a -m0=lzma a.7z content.txt; mv a.7z packed"),
    line("7z-ppmd", "7zz a -m0=ppmd a.7z content.txt; mv a.7z packed"),
    line("7z-bzip2", "7zz a -m0=bzip2 a.7z content.txt; mv a.7z packed"),
    line("7z-deflate", "7zz a -m0=deflate a.7z content.txt; mv a.7z packed"),
    line("7z-deflate64", "7zz a -m0=deflate64 a.7z content.txt; mv a.7z packed"),
    line("7z-copy", "7zz a -m0=copy a.7z content.txt; mv a.7z packed"),
    line("7z-bcj2", "7zz a -m0=bcj2 -m1=lzma -mb0:1 a.7z content.txt; mv a.7z packed"),
    line("7z-plain-header", "7zz a -mhc=off a.7z content.txt; mv a.7z packed"),
    line("7z-program", "7zz a a.7z content.txt; cat /bin/true a.7z > packed"),
    made("rar", made::rar5),
    made("rar-4", made::rar4),
    made("rar-packed", made::rar5_packed),
    made("rar-4-packed", made::rar4_packed),
    made("rar-program", made::rar_program),
    line("lha", "jlha a a.lzh content.txt; mv a.lzh packed"),
    line("lha-0", "jlha az a.lzh content.txt; mv a.lzh packed"),
    line("lha-6", "jlha ao6 a.lzh content.txt; mv a.lzh packed"),
    line("lha-7", "jlha ao7 a.lzh content.txt; mv a.lzh packed"),
    line("lha-level-1", "jlha a1 a.lzh content.txt; mv a.lzh packed"),
    line("lha-level-2", "jlha a2 a.lzh content.txt; mv a.lzh packed"),
    line("lha-program", "jlha a a.lzh content.txt; cat /bin/true a.lzh > packed"),
    line("arj", "arj a a.arj content.txt; mv a.arj packed"),
    line("arj-stored", "arj a -m0 a.arj content.txt; mv a.arj packed"),
    line("arj-4", "arj a -m4 a.arj content.txt; mv a.arj packed"),
    line("arj-program", "arj a a.arj content.txt; cat /bin/true a.arj > packed"),
    line("tar", "tar cf packed content.txt"),
    line("cpio", "echo content.txt | cpio -o -H newc > packed"),
    line("cpio-crc", "echo content.txt | cpio -o -H crc > packed"),
    line("cpio-odc", "echo content.txt | cpio -o -H odc > packed"),
    line("cpio-binary", "echo content.txt | cpio -o -H bin > packed"),
    line("ar", "ar rc packed content.txt"),
    line("iso", "genisoimage -quiet -o packed content.txt"),
    line("iso-joliet", "genisoimage -quiet -J -r -o packed content.txt"),
    line("cab", "gcab -c -z packed content.txt"),
    line("cab-stored", "gcab -c packed content.txt"),
    line(
        "chm",
        "printf '[OPTIONS]\\nCompatibility=1.1\\nCompiled file=a.chm\\nDefault topic=content.txt\\n[FILES]\\ncontent.txt\\n' > a.hhp; chmcmd a.hhp; mv a.chm packed",
    ),
    line("szdd", "mscompress content.txt; mv content.tx_ packed || mv content.txt_ packed"),
    made("tnef", made::tnef),
    line("ole2", "gsf createole packed content.txt"),
    line(
        "ooxml",
        "mkdir -p word/embeddings; mv content.txt word/embeddings/oleObject1.bin; echo '<Types/>' > '[Content_Types].xml'; zip -q a.zip '[Content_Types].xml' word/embeddings/oleObject1.bin; mv a.zip packed",
    ),
    made("rtf", made::rtf),
    line("pdf", "qpdf --empty --add-attachment content.txt -- packed"),
    line("pdf-plain", "qpdf --empty --stream-data=uncompress --add-attachment content.txt -- packed"),
    line(
        "pdf-object-streams",
        "qpdf --empty --object-streams=generate --add-attachment content.txt -- packed",
    ),
    line("pdf-7z", "qpdf --empty a.pdf; 7zz a -bd a.7z content.txt > log; cat a.pdf a.7z > packed"),
    line(
        "pdf-mail",
        "qpdf --empty a.pdf; { cat a.pdf; printf '\\nMIME-Version: 1.0\\nContent-Type: multipart/related; boundary=x\\n\\n--x\\nContent-Transfer-Encoding: base64\\n\\n'; base64 content.txt; echo --x--; } > packed",
    ),
    made("onenote", made::onenote),
    line(
        "html",
        "printf '<html><body><a href=\"data:application/octet-stream;base64,%s\">x</a></body></html>' \"$(base64 -w0 content.txt)\" > packed",
    ),
    line(
        "html-string",
        "zip -q a.zip content.txt; printf '<html><script>save(atob(\"%s\"))</script></html>' \"$(base64 -w0 a.zip)\" > packed",
    ),
    line(
        "text-string",
        "zip -q a.zip content.txt; printf 'var file = (\"%s\");\\n' \"$(base64 -w0 a.zip | sed 's/.\\{60\\}/&\" +\\n\"/g')\" > packed",
    ),
    made("mail", attached),
    made("mbox", made::mbox),
    line("uuencode", "uuencode content.txt < content.txt > packed"),
    made("yenc", made::yenc),
    line("binhex", "binhex -d content.txt > packed || binhex content.txt > packed"),
];
