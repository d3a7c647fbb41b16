//! Events at work: shape, overflow, rotation, a full disk. Rule: no test waits for time to pass.

use super::writer::{Output, Sink, open_sink};
use super::*;
use lockgate_inspect::Judgement;
use lockgate_model::{
    Buffer, Class, Direction, Engine, Finding, Flow, Incomplete, Protocol, Reason, Transaction,
    TransactionId, Verdict,
};
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

const PATIENCE: Duration = Duration::from_secs(20);

fn flow() -> Flow {
    Flow {
        security: lockgate_model::Security::Clear,
        id: 7,
        protocol: Protocol::Smtp,
        client: "[::ffff:192.0.2.1]:4025".parse().unwrap(),
        server: "192.0.2.25:25".parse().unwrap(),
        listener: "smtp".into(),
    }
}

fn transaction() -> Transaction {
    Transaction {
        id: TransactionId(99),
        direction: Direction::ToServer,
        group: "default".into(),
        sender: Some(String::new()),
        recipients: vec!["a@example.org".into(), "b@example.org".into()],
        name: None,
        length: None,
    }
}

fn infected() -> Judgement {
    let finding = Finding {
        engine: Engine::Antivirus,
        class: Class::Virus,
        rule: "demo.ndb:3".into(),
        name: "Demo.Virus".into(),
        part: "1.2/a.zip/b\r\nforged.exe".into(),
        buffer: Buffer::FileData,
        offset: Some(12),
        signature: None,
    };
    Judgement {
        verdict: Verdict::Reject,
        findings: vec![finding],
        findings_count: 1,
        incomplete: vec![Incomplete { part: "1.3".into(), reason: Reason::Encrypted }],
        incomplete_count: 1,
        deciding: Some(0),
        is_ours: false,
        points: None,
    }
}

