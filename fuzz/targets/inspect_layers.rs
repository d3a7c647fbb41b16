//! A whole mail, file or form through the waist. Rule: the same judgement at every cut, and what is released is what came in.
#![no_main]

use lockgate_fuzz::asked;
use lockgate_inspect::policy::Policy;
use lockgate_inspect::{Coding, Generation, HoldPlan, Inspection, Pools, Progress, Released, Root, Session};
use lockgate_model::{Buffer, Direction, Limits, Pool, Protocol, Transaction};
use std::sync::{Arc, LazyLock};

static GENERATION: LazyLock<Arc<Generation>> = LazyLock::new(|| {
    let mut sources = lockgate_antivirus::Sources::new();
    sources.add("a.ndb", b"A.Any:0:*:6162636465\n");
    let limits = Limits { decoded_bytes_max: 4 << 20, parts_max: 200, depth_max: 12, ..Limits::default() };
    Arc::new(Generation {
        number: 1,
        databases: vec![Arc::new(sources.compile().0)],
        policy: Arc::new(Policy::default()),
        limits: Arc::new(limits),
    })
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let form = Root::Form {
        codings: vec![Coding::Deflate],
        content_types: vec![b"multipart/form-data; boundary=b".to_vec()],
    };
    for root in [Root::Mail, Root::File, Root::Coded(vec![Coding::Deflate, Coding::Gzip]), form] {
        let whole = judge([content], root.clone(), content);
        assert_eq!(whole, judge(pieces.iter().copied(), root.clone(), content));
        stream(&pieces, root, content);
    }
});

fn begin(root: Root, plan: HoldPlan) -> Inspection {
    let pools = Pools { hold: Pool::new(64 << 20), parts: Pool::new(64 << 20) };
    let nowhere = ([127, 0, 0, 1], 0).into();
    let mut session = Session::open(Arc::clone(&GENERATION), &pools, asked::flow(Protocol::Smtp, nowhere));
    let group = Arc::clone(session.group_for(None));
    let about = Transaction { group: group.name.clone(), ..asked::transaction(Direction::ToServer) };
    session.begin(&about, group, root, plan)
}

/// As content whose end nobody can wait for: what came is inspected and leaves at once. What a decoder makes of that may
/// depend on the cuts; what leaves may not.
fn stream(pieces: &[&[u8]], root: Root, content: &[u8]) {
    let mut inspection = begin(root, HoldPlan::HeadAndTail { hold_bytes: 64, tail_bytes: 32 });
    inspection.about(Buffer::HttpHost, b"a.example");
    assert!(!inspection.wants(Buffer::HttpHost), "signatures do not look at it");
    let mut released = Vec::new();
    for piece in pieces {
        push(&mut inspection, piece, &mut released);
        inspection.took(2_000_000);
        while inspection.settle() == Progress::Busy {
            push(&mut inspection, b"", &mut released);
        }
        take(inspection.release_tail(), &mut released);
        if inspection.is_streaming() && !inspection.is_refused() {
            assert_eq!((inspection.held_bytes(), inspection.held().len()), (0, 0));
        }
        assert!(content.starts_with(&released));
        assert_eq!(inspection.released_bytes(), released.len() as u64);
    }
    assert_eq!(inspection.wire_bytes(), content.len() as u64);
    while inspection.finish() == Progress::Busy {}
    take(inspection.release(b""), &mut released);
    assert!(if inspection.is_refused() { content.starts_with(&released) } else { content == released });
}

/// In two parts, as a range of it leaves.
fn take(rest: Released<'static>, released: &mut Vec<u8>) {
    let all: Vec<u8> = rest.slices().flatten().copied().collect();
    let (mut skip, mut take) = (0, all.len() as u64 / 2);
    let first = rest.part(&mut skip, &mut take);
    assert_eq!((first.bytes(), skip, take), (all.len() / 2, 0, 0));
    first.followed_by(Released::default()).slices().for_each(|slice| released.extend_from_slice(slice));
    released.extend_from_slice(&all[all.len() / 2..]);
}

fn judge<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, root: Root, content: &[u8]) -> String {
    let plan = match root {
        Root::Mail => HoldPlan::Head { hold_bytes: 512 },
        _ => HoldPlan::HeadAndTail { hold_bytes: 512, tail_bytes: 64 },
    };
    let mut inspection = begin(root, plan);
    let mut released = Vec::new();
    for chunk in chunks {
        push(&mut inspection, chunk, &mut released);
    }
    while inspection.finish() == Progress::Busy {}
    let rest = inspection.release(b"");
    rest.slices().for_each(|slice| released.extend_from_slice(slice));
    let judgement = inspection.judgement();
    if inspection.is_refused() {
        assert!(content.starts_with(&released), "what left before the verdict is the beginning");
        // A verdict that refuses ends the work, so how much else was found depends on how far it had come.
        return format!("{:?}", judgement.verdict);
    }
    assert!(released == content, "all of it has left, unchanged");
    // Decoders at work at once are asked in turns, so the order in which they tell depends on the cuts.
    let mut evidence: Vec<String> = judgement.findings.iter().map(|finding| format!("{finding:?}")).collect();
    evidence.extend(judgement.incomplete.iter().map(|incomplete| format!("{incomplete:?}")));
    evidence.sort();
    format!("{:?} {evidence:?}", judgement.verdict)
}

fn push(inspection: &mut Inspection, mut chunk: &[u8], released: &mut Vec<u8>) {
    loop {
        let pushed = inspection.push(chunk);
        pushed.released.slices().for_each(|slice| released.extend_from_slice(slice));
        chunk = &chunk[pushed.consumed..];
        if pushed.progress == Progress::Through && chunk.is_empty() {
            return;
        }
    }
}
