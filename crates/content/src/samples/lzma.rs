//! Writers of LZMA in its wrappings. Rule: another library packs, so that it is not our own reading that is read.

use lzma_rust2::{CheckType, FilterConfig, LzipOptions, LzipWriter, Lzma2Options, Lzma2Writer};
use lzma_rust2::{LzmaOptions, LzmaWriter, XzOptions, XzWriter};
use std::io::Write;
use std::num::NonZeroU64;

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Size,
    Mark,
}

fn options() -> LzmaOptions {
    LzmaOptions { dict_size: 1 << 16, ..LzmaOptions::with_preset(5) }
}

/// A bare stream.
pub(crate) fn raw(ending: Ending, content: &[u8]) -> Vec<u8> {
    let mut writer = LzmaWriter::new_no_header(Vec::new(), &options(), ending == Ending::Mark).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// A `.lzma` file with such properties.
pub(crate) fn alone_with((lc, lp, pb): (u32, u32, u32), ending: Ending, content: &[u8]) -> Vec<u8> {
    let options = LzmaOptions { lc, lp, pb, ..options() };
    let size = (ending == Ending::Size).then_some(content.len() as u64);
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, size).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// A `.lzma` file.
pub(crate) fn alone(ending: Ending, content: &[u8]) -> Vec<u8> {
    alone_with((3, 0, 2), ending, content)
}

/// Bare LZMA2, and the byte that tells its dictionary.
pub(crate) fn lzma2(content: &[u8]) -> (u8, Vec<u8>) {
    let options = Lzma2Options { lzma_options: options(), ..Lzma2Options::default() };
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    writer.write_all(content).unwrap();
    (8, writer.finish().unwrap())
}

/// A lzip file, with members of so many bytes.
pub(crate) fn lzip(member_bytes: u64, content: &[u8]) -> Vec<u8> {
    let mut options = LzipOptions::with_preset(1);
    options.lzma_options = self::options();
    options.set_member_size(NonZeroU64::new(member_bytes));
    let mut writer = LzipWriter::new(Vec::new(), options);
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// An xz stream with such a check, blocks of so many bytes, and filters.
pub(crate) fn xz_with(
    check: CheckType,
    block_bytes: u64,
    filters: Vec<FilterConfig>,
    content: &[u8],
) -> Vec<u8> {
    let mut options = XzOptions { lzma_options: options(), check_type: check, ..XzOptions::default() };
    options.set_block_size(NonZeroU64::new(block_bytes));
    options.filters = filters;
    let mut writer = XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// An xz stream.
pub(crate) fn xz(content: &[u8]) -> Vec<u8> {
    xz_with(CheckType::Crc64, 0, Vec::new(), content)
}