fn with_record<T>(judgement: &Judgement, action: Action, then: impl FnOnce(&Record<'_>) -> T) -> T {
    then(&Record {
        flow: &flow(),
        about: &transaction(),
        mail: Mail { helo: Some("client.example"), subject: Some("hi"), ..Mail::default() },
        http: None,
        judgement,
        action,
        reply: "550 5.7.1 Demo.Virus found",
        wire_bytes: 1000,
        released_bytes: 0,
    })
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lockgate-events-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn eve(path: &Path) -> Destinations {
    Destinations { eve: EventsTo::File(path.to_owned()), access: EventsTo::Nowhere }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_verdict_has_suricatas_fields_and_its_evidence() {
    let lines = with_record(&infected(), Action::Refused, |record| record.eve(SystemTime::UNIX_EPOCH));
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines[0].starts_with(
            r#"{"timestamp":"1970-01-01T00:00:00.000000+0000","flow_id":7,"event_type":"verdict""#
        )
    );
    for (pointer, expected) in [
        ("/src_ip", Value::from("192.0.2.1")),
        ("/src_port", 4025.into()),
        ("/dest_ip", "192.0.2.25".into()),
        ("/dest_port", 25.into()),
        ("/proto", "TCP".into()),
        ("/app_proto", "smtp".into()),
        ("/smtp/helo", "client.example".into()),
        ("/smtp/mail_from", "<>".into()),
        ("/smtp/rcpt_to/1", "<b@example.org>".into()),
        ("/email/subject", "hi".into()),
        ("/verdict/id", TransactionId(99).to_string().into()),
        ("/verdict/verdict", "reject".into()),
        ("/verdict/action", "refused".into()),
        ("/verdict/findings/0/rule", "demo.ndb:3".into()),
        ("/verdict/findings/0/offset", 12.into()),
        ("/verdict/incomplete/0/reason", "encrypted".into()),
    ] {
        assert_eq!(events[0].pointer(pointer), Some(&expected), "{pointer}");
    }
    assert_eq!(events[1].pointer("/event_type"), Some(&"alert".into()));
    assert_eq!(events[1].pointer("/alert/signature"), Some(&"Demo.Virus".into()));
    assert_eq!(events[1].pointer("/alert/action"), Some(&"blocked".into()));
}

#[test]
fn a_long_url_is_cut_where_it_says_so() {
    for (url, expected) in [
        ("/a".repeat(4096), "/a".repeat(4096)),
        ("/a".repeat(4097), "/a".repeat(4096) + "…"),
        ("/".to_owned() + &"ä".repeat(4096), "/".to_owned() + &"ä".repeat(4095) + "…"),
    ] {
        let http = Http { url: &url, ..Http::default() };
        with_record(&Judgement::default(), Action::Forwarded, |record| {
            let lines = Record { http: Some(http), ..*record }.eve(SystemTime::now());
            let event: Value = serde_json::from_str(&lines[0]).unwrap();
            assert_eq!(event["http"]["url"], expected);
        });
    }
}

#[test]
fn people_read_one_line_that_nobody_can_forge() {
    let line = with_record(&infected(), Action::Refused, |record| record.log().unwrap());
    assert!(!line.contains(['\r', '\n']), "{line}");
    for words in
        ["reject", "Demo.Virus in 1.2/a.zip/b", "(demo.ndb:3)", "and 1 more", "550 5.7.1", "192.0.2.1"]
    {
        assert!(line.contains(words), "{words} in {line}");
    }
    let clean = Judgement::default();
    assert_eq!(with_record(&clean, Action::Forwarded, |record| record.log()), None);
    assert!(with_record(&clean, Action::Lost, |record| record.log()).is_some());
}

#[test]
fn rotation_goes_on_in_a_new_file() {
    let scratch = Scratch::new("rotation");
    let (path, rotated) = (scratch.0.join("eve.json"), scratch.0.join("eve.json.1"));
    let to = eve(&path);
    let events = Events::open(&to, 100).unwrap();
    with_record(&infected(), Action::Refused, |record| events.verdict(record));
    events.flush(PATIENCE);
    assert_eq!(lines(&path).len(), 2);
    std::fs::rename(&path, &rotated).unwrap();
    events.reopen(&to);
    events.notice("reload", "done");
    events.flush(PATIENCE);
    assert_eq!(lines(&rotated).len(), 2);
    assert_eq!(lines(&path)[0]["lockgate"]["what"], "reload");
    // A place that cannot be opened changes nothing.
    events.reopen(&eve(&scratch.0.join("no/such/directory/eve.json")));
    events.stats(&[("connections_accepted", 5)]);
    events.flush(PATIENCE);
    assert_eq!(lines(&path).len(), 2);
    assert_eq!(lines(&path)[1]["stats"]["lockgate"]["connections_accepted"], 5);
}

#[test]
fn a_full_queue_drops_and_counts_and_says_so() {
    let scratch = Scratch::new("overflow");
    let path = scratch.0.join("eve.json");
    let (queue, messages) = sync_channel(3);
    let events = Events { queue: Some(queue), counts: Arc::default() };
    for _ in 0..5 {
        events.send(Message::Eve("{}".into()));
    }
    assert_eq!(events.dropped(), 2);
    let writer = Writer::open(&eve(&path), Arc::clone(&events.counts)).unwrap();
    drop(events);
    writer.run(&messages);
    let lines = lines(&path);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3]["lockgate"]["details"], "2 lines did not fit the queue");
}

#[test]
fn a_full_disk_loses_events_and_nothing_else() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let scratch = Scratch::new("full");
    let path = scratch.0.join("eve.json");
    let counts = Arc::new(Counts::default());
    let mut writer = Writer::open(&Destinations::default(), Arc::clone(&counts)).unwrap();
    writer.eve = Output::new("events", Sink::File(full));
    let access = EventsTo::File(scratch.0.join("access.log"));
    writer.access = Output::new("the access log", open_sink(&access).unwrap());
    writer.take(Message::Eve("{\"lost\":1}".into()));
    writer.take(Message::Access("kept".into()));
    writer.write_out();
    assert_eq!((writer.eve.lost, writer.eve.is_torn), (1, true));
    assert_eq!((writer.access.lost, counts.lost.load(Ordering::Relaxed)), (0, 1));
    assert_eq!(std::fs::read_to_string(scratch.0.join("access.log")).unwrap(), "kept\n");
    writer.take(Message::Reopen(Destinations { eve: EventsTo::File(path.clone()), access }));
    writer.take(Message::Eve("{\"kept\":1}".into()));
    writer.write_out();
    assert_eq!((writer.eve.lost, counts.lost.load(Ordering::Relaxed)), (0, 1), "the count stays");
    assert_eq!(lines(&path).len(), 1);
}
