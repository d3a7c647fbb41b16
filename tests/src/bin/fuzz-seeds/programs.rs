//! Seeds that are programs. Rule: the headers that are read, and little else.

use lockgate_tests::icons;

/// A Windows program with one section and two no-ops at its entry point.
pub fn windows() -> Vec<u8> {
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

/// Where the section of such a program is in memory: that of icons begins there.
const ADDRESS: u32 = icons::ADDRESS;

/// Which of the data directories the section is.
#[derive(Clone, Copy)]
enum Directory {
    Imports = 1,
    Resources = 2,
}

/// The same with another section, which one of the data directories leads to.
fn windows_with(section: &[u8], directory: Directory) -> Vec<u8> {
    let mut bytes = windows();
    bytes.truncate(0x200);
    let length = (section.len() as u32).to_le_bytes();
    // How many directories; then this one, and the section's lengths.
    bytes[0x98 + 92] = 16;
    let place = 0x98 + 96 + directory as usize * 8;
    bytes[place..place + 4].copy_from_slice(&ADDRESS.to_le_bytes());
    for at in [place + 4, 0x98 + 0xe0 + 8, 0x98 + 0xe0 + 16] {
        bytes[at..at + 4].copy_from_slice(&length);
    }
    bytes.extend(section);
    bytes
}

/// The same, its section full of an icon's pictures: of each depth, and one that a signature names.
pub fn with_icons() -> Vec<u8> {
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
    windows_with(&icons::resources(&pictures), Directory::Resources)
}

/// Imports from two libraries, by name and by number.
pub fn with_imports() -> Vec<u8> {
    let mut section = vec![0; 0x200];
    let mut put = |at: usize, bytes: &[u8]| section[at..at + bytes.len()].copy_from_slice(bytes);
    for (row, names, thunks) in [(0, 0x100, 0x140), (20, 0x110, 0x160)] {
        put(row, &(ADDRESS + thunks).to_le_bytes());
        put(row + 12, &(ADDRESS + names).to_le_bytes());
    }
    put(0x100, b"Kernel32.dll\0");
    put(0x110, b"WS2_32.DLL\0");
    for (at, thunk) in
        [(0x140, ADDRESS + 0x180), (0x144, 1 << 31 | 7), (0x160, 1 << 31 | 2), (0x164, 1 << 31 | 900)]
    {
        put(at, &thunk.to_le_bytes());
    }
    put(0x180, b"\0\0GetProcAddress\0");
    windows_with(&section, Directory::Imports)
}

/// A resource of version information with two strings.
pub fn with_version() -> Vec<u8> {
    // A list of one entry for its type, one for its name, one for its language; then where the data stands.
    let list = |id: u32, to: u32| [&[0; 14][..], &[1, 0], &id.to_le_bytes(), &to.to_le_bytes()].concat();
    let below = |at: u32| 1 << 31 | at;
    let strings = [block("FileVersion", b"1\0\0\0", &[]), block("abcd", b"x\0\0\0", &[])].concat();
    let table = block("040904b0", &[], &strings);
    let information = block("VS_VERSION_INFO", &[0; 52], &block("StringFileInfo", &[], &table));
    let entry = [ADDRESS + 88, information.len() as u32, 0, 0].map(u32::to_le_bytes).concat();
    let lists = [list(16, below(24)), list(1, below(48)), list(1033, 72)].concat();
    let mut section = [lists, entry, information].concat();
    section.resize(section.len().next_multiple_of(0x200), 0);
    windows_with(&section, Directory::Resources)
}

/// A block of version information: its length, that of its value, its kind, its name, its value and what is in it.
fn block(name: &str, value: &[u8], inside: &[u8]) -> Vec<u8> {
    let mut block = [0, value.len() as u16, 1].map(u16::to_le_bytes).concat();
    block.extend(name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    for bytes in [value, inside] {
        block.resize(block.len().next_multiple_of(4), 0);
        block.extend_from_slice(bytes);
    }
    block.resize(block.len().next_multiple_of(4), 0);
    let length = (block.len() as u16).to_le_bytes();
    block[..2].copy_from_slice(&length);
    block
}

/// An ELF program with one segment and one section, and two no-ops at its entry point.
pub fn elf() -> Vec<u8> {
    let mut bytes = vec![0; 0x200];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"\x7fELF\x01\x01\x01");
    put(24, &0x0804_8090_u32.to_le_bytes());
    put(28, &52_u32.to_le_bytes());
    put(32, &0xa0_u32.to_le_bytes());
    put(42, &[32, 0, 1, 0, 40, 0, 1, 0]);
    put(52 + 4, &0x100_u32.to_le_bytes());
    put(52 + 8, &0x0804_8000_u32.to_le_bytes());
    put(52 + 16, &0x100_u32.to_le_bytes());
    put(0xa0 + 16, &0x190_u32.to_le_bytes());
    put(0xa0 + 20, &9_u32.to_le_bytes());
    put(0x190, &[0x90, 0x90]);
    bytes
}

/// A Mach-O program with a segment of one section and a thread that begins in it.
pub fn mach_o() -> Vec<u8> {
    let mut bytes = vec![0; 300];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &[0xce, 0xfa, 0xed, 0xfe, 7, 0, 0, 0]);
    put(16, &[2]);
    put(28, &[1, 0, 0, 0, 124]);
    put(28 + 48, &[1]);
    put(28 + 56 + 32, &[0, 0x10, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0]);
    put(152, &[5, 0, 0, 0, 80]);
    put(152 + 16 + 40, &[5, 0x10]);
    bytes
}
