//! Magic numbers, from the formats' own manuals. Rule: containers first, then tar, then all that no decoder reads.

use super::Test::{Look, Magic};
use super::{Rule, Says, Seen, magic_at};
use crate::field::{u16_le, u32_le, u64_le};
use lockgate_model::FileType::{self, *};

const fn magic(file_type: FileType, magic: &'static [u8]) -> Rule {
    Rule { file_type, asks: Magic(0, magic) }
}

const fn at(file_type: FileType, at: usize, magic: &'static [u8]) -> Rule {
    Rule { file_type, asks: Magic(at, magic) }
}

const fn look(file_type: FileType, test: fn(&[u8], Seen) -> Says) -> Rule {
    Rule { file_type, asks: Look(test) }
}

/// In order of precedence.
pub(super) const RULES: &[Rule] = &[
    // Containers.
    magic(Zip, b"PK\x03\x04"),
    magic(Zip, b"PK\x05\x06"),
    magic(Zip, b"PK\x07\x08"),
    magic(Zip, b"PK00PK\x03\x04"),
    magic(Gzip, b"\x1f\x8b"),
    look(Bzip2, bzip2),
    magic(Rar, b"Rar!\x1a\x07"),
    magic(Rar, b"RE~^"),
    magic(SevenZip, b"7z\xbc\xaf\x27\x1c"),
    magic(Xz, b"\xfd7zXZ\0"),
    magic(Zstd, b"\x28\xb5\x2f\xfd"),
    look(Zstd, zstd_skippable),
    look(Lzma, lzma),
    look(Lha, lha),
    look(Arj, arj),
    magic(Cab, b"MSCF\0\0\0\0"),
    magic(Compress, b"\x1f\x9d"),
    magic(Cpio, b"070701"),
    magic(Cpio, b"070702"),
    magic(Cpio, b"070707"),
    look(Cpio, cpio_binary),
    magic(Ar, b"!<arch>\n"),
    magic(Szdd, b"SZDD\x88\xf0\x27\x33"),
    magic(Szdd, b"KWAJ\x88\xf0\x27\xd1"),
    magic(Tnef, b"\x78\x9f\x3e\x22"),
    magic(Chm, b"ITSF"),
    magic(Lz4, b"\x04\x22\x4d\x18"),
    magic(Lz4, b"\x02\x21\x4c\x18"),
    magic(Lzip, b"LZIP\x01"),
    magic(Lzop, b"\x89LZO\0\r\n\x1a\n"),
    at(Ace, 7, b"**ACE**"),
    at(Zoo, 20, b"\xdc\xa7\xc4\xfd"),
    magic(Alz, b"ALZ\x01\x0a\0\0\0"),
    magic(Egg, b"EGGA\0\x01"),
    magic(Rpm, b"\xed\xab\xee\xdb"),
    magic(Xar, b"xar!\0"),
    magic(Wim, b"MSWIM\0\0\0"),
    magic(Vhd, b"conectix"),
    magic(Vhd, b"vhdxfile"),
    look(Lzma, lzma_of_other_properties),
    // Tar has no magic at its beginning.
    at(Tar, 257, b"ustar"),
    look(Tar, tar_of_old),
    // All else.
    magic(Ole2, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    magic(Pdf, b"%PDF-"),
    magic(Rtf, b"{\\rt"),
    magic(OneNote, b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3"),
    magic(OneNote, b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c\x9e\xe2\x10\xea\x57\x22\x76\x5f"),
    magic(PostScript, b"%!"),
    magic(PostScript, b"\xc5\xd0\xd3\xc6"),
    look(Swf, swf),
    look(Pe, pe),
    look(Dos, dos),
    magic(Elf, b"\x7fELF"),
    magic(MachO, b"\xfe\xed\xfa\xce"),
    magic(MachO, b"\xfe\xed\xfa\xcf"),
    magic(MachO, b"\xce\xfa\xed\xfe"),
    magic(MachO, b"\xcf\xfa\xed\xfe"),
    look(MachO, mach_o_fat),
    magic(JavaClass, b"\xca\xfe\xba\xbe"),
    magic(Lnk, b"L\0\0\0\x01\x14\x02\0"),
    magic(Gif, b"GIF87a"),
    magic(Gif, b"GIF89a"),
    magic(Png, b"\x89PNG\r\n\x1a\n"),
    magic(Jpeg, b"\xff\xd8\xff"),
    magic(Tiff, b"II*\0"),
    magic(Tiff, b"MM\0*"),
    magic(Tiff, b"II+\0"),
    magic(Tiff, b"MM\0+"),
    look(Bmp, bmp),
    look(Icon, icon),
    look(Webp, webp),
    magic(Riff, b"RIFF"),
    magic(Riff, b"RIFX"),
    magic(Mp3, b"ID3"),
    look(Mp3, mpeg_audio),
    at(Mp4, 4, b"ftyp"),
    magic(Ogg, b"OggS"),
];

/// All of these in turn: the first that does not say yes decides.
fn all(says: &[Says]) -> Says {
    says.iter().copied().find(|s| *s != Says::Yes).unwrap_or(Says::Yes)
}

/// Whether the byte there is one of those; it is not known before the byte is there.
fn byte(bytes: &[u8], at: usize, is_one: impl Fn(u8) -> bool) -> Says {
    bytes.get(at).map_or(Says::Perhaps, |b| Says::when(is_one(*b)))
}

/// A test of so many bytes, once they are there.
fn once(bytes: &[u8], length: usize, holds: impl Fn(&[u8]) -> bool) -> Says {
    if bytes.len() < length { Says::Perhaps } else { Says::when(holds(bytes)) }
}

fn bzip2(bytes: &[u8], _: Seen) -> Says {
    all(&[magic_at(bytes, 0, b"BZh"), byte(bytes, 3, |b| matches!(b, b'1'..=b'9'))])
}

/// A skippable frame (RFC 8878, section 3.1.2): a zstd file may begin with one.
fn zstd_skippable(bytes: &[u8], _: Seen) -> Says {
    all(&[byte(bytes, 0, |b| b & 0xf0 == 0x50), magic_at(bytes, 1, b"\x2a\x4d\x18")])
}

/// The LZMA "alone" header: properties, a dictionary size, and a size that is unknown or below 1 TiB.
fn lzma(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 0, b"\x5d\0\0"),
        once(bytes, 13, |b| u64_le(b, 5) == u64::MAX || u64_le(b, 5) >> 40 == 0),
    ])
}

