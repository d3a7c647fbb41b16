//! LZMA2: chunks of LZMA, and of bytes as they are. Rule: a chunk is as long as it says, packed and unpacked.
//!
//! The form is that of the LZMA SDK and of XZ Utils; no other paper describes it.

use super::{Debt, Halt, Lzma, Properties};
use crate::codec::{Outcome, Run};
use lockgate_model::{Pool, Reason};
use std::sync::Arc;

/// The properties before any are said; any would do.
const PROPERTIES_BYTE: u8 = 0x5d;

/// An LZMA2 stream on its way.
pub(crate) struct Lzma2 {
    pool: Arc<Pool>,
    dictionary_bytes: u32,
    lzma: Option<Lzma>,
    expect: Expect,
    /// What a chunk's control byte announces, as far as it is there.
    head: Vec<u8>,
    needs: Needs,
    debt: Debt,
}

/// The next thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Control,
    Head(u8),
    Plain { left: usize },
    Packed { bytes_left: usize, left: usize },
    Nothing,
}

/// What the next chunk must reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    Properties,
    Dictionary,
}

/// The control bytes of what is not packed.
const END: u8 = 0;
const PLAIN_RESET: u8 = 1;
const PLAIN: u8 = 2;
/// From here on, what is packed.
const PACKED: u8 = 0x80;
const PACKED_RESET_STATE: u8 = 0xa0;
const PACKED_RESET_PROPERTIES: u8 = 0xc0;
const PACKED_RESET_DICTIONARY: u8 = 0xe0;

impl Lzma2 {
    /// Awaits the first chunk. `dictionary` is the byte that tells its size.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`] where that byte tells none.
    pub fn new(pool: &Arc<Pool>, dictionary: u8) -> Result<Self, Reason> {
        let dictionary_bytes = match dictionary {
            0..40 => (2 | u32::from(dictionary & 1)) << (dictionary / 2 + 11),
            40 => u32::MAX,
            _ => return Err(Reason::Damaged),
        };
        Ok(Self {
            pool: Arc::clone(pool),
            dictionary_bytes,
            lzma: None,
            expect: Expect::Control,
            head: Vec::new(),
            needs: Needs::Dictionary,
            debt: Debt::default(),
        })
    }

