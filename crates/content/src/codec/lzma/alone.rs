//! LZMA with its properties before it: `.lzma` files, and entries of zip files. Rule: it ends where its size or its mark says.

use super::{Debt, Halt, Lzma, NANOS_PER_KIB, Properties};
use crate::codec::stream::{StreamDecoder, Undo};
use crate::codec::{Outcome, Run};
use crate::decoder::More;
use crate::field::{u32_le, u64_le};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// Properties, dictionary, size.
const ALONE_HEAD_BYTES: usize = 13;
/// A version, the length of the properties, and these (APPNOTE.TXT, section 5.8).
const ZIP_HEAD_BYTES: usize = 9;
const ZIP_PROPERTIES_BYTES: u8 = 5;

/// A stream with its head.
pub struct Alone {
    pool: Arc<Pool>,
    form: Form,
    head: Vec<u8>,
    lzma: Option<Lzma>,
    /// How much it makes, where that was said; `None` where a mark ends it.
    size: Option<u64>,
    made: u64,
    debt: Debt,
}

/// What stands before the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Alone,
    Zip,
    /// Properties and dictionary, told elsewhere.
    Bare,
}

/// Awaits a `.lzma` file; takes memory when its head is there.
pub fn decoder(pool: &Arc<Pool>) -> StreamDecoder<Alone> {
    let pool = Arc::clone(pool);
    StreamDecoder::new(Box::new(move || Alone::new(&pool, Form::Alone, None)))
}

/// An entry of a zip file on its way.
pub struct InZip(Alone);

impl InZip {
    /// `size` is what the entry makes, by its header; `None` where only the mark ends it.
    pub fn new(pool: &Arc<Pool>, size: Option<u64>) -> Self {
        Self(Alone::new(pool, Form::Zip, size))
    }

    /// Whether there is something to do or say without further input.
    pub fn owes(&self) -> bool {
        self.0.debt.owes()
    }

    /// Unpacks until the input is used, the output full, or the entry at its end.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        self.0.run(input, More::Follows, output)
    }
}

impl Alone {
    fn new(pool: &Arc<Pool>, form: Form, size: Option<u64>) -> Self {
        let (pool, debt) = (Arc::clone(pool), Debt::default());
        Self { pool, form, head: Vec::new(), lzma: None, size, made: 0, debt }
    }

    /// A stream whose properties and dictionary were told elsewhere.
    ///
    /// # Errors
    ///
    /// Where there are no such properties, or the pool gives no more.
    pub(crate) fn bare(pool: &Arc<Pool>, properties: [u8; 5], size: Option<u64>) -> Result<Self, Reason> {
        let mut alone = Self::new(pool, Form::Bare, size);
        alone.head = properties.to_vec();
        alone.lzma = Some(alone.begin()?);
        Ok(alone)
    }

    /// Takes what is missing of the head; answers how much, and whether it is whole.
    fn gather(&mut self, input: &[u8]) -> (usize, bool) {
        let length = if self.form == Form::Alone { ALONE_HEAD_BYTES } else { ZIP_HEAD_BYTES };
        let used = input.len().min(length - self.head.len());
        self.head.extend_from_slice(&input[..used]);
        (used, self.head.len() == length)
    }

    fn begin(&mut self) -> Result<Lzma, Reason> {
        let properties = match self.form {
            Form::Alone => {
                self.size = Some(u64_le(&self.head, 5)).filter(|size| *size != u64::MAX);
                self.head.as_slice()
            }
            Form::Zip if self.head[2] != ZIP_PROPERTIES_BYTES || self.head[3] != 0 => {
                return Err(Reason::Damaged);
            }
            Form::Zip => &self.head[4..],
            Form::Bare => self.head.as_slice(),
        };
        Lzma::new(&self.pool, Properties::from_byte(properties[0])?, u32_le(properties, 1))
    }

    fn unpack(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let Some(lzma) = &mut self.lzma else { return Run { used: 0, made: 0, outcome: Outcome::Going } };
        let left = self.size.map_or(u64::MAX, |size| size.saturating_sub(self.made));
        if left == 0 {
            return self.behind_size(input);
        }
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(output.len());
        let (used, made, halt) = lzma.make(input, &mut output[..room]);
        self.made += made as u64;
        let is_at_size = self.size == Some(self.made);
        let outcome = match halt {
            Halt::Room if is_at_size && lzma.is_at_rest() => Outcome::Ended,
            Halt::Mark if self.size.is_none() && lzma.is_at_rest() => Outcome::Ended,
            Halt::Mark => Outcome::Failed(Reason::Damaged),
            Halt::Failed(reason) => Outcome::Failed(reason),
            Halt::Room | Halt::Input => Outcome::Going,
        };
        self.debt.is_full = halt == Halt::Room && outcome == Outcome::Going;
        self.debt.run(used, made, outcome)
    }

    /// As much as was said has been made, and there are bits left: of the mark, or of what nobody has been told.
    fn behind_size(&mut self, input: &[u8]) -> Run {
        let Some(lzma) = &mut self.lzma else { return Run { used: 0, made: 0, outcome: Outcome::Going } };
        if self.made == 0 && lzma.head_missing > 0 {
            let used = lzma.head(input);
            return Run { used, made: 0, outcome: self.ends_empty() };
        }
        let (used, made, halt) = lzma.make(input, &mut [0]);
        let outcome = match halt {
            Halt::Input if made == 0 && lzma.repeating == 0 => Outcome::Going,
            Halt::Mark if lzma.is_at_rest() => Outcome::Ended,
            Halt::Failed(reason) => Outcome::Failed(reason),
            _ => Outcome::Failed(Reason::Damaged),
        };
        self.debt.is_full = false;
        self.debt.run(used, 0, outcome)
    }

    fn ends_empty(&self) -> Outcome {
        if self.lzma.as_ref().is_some_and(Lzma::is_at_rest) { Outcome::Ended } else { Outcome::Going }
    }
}

impl Undo for Alone {
    const BEHIND: &'static str = "bytes behind the end of an LZMA stream";

    fn run(&mut self, input: &[u8], _more: More, output: &mut [u8]) -> Run {
        if let Some(reason) = self.debt.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        if self.lzma.is_some() {
            return self.unpack(input, output);
        }
        let (used, is_whole) = self.gather(input);
        if is_whole {
            match self.begin() {
                Ok(lzma) => self.lzma = Some(lzma),
                Err(reason) => return self.debt.run(used, 0, Outcome::Failed(reason)),
            }
        }
        Run { used, made: 0, outcome: Outcome::Going }
    }

    fn owes(&self, _more: More) -> bool {
        self.debt.owes()
    }

    fn nanos_per_kib(&self) -> u32 {
        NANOS_PER_KIB
    }
}