/// The same with any properties, which is less certain: so the dictionary must be as programs make them, the size one that
/// a file may have, and the first byte of the stream 0, as it always is.
fn lzma_of_other_properties(bytes: &[u8], _: Seen) -> Says {
    let dictionary = |bytes: u32| {
        let half = bytes & bytes.wrapping_neg();
        (4096..=1 << 30).contains(&bytes) && (bytes == half || bytes == half | half << 1)
    };
    all(&[
        byte(bytes, 0, |b| b < 9 * 5 * 5),
        once(bytes, 5, |b| dictionary(u32_le(b, 1))),
        once(bytes, 14, |b| matches!(u64_le(b, 5), u64::MAX | 1..=0x3f_ffff_ffff) && b[13] == 0),
    ])
}

/// `-lh5-` and its kin, behind the header's size and sum.
fn lha(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 2, b"-l"),
        byte(bytes, 4, |b| matches!(b, b'h' | b'z')),
        byte(bytes, 5, |b| b.is_ascii_alphanumeric()),
        magic_at(bytes, 6, b"-"),
    ])
}

/// The magic, and a basic header of between 30 and 2,600 bytes.
fn arj(bytes: &[u8], _: Seen) -> Says {
    all(&[magic_at(bytes, 0, b"\x60\xea"), once(bytes, 4, |b| (30..=2600).contains(&u16_le(b, 2)))])
}