    /// Unpacks until the input is used, the output full, or the stream at its end. As long as it makes something there may
    /// be more without further input.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        if let Some(reason) = self.debt.failed {
            return Run { used: 0, made: 0, outcome: Outcome::Failed(reason) };
        }
        let (mut used, mut made) = (0, 0);
        let outcome = loop {
            match self.advance(&input[used..], &mut output[made..]) {
                Ok((taken, given)) => {
                    (used, made) = (used + taken, made + given);
                    if self.expect == Expect::Nothing {
                        break Outcome::Ended;
                    }
                    if self.debt.failed.is_some() || made == output.len() || taken + given == 0 {
                        break Outcome::Going;
                    }
                }
                Err(reason) => break Outcome::Failed(reason),
            }
        };
        self.debt.run(used, made, outcome)
    }

    fn advance(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), Reason> {
        match self.expect {
            Expect::Nothing => Ok((0, 0)),
            Expect::Control => {
                let Some(control) = input.first() else { return Ok((0, 0)) };
                self.control(*control)?;
                Ok((1, 0))
            }
            Expect::Head(control) => {
                let wanted = head_bytes(control) - self.head.len();
                let taken = input.get(..wanted).unwrap_or(input);
                self.head.extend_from_slice(taken);
                if taken.len() == wanted {
                    self.chunk(control)?;
                }
                Ok((taken.len(), 0))
            }
            Expect::Plain { left } => self.plain(left, input, output),
            Expect::Packed { bytes_left, left } => self.packed(bytes_left, left, input, output),
        }
    }

    fn control(&mut self, control: u8) -> Result<(), Reason> {
        self.head.clear();
        let resets = match control {
            END => {
                self.expect = Expect::Nothing;
                return Ok(());
            }
            PLAIN_RESET | PACKED_RESET_DICTIONARY.. => Needs::Dictionary,
            PACKED_RESET_PROPERTIES.. => Needs::Properties,
            PLAIN | PACKED.. => Needs::Nothing,
            _ => return Err(Reason::Damaged),
        };
        // Bytes as they are need no properties.
        let needs =
            if control == PLAIN && self.needs == Needs::Properties { Needs::Nothing } else { self.needs };
        if resets < needs {
            return Err(Reason::Damaged);
        }
        match control {
            PLAIN_RESET => self.needs = Needs::Properties,
            PACKED.. => self.needs = Needs::Nothing,
            _ => {}
        }
        if resets == Needs::Dictionary
            && let Some(lzma) = &mut self.lzma
        {
            lzma.window.reset();
        }
        self.expect = Expect::Head(control);
        Ok(())
    }

    /// The chunk's sizes and properties are there.
    fn chunk(&mut self, control: u8) -> Result<(), Reason> {
        let number = |at: usize| usize::from(self.head[at]) << 8 | usize::from(self.head[at + 1]);
        let first = number(0) + 1;
        self.expect = match control {
            PACKED.. => Expect::Packed {
                bytes_left: number(2) + 1,
                left: first + (usize::from(control & 0x1f) << 16),
            },
            _ => Expect::Plain { left: first },
        };
        let lzma = match &mut self.lzma {
            Some(lzma) => lzma,
            empty => {
                let properties = Properties::from_byte(PROPERTIES_BYTE)?;
                empty.insert(Lzma::new(&self.pool, properties, self.dictionary_bytes)?)
            }
        };
        lzma.restart();
        match control {
            PACKED_RESET_PROPERTIES.. => {
                let properties = Properties::from_byte(self.head[4])?;
                if !properties.is_for_lzma2() {
                    return Err(Reason::Damaged);
                }
                lzma.model.reset(properties);
            }
            PACKED_RESET_STATE.. => lzma.model.reset(lzma.model.properties()),
            _ => {}
        }
        Ok(())
    }

    fn plain(&mut self, left: usize, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), Reason> {
        let Some(lzma) = &mut self.lzma else { return Ok((0, 0)) };
        let wanted = left.min(input.len()).min(output.len());
        if wanted == 0 {
            return Ok((0, 0));
        }
        let count = lzma.window.room(wanted)?;
        output[..count].copy_from_slice(&input[..count]);
        lzma.window.append(&input[..count]);
        self.expect = if left == count { Expect::Control } else { Expect::Plain { left: left - count } };
        Ok((count, count))
    }

    fn packed(
        &mut self,
        bytes_left: usize,
        left: usize,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), Reason> {
        let Some(lzma) = &mut self.lzma else { return Ok((0, 0)) };
        let input = &input[..input.len().min(bytes_left)];
        let room = output.len().min(left);
        let (used, made, halt) = lzma.make(input, &mut output[..room]);
        let (bytes_left, left) = (bytes_left - used, left - made);
        self.expect = match halt {
            Halt::Room if left == 0 && bytes_left == 0 && lzma.is_at_rest() => Expect::Control,
            Halt::Room if left == 0 => return self.damaged(used, made),
            Halt::Input if bytes_left == 0 => return self.damaged(used, made),
            Halt::Mark => return self.damaged(used, made),
            Halt::Failed(reason) => {
                self.debt.failed = Some(reason);
                Expect::Packed { bytes_left, left }
            }
            Halt::Room | Halt::Input => Expect::Packed { bytes_left, left },
        };
        if made == 0
            && let Some(reason) = self.debt.failed
        {
            return Err(reason);
        }
        Ok((used, made))
    }

    /// What was made before it comes out first.
    fn damaged(&mut self, used: usize, made: usize) -> Result<(usize, usize), Reason> {
        self.debt.failed = Some(Reason::Damaged);
        if made == 0 { Err(Reason::Damaged) } else { Ok((used, made)) }
    }
}

fn head_bytes(control: u8) -> usize {
    match control {
        PACKED_RESET_PROPERTIES.. => 5,
        PACKED.. => 4,
        _ => 2,
    }
}
