//! What alerts tell besides their rule. Rule: of what is told, each member is asked for by its name in Suricata's events.

use super::frames::packet;
use super::*;
use crate::{Forwarded, Proxies, Transactions};

const ASKED: &[u8] =
    b"GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1, [2001:db8::2], 192.0.2.3:80\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";

fn exchange() -> Vec<Vec<u8>> {
    let mut talk = Talk::begin(80);
    talk.say(0, ASKED);
    talk.say(1, ANSWER);
    talk.end()
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event_type"] == kind).collect()
}

#[test]
fn so_many_alerts_of_one_packet() {
    let rules: String = (1..=4)
        .map(|sid| {
            format!(
                "alert http any any -> any any (http.uri; content:\"/a\"; priority:{}; sid:{sid};)\n",
                5 - sid
            )
        })
        .collect();
    for (alerts_max, expected) in [(2, vec![4, 3]), (15, vec![4, 3, 2, 1])] {
        let reporting = Reporting { alerts_max, ..Reporting::default() };
        let events = heard_by(&rules, settings(), reporting, &exchange());
        let alerts = of_kind(&events, "alert");
        let told: Vec<&Value> = alerts.iter().map(|alert| &alert["alert"]["signature_id"]).collect();
        assert_eq!(told, expected);
        assert!(alerts.iter().all(|alert| alert["verdict"]["action"] == "alert"));
    }
}

#[test]
fn bits_of_the_flow() {
    let rules = r#"alert http any any -> any any (http.uri; content:"/a"; flowbits:set,traffic/id/web; flowbits:set,seen; sid:1;)
alert http any any -> any any (http.stat_code; content:"200"; flowbits:set,traffic/label/answered; flowbits:unset,seen; sid:2;)"#;
    let events = heard(rules, settings(), &exchange());
    let [first, second] = of_kind(&events, "alert")[..] else { panic!("two alerts: {events:?}") };
    // What is found is told with a later packet, and the bits are those of that moment.
    for alert in [first, second] {
        assert_eq!(
            (&alert["traffic"]["id"][0], &alert["metadata"]["flowbits"]),
            (&"web".into(), &Value::Null)
        );
    }
    assert_eq!(second["traffic"]["label"][0], "answered");
    let events = heard(&rules.replace("flowbits:unset,seen; ", ""), settings(), &exchange());
    assert_eq!(of_kind(&events, "alert")[1]["metadata"]["flowbits"][0], "seen");
}

#[test]
fn for_whom_proxies_have_asked() {
    let rules = r#"alert http any any -> any any (http.uri; content:"/a"; sid:1;)
alert http any any -> any any (file.data; content:"no"; sid:2;)"#;
    for (forwarded, source, destination, beside) in [
        (Forwarded::Untold, "10.0.0.1", "10.0.0.1", Value::Null),
        (Forwarded::Beside(Proxies::OfClients), "10.0.0.1", "10.0.0.1", "192.0.2.1".into()),
        (Forwarded::Instead(Proxies::OfServers), "192.0.2.3", "192.0.2.3", Value::Null),
        (Forwarded::Instead(Proxies::OfClients), "192.0.2.1", "192.0.2.1", Value::Null),
    ] {
        let reporting = Reporting { forwarded, ..Reporting::default() };
        let events = heard_by(rules, settings(), reporting, &exchange());
        let [request, response] = of_kind(&events, "alert")[..] else { panic!("two alerts: {events:?}") };
        assert_eq!((&request["src_ip"], &request["dest_ip"]), (&source.into(), &"10.0.0.2".into()));
        assert_eq!((&response["dest_ip"], &response["src_ip"]), (&destination.into(), &"10.0.0.2".into()));
        assert_eq!(request["xff"], beside);
    }
}

#[test]
fn extensions_of_chunks_in_a_request() {
    let rules = "alert http any any -> any any (flow:to_server; app-layer-event:http.request_chunk_extension; sid:1;)";
    let with = |size: &str| {
        let head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut talk = Talk::begin(80);
        talk.say(0, format!("{head}{size}\r\nno\r\n0\r\n\r\n").as_bytes());
        talk.say(0, format!("{head}2\r\nno\r\n0\r\n\r\n").as_bytes());
        alerts(&heard(rules, settings(), &talk.end())).len()
    };
    assert_eq!((with("2;a=b"), with("2")), (1, 0));
}

