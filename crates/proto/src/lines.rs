//! Lines of text that clients and servers send, from bytes. Rule: a line is bounded, and none is kept that came whole.

/// Why a line is none. The answer is one error; the next line is read as if nothing had been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine {
    /// Longer than its limit; all of it has been dropped.
    TooLong,
    /// It ends with LF alone, so that another server might read it as part of the next.
    BareLf,
    /// A CR within.
    BareCr,
    /// A NUL within.
    Nul,
}

impl BadLine {
    /// What to tell who sent it.
    pub fn text(self) -> &'static str {
        match self {
            Self::TooLong => "the line is too long",
            Self::BareLf => "the line ends with LF alone; end it with CR LF",
            Self::BareCr => "the line has a CR within",
            Self::Nul => "the line has a NUL within",
        }
    }
}

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum LineStep {
    /// All input has been used; no line is complete.
    NeedInput,
    /// A line, without its CR LF. It holds no CR, LF or NUL.
    Line(Vec<u8>),
    /// A line that must be answered with an error.
    Bad(BadLine),
}

/// Whether a line may end with LF alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// It may not: for what is relayed as a command.
    CrLf,
    /// It may: for what is only text.
    LfToo,
}

/// A line that has begun.
#[derive(Debug, Default)]
pub struct LineBuffer {
    begun: Vec<u8>,
    fits: Fits,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Fits {
    #[default]
    Yes,
    No,
}

impl LineBuffer {
    /// Nothing has begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether part of a line has come.
    pub fn has_begun(&self) -> bool {
        !self.begun.is_empty() || self.fits == Fits::No
    }

    /// Bytes of the input used, and what they came to. A line longer than the limit, with its end, is dropped as it
    /// comes; one that never ends gives no step, so the caller's time limit must not be renewed by mere bytes.
    pub fn step(&mut self, input: &[u8], bytes_max: usize, line_end: LineEnd) -> (usize, LineStep) {
        let end = memchr::memchr(b'\n', input).map(|at| at + 1);
        let piece = input.get(..end.unwrap_or(input.len())).unwrap_or_default();
        if self.begun.len() + piece.len() > bytes_max {
            self.begun = Vec::new();
            self.fits = Fits::No;
        }
        if self.fits == Fits::Yes {
            self.begun.extend_from_slice(piece);
        }
        let step = if end.is_some() { self.complete(line_end) } else { LineStep::NeedInput };
        (piece.len(), step)
    }

    fn complete(&mut self, line_end: LineEnd) -> LineStep {
        let mut line = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.fits) == Fits::No {
            return LineStep::Bad(BadLine::TooLong);
        }
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        } else if line_end == LineEnd::CrLf {
            return LineStep::Bad(BadLine::BareLf);
        }
        match memchr::memchr2(b'\r', 0, &line).and_then(|at| line.get(at)) {
            None => LineStep::Line(line),
            Some(b'\r') => LineStep::Bad(BadLine::BareCr),
            Some(_) => LineStep::Bad(BadLine::Nul),
        }
    }
}
