//! Values of every sort, whole, cut and changed. Rule: what was stored is loaded, and bytes that are none are refused.

use crate::{Reader, Stored, Unfit, Writer};
use std::collections::BTreeMap;
use std::fmt::Debug;

#[derive(Debug, PartialEq)]
struct Record {
    number: u32,
    text: String,
    list: Vec<(u32, u32)>,
    kind: Sort,
}

stored!(struct Record { number, text, list, kind }, sound);

impl Record {
    fn is_sound(&self) -> bool {
        self.number < 100
    }
}

#[derive(Debug, PartialEq)]
enum Sort {
    Plain,
    Wide { least: u64, most: Option<u64> },
    Named(Box<str>, bool),
}

stored!(enum Sort { 0 => Plain, 1 => Wide { least, most }, 2 => Named(name, is_own) });

fn bytes_of<T: Stored>(value: &T) -> (Vec<u8>, u32) {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    value.store(&mut writer);
    let sum = writer.finish().unwrap();
    (bytes, sum)
}

fn load<T: Stored>(mut bytes: &[u8]) -> Result<(T, u32), Unfit> {
    let length = bytes.len() as u64;
    let mut reader = Reader::new(&mut bytes, length);
    let value = T::load(&mut reader)?;
    Ok((value, reader.finish()?))
}

fn comes_back<T: Stored + PartialEq + Debug>(value: T) {
    let (bytes, sum) = bytes_of(&value);
    assert!(bytes.len() >= T::BYTES_MIN, "{value:?}");
    assert_eq!(load(&bytes).as_ref(), Ok(&(value, sum)));
    for cut in (0..bytes.len()).take(1000) {
        assert!(load::<T>(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    assert!(load::<T>(&[&bytes[..], &[0]].concat()).is_err());
}

fn records() -> Vec<Record> {
    let record = |number: u32, kind| Record {
        number,
        text: "ü".repeat(number as usize),
        list: (0..number).map(|at| (at, u32::MAX - at)).collect(),
        kind,
    };
    vec![
        record(0, Sort::Plain),
        record(9, Sort::Wide { least: 1 << 40, most: None }),
        record(99, Sort::Wide { least: 0, most: Some(u64::MAX) }),
        record(3, Sort::Named("name".into(), true)),
    ]
}

#[test]
fn what_was_stored_is_loaded() {
    records().into_iter().for_each(comes_back);
    comes_back(records());
    comes_back((7_u32, 8_u32));
    comes_back((String::new(), -1_i64, 'ß'));
    comes_back(BTreeMap::from([(1_u16, 2_usize), (3, 4)]));
    comes_back([1_u8, 2, 3]);
    comes_back(5_u64..=9);
    // Longer than the buffers, and of no round number.
    comes_back((0..100_001).collect::<Vec<u32>>());
    comes_back((0..100_001).map(|at| (at, at / 2)).collect::<Vec<(u32, u32)>>());
    comes_back((0..300_001).map(|at| at as u8).collect::<Vec<u8>>());
    comes_back(((1..60_000).collect::<Vec<u16>>(), vec![1_u8; 200_000], vec![i64::MIN; 9000]));
}

#[test]
fn a_length_that_the_bytes_do_not_bear_out_takes_no_memory() {
    let bytes = [u32::MAX.to_le_bytes(), [0; 4]].concat();
    assert!(load::<Vec<u64>>(&bytes).is_err());
    assert!(load::<Vec<Record>>(&bytes).is_err());
    assert!(load::<Vec<(u32, u32)>>(&bytes).is_err());
    assert!(load::<BTreeMap<u8, u8>>(&bytes).is_err());
    assert!(load::<String>(&bytes).is_err());
    assert!(load::<Vec<Vec<Vec<u8>>>>(&bytes).is_err());
}

#[test]
fn changed_bytes_are_refused_or_something_else() {
    let (bytes, sum) = bytes_of(&records());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        assert!(!load::<Vec<Record>>(&changed).is_ok_and(|(_, other)| other == sum), "{at}");
    }
    let mut unsound = bytes_of(&records().swap_remove(0)).0;
    unsound[0] = 100;
    assert_eq!(load::<Record>(&unsound), Err(Unfit("numbers that lead nowhere")));
}

#[test]
fn an_error_of_the_sink_is_told() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut full = Full;
    let mut writer = Writer::new(&mut full);
    vec![1_u8; 1 << 20].store(&mut writer);
    assert_eq!(writer.finish().map_err(|error| error.kind()), Err(std::io::ErrorKind::StorageFull));
}