#[test]
fn the_packet_that_it_was_in() {
    let rules = r#"alert udp any any -> any any (content:"inner"; sid:1;)"#;
    let inner = frames::datagram(1, 7, 8, b"inner");
    let events = heard(rules, settings(), &[packet(0, 4, &inner)]);
    let [alert] = of_kind(&events, "alert")[..] else { panic!("one alert: {events:?}") };
    assert_eq!((&alert["pkt_src"], &alert["src_ip"]), (&"ipv4 tunnel".into(), &"10.0.0.2".into()));
    let tunnel = &alert["tunnel"];
    assert_eq!((&tunnel["src_ip"], &tunnel["dest_ip"]), (&"10.0.0.1".into(), &"10.0.0.2".into()));
    assert_eq!((&tunnel["proto"], &tunnel["depth"]), (&"004".into(), &1.into()));
}

#[test]
fn the_one_exchange_that_is_at_hand() {
    let rules = r#"alert tcp any any -> any any (flow:to_server; content:"GET"; sid:1;)"#;
    for (transactions, expected) in [(Transactions::Found, Value::Null), (Transactions::Guessed, "/a".into())]
    {
        let reporting = Reporting { transactions, ..Reporting::default() };
        let events = heard_by(rules, settings(), reporting, &exchange());
        assert_eq!(of_kind(&events, "alert")[0]["http"]["url"], expected);
    }
}

/// Name, size and state of each file that an event tells of.
fn files(events: &[Value]) -> Vec<String> {
    let told = of_kind(events, "fileinfo").into_iter().map(|event| &event["fileinfo"]);
    told.map(|file| format!("{} {} {}", file["filename"], file["size"], file["state"])).collect()
}

#[test]
fn files_are_told_when_they_have_ended() {
    let rules = r#"alert http any any -> any any (file.data; content:"one"; sid:1;)"#;
    let answers: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nfile one",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Disposition: attachment; filename=\"b.txt\"\r\n\r\ntwo",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
    ];
    let mut talk = Talk::begin(80);
    for (path, answer) in ["/a?x", "/b", "/c"].iter().zip(answers) {
        talk.say(0, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        talk.say(1, answer);
    }
    let events = heard(rules, settings(), &talk.end());
    assert_eq!(files(&events), [r#""/a" 8 "CLOSED""#, r#""b.txt" 3 "CLOSED""#, r#""/c" 3 "TRUNCATED""#]);
    let event = of_kind(&events, "fileinfo")[0];
    assert_eq!((&event["http"]["url"], &event["fileinfo"]["tx_id"]), (&"/a?x".into(), &0.into()));
    assert_eq!((&event["src_port"], &event["fileinfo"]["gaps"]), (&80.into(), &false.into()));
    let alert = of_kind(&events, "alert")[0];
    assert_eq!((&alert["files"][0]["filename"], &alert["files"][0]["size"]), (&"/a".into(), &8.into()));
}

#[test]
fn attachments_of_a_mail_are_files_and_what_is_in_them_is_not() {
    let mut talk = Talk::begin(25);
    let zip = "begin 644 inner.txt\n#86)C\n`\nend\n";
    let mail = format!(
        "Subject: a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\n\
         Content-Disposition: attachment; filename=one.txt\r\n\r\none\r\n--b\r\n\
         Content-Disposition: attachment; filename=two.txt\r\n\r\n{zip}\r\n--b--\r\n.\r\n"
    );
    talk.say(1, b"220 a\r\n");
    talk.say(0, b"HELO a\r\n");
    talk.say(1, b"250 a\r\n");
    talk.say(0, b"MAIL FROM:<a@example>\r\n");
    talk.say(1, b"250 a\r\n");
    talk.say(0, b"RCPT TO:<b@example>\r\n");
    talk.say(1, b"250 a\r\n");
    talk.say(0, b"DATA\r\n");
    talk.say(1, b"354 a\r\n");
    talk.say(0, mail.as_bytes());
    talk.say(1, b"250 a\r\n");
    let events = heard("", settings(), &talk.end());
    let told = files(&events);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with(r#""one.txt" 3 "#), "{told:?}");
    assert!(told[1].starts_with(r#""two.txt" "#), "{told:?}");
    assert_eq!(of_kind(&events, "fileinfo")[1]["smtp"]["mail_from"], "<a@example>");
}
