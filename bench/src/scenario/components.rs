//! What a mail's way is made of, each part measured alone: MIME with base64, inflate, matching. Rule: the gateway's own
//! code, one thread, processor time.

use crate::mail::{self, Mail};
use crate::report::{Table, median};
use crate::scenario::mail_speed::SIGNATURES;
use crate::scenario::page_components;
use crate::signatures::Signatures;
use lockgate_content::{Decoder, Event, Means, More};
use lockgate_model::{
    Buffer, Database, Direction, FileType, Flow, Hit, Part, PartId, Pool, Protocol, Sink, Transaction,
    TransactionId,
};
use std::path::Path;
use std::sync::Arc;

/// Processor time for one mail, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Components {
    /// MIME structure and base64.
    pub base64_ms: f64,
    /// Inflating the attachment, where it is a zip.
    pub inflate_ms: f64,
    /// Matching the mail, its attachment and what is in it.
    pub matching_ms: f64,
}

impl Components {
    /// All of them.
    pub fn sum_ms(&self) -> f64 {
        self.base64_ms + self.inflate_ms + self.matching_ms
    }
}

const CHUNK_BYTES: usize = 64 << 10;
const ROUNDS: usize = 40;

/// Measures one mail's parts.
pub fn measure(mail: &Mail, signatures: &Signatures) -> std::io::Result<Components> {
    let database = Arc::new(signatures.compile());
    let is_zip = mail.attachment.starts_with(b"PK");
    let base64_ms = time(|| decode(decoder_for(FileType::Mail), &mail.wire, &mut |_| {}));
    let mut unpacked = Vec::new();
    if is_zip {
        decode(decoder_for(FileType::Zip), &mail.attachment, &mut |bytes| unpacked.extend_from_slice(bytes));
    }
    let inflate = || decode(decoder_for(FileType::Zip), &mail.attachment, &mut |_| {});
    let inflate_ms = if is_zip { time(inflate) } else { 0.0 };
    let matching_ms = time(|| {
        for (file_type, bytes) in
            [(FileType::Mail, &mail.wire), (FileType::Data, &mail.attachment), (FileType::Data, &unpacked)]
        {
            scan(&database, file_type, bytes);
        }
    });
    Ok(Components { base64_ms, inflate_ms, matching_ms })
}

/// Prints them for both kinds of mail.
pub fn run(directory: &Path) -> std::io::Result<()> {
    let executable = mail::executable(1 << 20)?;
    let zipped = mail::zip("program.bin", &executable)?;
    let signatures = Signatures::random(SIGNATURES);
    let mut table = Table::new(
        "parts of a mail's way, processor ms",
        &["mail", "MIME and base64", "inflate", "matching"],
    );
    for mail in [
        mail::with_attachment("executable", "program.bin", executable),
        mail::with_attachment("zipped", "program.zip", zipped),
    ] {
        let parts = measure(&mail, &signatures)?;
        let cell = |ms: f64| format!("{ms:.3}");
        table.row(mail.name, &[cell(parts.base64_ms), cell(parts.inflate_ms), cell(parts.matching_ms)]);
    }
    table.print();
    page_components::run(&directory.join("components"))
}

fn decoder_for(file_type: FileType) -> Option<Box<dyn Decoder>> {
    let means = Means { pool: Pool::new(64 << 20) };
    lockgate_content::open(file_type, &means).ok().flatten()
}

/// Drives one decoder over all of it.
fn decode(decoder: Option<Box<dyn Decoder>>, bytes: &[u8], child: &mut dyn FnMut(&[u8])) {
    let Some(mut decoder) = decoder else { return };
    let mut scratch = vec![0; 32 << 10];
    let ends = bytes.chunks(CHUNK_BYTES).map(|chunk| (chunk, More::Follows)).chain([(&[][..], More::Ended)]);
    for (mut input, more) in ends {
        loop {
            let step = decoder.step(input, more, &mut scratch);
            let used = &input[..step.consumed];
            match step.event {
                Event::NeedInput => break,
                Event::End => return,
                Event::Input(range) => child(&used[range]),
                Event::Output(length) => child(&scratch[..length]),
                _ => {}
            }
            input = &input[step.consumed..];
        }
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn hit(&mut self, _: Hit) {}
}

fn scan(database: &Arc<lockgate_antivirus::Database>, file_type: FileType, bytes: &[u8]) {
    let address = ([127, 0, 0, 1], 25).into();
    let flow = Flow {
        security: lockgate_model::Security::Clear,
        id: 1,
        protocol: Protocol::File,
        client: address,
        server: address,
        listener: String::new(),
    };
    let about = Transaction {
        id: TransactionId(1),
        direction: Direction::ToServer,
        group: String::new(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    };
    let shared: Arc<dyn Database> = database.clone();
    let mut scanner = shared.open_flow(&flow).open(&about);
    let part = Part {
        id: PartId::ROOT,
        parent: None,
        depth: 0,
        path: ".".into(),
        name: None,
        declared: None,
        detected: file_type,
    };
    scanner.open(&part);
    for chunk in bytes.chunks(CHUNK_BYTES) {
        scanner.push(part.id, Buffer::FileData, chunk, &mut Nowhere);
    }
    scanner.end(part.id, Buffer::FileData, &mut Nowhere);
    scanner.close(part.id, &mut Nowhere);
}

/// The median processor time of one call, in milliseconds.
pub fn time(mut work: impl FnMut()) -> f64 {
    median((0..ROUNDS).map(|_| {
        let before = thread_ms();
        work();
        thread_ms() - before
    }))
}

/// Processor time of this thread so far.
pub fn thread_ms() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the structure given and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}
