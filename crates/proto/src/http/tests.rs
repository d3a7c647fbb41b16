//! What the tests of both readers share. Rule: each message is read whole, byte by byte and at every cut, to one result.

mod requests;
mod responses;
mod spectator;
mod written;

use super::*;

/// What a reader said: a line for each frame, bodies joined.
type Said = Vec<String>;

/// A message in a table: lines are written with `\n`, and come with CR LF.
fn wire(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

fn requests(disposition: Disposition, limits: Limits, chunks: &[&[u8]]) -> Said {
    let mut reader = RequestReader::new(disposition, limits);
    let mut said = Transcript::default();
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let step = reader.step(rest);
            rest = &rest[step.consumed..];
            let goes_on = match step.frame {
                Frame::Head(head, framing) => {
                    let RequestHead { method, target, version, fields } = *head;
                    let target = match target {
                        Target::Absolute(url) => url.to_string(),
                        Target::Origin(path) => path.escape_ascii().to_string(),
                        Target::Authority { host, port } => format!("{host} {port}"),
                        Target::Asterisk => "*".to_owned(),
                    };
                    said.line(format!("{} {target} {version:?} {framing:?}", method.escape_ascii()));
                    said.fields(&fields)
                }
                frame => said.frame(frame, reader.quirks()),
            };
            match goes_on {
                Goes::On => {}
                Goes::ForInput => break,
                Goes::No => return said.close(),
            }
        }
    }
    said.close()
}

/// The methods are those of the requests; behind the last, and where there is none, they are GET.
fn responses(disposition: Disposition, methods: &[&str], chunks: &[&[u8]]) -> Said {
    let mut reader = ResponseReader::new(disposition, Limits::default());
    let mut methods = methods.iter();
    let mut said = Transcript::default();
    let mut expect = |reader: &mut ResponseReader| reader.expect(methods.next().unwrap_or(&"GET").as_bytes());
    expect(&mut reader);
    let mut final_one = false;
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let step = reader.step(rest);
            rest = &rest[step.consumed..];
            let goes_on = match step.frame {
                Frame::Head(head, framing) => {
                    final_one = !head.is_interim();
                    let keeps = if reader.keeps_alive() { "keeps" } else { "closes" };
                    let reason = head.reason.escape_ascii();
                    said.line(format!("{} {reason} {:?} {framing:?} {keeps}", head.status, head.version));
                    said.fields(&head.fields)
                }
                frame => {
                    if frame == Frame::End && final_one {
                        expect(&mut reader);
                    }
                    said.frame(frame, reader.quirks())
                }
            };
            match goes_on {
                Goes::On => {}
                Goes::ForInput => break,
                Goes::No => return said.close(),
            }
        }
    }
    said.line(format!("eof {:?}", reader.eof()));
    said.close()
}

#[derive(Default)]
struct Transcript {
    said: Said,
    body: Vec<u8>,
}

enum Goes {
    On,
    ForInput,
    No,
}

impl Transcript {
    fn line(&mut self, line: String) {
        if !self.body.is_empty() {
            self.said.push(format!("[{}]", std::mem::take(&mut self.body).escape_ascii()));
        }
        self.said.push(line);
    }

    fn fields(&mut self, fields: &Fields) -> Goes {
        for (name, value) in fields.iter() {
            self.line(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
        }
        Goes::On
    }

    fn frame<H>(&mut self, frame: Frame<'_, H>, quirks: &[Refusal]) -> Goes {
        match frame {
            Frame::NeedInput => return Goes::ForInput,
            Frame::Head(..) => {}
            Frame::Body(bytes) => {
                assert!(!bytes.is_empty());
                self.body.extend_from_slice(bytes);
            }
            Frame::Trailers(fields) => {
                self.line("trailers".to_owned());
                self.fields(&fields);
            }
            Frame::End if quirks.is_empty() => self.line("end".to_owned()),
            Frame::End => self.line(format!("end {quirks:?}")),
            Frame::Refused(refusal) => {
                self.line(format!("{refusal:?}"));
                return Goes::No;
            }
        }
        Goes::On
    }

    fn close(mut self) -> Said {
        if !self.body.is_empty() {
            self.said.push(format!("[{}]", self.body.escape_ascii()));
        }
        self.said
    }
}

/// Reads the input in every way that it can come.
fn at_every_cut(input: &[u8], read: impl Fn(&[&[u8]]) -> Said) -> Said {
    let whole = read(&[input]);
    for cut in 0..=input.len() {
        let (a, b) = input.split_at(cut);
        assert_eq!(read(&[a, b]), whole, "cut at {cut} of {}", input.escape_ascii());
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read(&bytes), whole, "byte by byte: {}", input.escape_ascii());
    whole
}