/// The old binary header in either byte order: the mode's file type must be one that there is.
fn cpio_binary(bytes: &[u8], _: Seen) -> Says {
    let kind = |mode: u16| matches!(mode >> 12, 1 | 2 | 4 | 6 | 8 | 10 | 12);
    let little = all(&[magic_at(bytes, 0, b"\xc7\x71"), once(bytes, 8, |b| kind(u16_le(b, 6)))]);
    let big = all(&[magic_at(bytes, 0, b"\x71\xc7"), once(bytes, 8, |b| kind(u16_le(b, 6).swap_bytes()))]);
    if little == Says::No { big } else { little }
}

/// A tar from before POSIX has no magic; its header's sum must be right.
fn tar_of_old(bytes: &[u8], _: Seen) -> Says {
    let is_octal = |b: u8| matches!(b, b'0'..=b'7' | b' ' | 0);
    if bytes.iter().skip(100).take(24).any(|b| !is_octal(*b)) {
        return Says::No;
    }
    once(bytes, 512, |b| b[0] != 0 && crate::archive::tar::is_sum_right(&b[..512]))
}

fn swf(bytes: &[u8], _: Seen) -> Says {
    all(&[
        byte(bytes, 0, |b| matches!(b, b'F' | b'C' | b'Z')),
        magic_at(bytes, 1, b"WS"),
        byte(bytes, 3, |b| (1..64).contains(&b)),
    ])
}

/// Both spellings: Windows runs `ZM` from DOS days as well.
fn is_dos(bytes: &[u8]) -> Says {
    let mz = magic_at(bytes, 0, b"MZ");
    if mz == Says::No { magic_at(bytes, 0, b"ZM") } else { mz }
}

/// A DOS header that points to `PE\0\0`. Where the pointer leads further than is looked, it is believed.
fn pe(bytes: &[u8], _: Seen) -> Says {
    let header = all(&[is_dos(bytes), once(bytes, 64, |_| true)]);
    if header != Says::Yes {
        return header;
    }
    let pointer = u32_le(bytes, 60) as usize;
    match pointer {
        0..=3 => Says::No,
        4..=1020 => magic_at(bytes, pointer, b"PE\0\0"),
        _ => Says::when(pointer < 1 << 28),
    }
}

fn dos(bytes: &[u8], _: Seen) -> Says {
    all(&[is_dos(bytes), once(bytes, 28, |_| true)])
}

/// A fat binary shares Java's magic; it counts its architectures where a class has its version, 45 or more.
fn mach_o_fat(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 0, b"\xca\xfe\xba\xbe"),
        once(bytes, 8, |b| (1..45).contains(&u32_le(b, 4).swap_bytes())),
    ])
}

/// Two reserved words that are 0, and a bitmap that begins within reason.
fn bmp(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 0, b"BM"),
        once(bytes, 14, |b| u32_le(b, 6) == 0 && (14..1 << 16).contains(&u32_le(b, 10))),
    ])
}

/// An icon or cursor: at least one picture, and the first entry's reserved byte is 0.
fn icon(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 0, b"\0\0"),
        byte(bytes, 2, |b| matches!(b, 1 | 2)),
        magic_at(bytes, 3, b"\0"),
        once(bytes, 22, |b| (1..=256).contains(&u16_le(b, 4)) && b[9] == 0 && u32_le(b, 18) >= 22),
    ])
}

fn webp(bytes: &[u8], _: Seen) -> Says {
    all(&[magic_at(bytes, 0, b"RIFF"), magic_at(bytes, 8, b"WEBP")])
}

/// A frame header of MPEG audio, layer III, with a bit rate and a sampling rate that there are.
fn mpeg_audio(bytes: &[u8], _: Seen) -> Says {
    all(&[
        magic_at(bytes, 0, b"\xff"),
        byte(bytes, 1, |b| matches!(b, 0xfa | 0xfb | 0xf2 | 0xf3 | 0xe2 | 0xe3)),
        byte(bytes, 2, |b| !matches!(b >> 4, 0 | 15) && b & 0x0c != 0x0c),
    ])
}
