//! Messages of HTTP as a reader gives them, for both targets. Rule: what is compared is what another program would see.

use lockgate_proto::http::{Fields, Frame, Framing, Limits, Refusal, Step, chunk_head, last_chunk_with};

/// Limits for what was taken once and is written anew: whoever writes may add a line, and name the host in the first one.
pub fn wide() -> Limits {
    Limits {
        start_line_bytes_max: 64 << 10,
        head_bytes_max: 256 << 10,
        fields_max: 2 * Limits::default().fields_max,
        ..Limits::default()
    }
}

/// A message as far as it came.
#[derive(Debug, PartialEq)]
pub struct Message<H> {
    pub head: H,
    pub framing: Framing,
    pub body: Vec<u8>,
    pub trailers: Fields,
    pub end: End,
}

/// How a message ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// The input did, before it.
    NotYet,
    /// As it should, with what was odd.
    End(Vec<Refusal>),
    /// It is refused.
    Refused(Refusal),
}

/// All messages, and why there are no more.
#[derive(Debug, PartialEq)]
pub struct Read<H> {
    pub messages: Vec<Message<H>>,
    pub refused: Option<Refusal>,
    /// Whether something has come of one more.
    pub has_begun: bool,
}

impl<H> Default for Read<H> {
    fn default() -> Self {
        Self { messages: Vec::new(), refused: None, has_begun: false }
    }
}

impl<H> Read<H> {
    /// Takes what a step came to; `false` where more input is needed, or none.
    pub fn take(&mut self, frame: Frame<'_, H>, quirks: &[Refusal]) -> bool {
        match frame {
            Frame::NeedInput => return false,
            Frame::Head(head, framing) => {
                let (body, trailers) = (Vec::new(), Fields::new());
                self.messages.push(Message { head: *head, framing, body, trailers, end: End::NotYet });
            }
            Frame::Body(bytes) => {
                assert!(!bytes.is_empty());
                self.last().body.extend_from_slice(bytes);
            }
            Frame::Trailers(trailers) => self.last().trailers = trailers,
            Frame::End => self.last().end = End::End(quirks.to_vec()),
            Frame::Refused(refusal) => {
                assert!((400..=505).contains(&refusal.status()) && !refusal.to_string().is_empty());
                self.refused = Some(refusal);
                if let Some(message) = self.messages.last_mut().filter(|message| message.end == End::NotYet) {
                    message.end = End::Refused(refusal);
                }
                return false;
            }
        }
        true
    }

    fn last(&mut self) -> &mut Message<H> {
        self.messages.last_mut().expect("a head came first")
    }
}

/// The rest of the chunk behind a step.
pub fn behind<'a, H>(chunk: &'a [u8], step: &Step<'_, H>) -> &'a [u8] {
    assert!(step.consumed <= chunk.len());
    assert!(!matches!(step.frame, Frame::NeedInput) || step.consumed == chunk.len());
    &chunk[step.consumed..]
}

/// Writes a body in its framing, as a proxy does.
pub fn write_body<H>(message: &Message<H>, out: &mut Vec<u8>) {
    if message.framing != Framing::Chunked {
        return out.extend_from_slice(&message.body);
    }
    for piece in message.body.chunks(100) {
        out.extend_from_slice(&chunk_head(piece.len()));
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(&last_chunk_with(&message.trailers));
}

/// The fields without those that are made anew.
pub fn kept(fields: &Fields, made: &[&str]) -> Fields {
    let mut kept = fields.clone();
    kept.retain(|name| !made.iter().any(|made| name.eq_ignore_ascii_case(made.as_bytes())));
    kept
}
