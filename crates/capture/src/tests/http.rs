//! HTTP on the wire. Rule: what some client would make of a response is seen, once.

use super::*;

const RULES: &str = r#"
alert http any any -> any any (msg:"uri"; flow:to_server; http.uri; content:"/attack"; sid:1;)
alert http any any -> any any (msg:"head"; flow:to_client; http.stat_code; content:"200"; http.server; content:"tests"; sid:2;)
alert http any any -> any any (msg:"file"; flow:to_client; file.data; content:"first half and the second half"; sid:3;)
alert http any any -> any any (msg:"upload"; flow:to_server; file.data; content:"uploaded"; sid:4;)
alert http any any -> any any (msg:"odd"; app-layer-event:http.missing_host_header; sid:5;)
"#;
const GET: &[u8] = b"GET /attack HTTP/1.1\r\nHost: a.example\r\n\r\n";

/// gzip with what it holds as it is.
fn gzip(content: &[u8]) -> Vec<u8> {
    let length = content.len() as u16;
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01";
    [&head[..], &length.to_le_bytes(), &(!length).to_le_bytes(), content, &[0; 8]].concat()
}

#[test]
fn exchanges_are_paired_and_numbered() {
    let sayings: [Saying<'_>; 4] = [
        (0, b"GET /other HTTP/1.1\r\nHost: a\r\n\r\nPOST /attack HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nuploaded"),
        (1, b"HTTP/1.1 404 No\r\nServer: tests\r\nContent-Length: 2\r\n\r\nno"),
        (1, b"HTTP/1.1 200 OK\r\nServer: tests\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n19\r\n half and the second half\r\n0\r\n\r\n"),
        (0, b"GET /third HTTP/1.1\r\n\r\n"),
    ];
    // What is odd about an exchange is asked about both ways.
    let odd = ["5 null to_client", "5 null to_server"];
    let own = ["1 1 to_server", "2 1 to_client", "3 1 to_client", "4 1 to_server"];
    let expected = [&own[..], &odd].concat();
    assert_alerts(RULES, 8080, &sayings, &expected);
}

#[test]
fn odd_responses_are_read_in_each_way_and_told_once() {
    let chunked = "5\r\nfirst\r\n19\r\n half and the second half\r\n0\r\n\r\n";
    let whole = "first half and the second half";
    let zipped = gzip(whole.as_bytes());
    let with = |head: &str, body: &[u8]| [head.as_bytes(), b"\r\n\r\n", body].concat();
    let responses: Vec<Vec<u8>> = vec![
        whole.as_bytes().to_vec(),
        with("HTTP/1.1 200 OK", whole.as_bytes()),
        with("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked", whole.as_bytes()),
        with("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked", chunked.as_bytes()),
        with("HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked", chunked.as_bytes()),
        with("HTTP/1.1 200 OK\r\nTransfer\0-Encoding: chunked", chunked.as_bytes()),
        with("HTTP/1.1 200 OK\rTransfer-Encoding: chunked", chunked.as_bytes()),
        with("HTTP/2.0 200 OK\r\nTransfer-Encoding: chunked", chunked.as_bytes()),
        with("HTTP/1.1 204 OK\r\nTransfer-Encoding: chunked", chunked.as_bytes()),
        with("junk\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", chunked.as_bytes()),
        with("HTTP/1.1 200 OK\r\nContent-Encoding: gzip", &zipped),
        with("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, deflate", &zipped),
        with("HTTP/1.1 200 OK\r\nContent-Encoding: \0gzip", &zipped),
        with("HTTP/1.1 200 OK\r\nA: b\n \nTransfer-Encoding: chunked", chunked.as_bytes()),
        with("HTTP/1.1 102 OK\r\nContent-Length: 30", whole.as_bytes()),
    ];
    for response in responses {
        let sayings: [Saying<'_>; 2] = [(0, GET), (1, &response)];
        let only = RULES.lines().filter(|line| line.contains("sid:3")).collect::<String>();
        assert_alerts(&only, 80, &sayings, &["3 0 to_client"]);
    }
}

#[test]
fn what_was_missed_is_said() {
    let mut talk = Talk::begin(80);
    talk.say(0, GET);
    talk.say(1, b"HTTP/1.1 200 OK\r\nServer: tests\r\nContent-Length: 30\r\n\r\nfirst");
    talk.lose(1, b" half and");
    talk.say(1, b" the second half");
    let events = heard(RULES, settings(), &talk.end());
    assert_eq!(alerts(&events), ["1 0 to_server", "2 0 to_client"]);
    let reasons: Vec<&Value> = events
        .iter()
        .filter(|event| event["event_type"] == "anomaly")
        .map(|event| &event["anomaly"]["reason"])
        .collect();
    assert_eq!(reasons, ["partial"]);
}

#[test]
fn seen_from_the_middle_the_server_is_who_answers() {
    let mut talk = Talk::begin(50_000);
    talk.say(
        0,
        b"HTTP/1.1 200 OK\r\nServer: tests\r\nContent-Length: 30\r\n\r\nfirst half and the second half",
    );
    let frames = talk.end();
    let settings = Settings { midstream: Midstream::PickedUp, ..settings() };
    let events = heard(RULES, settings, &frames[3..]);
    assert_eq!(alerts(&events), ["2 0 to_client", "3 0 to_client"]);
    let flow = events.iter().find(|event| event["event_type"] == "flow").unwrap();
    assert_eq!((&flow["src_port"], &flow["app_proto"]), (&50_000.into(), &"http".into()));
}

#[test]
fn events_have_suricatas_names() {
    let mut talk = Talk::begin(80);
    talk.say(0, GET);
    talk.say(
        1,
        b"HTTP/1.1 200 OK\r\nServer: tests\r\nContent-Type: text/html; x\r\nContent-Length: 2\r\n\r\nno",
    );
    let events = heard(RULES, settings(), &talk.end());
    let of = |kind: &str| events.iter().find(|event| event["event_type"] == kind).unwrap();
    let http = &of("http")["http"];
    assert_eq!((&http["hostname"], &http["url"]), (&"a.example".into(), &"/attack".into()));
    assert_eq!((&http["http_method"], &http["protocol"]), (&"GET".into(), &"HTTP/1.1".into()));
    assert_eq!((&http["status"], &http["length"]), (&200.into(), &2.into()));
    assert_eq!(http["http_content_type"], "text/html");
    let alert = of("alert");
    assert_eq!((&alert["src_ip"], &alert["dest_port"]), (&"10.0.0.1".into(), &80.into()));
    assert_eq!((&alert["proto"], &alert["app_proto"]), (&"TCP".into(), &"http".into()));
    assert_eq!((&alert["alert"]["gid"], &alert["alert"]["action"]), (&1.into(), &"allowed".into()));
    assert_eq!((&alert["pcap_filename"], &alert["pkt_src"]), (&"tests.pcap".into(), &"wire/pcap".into()));
    assert_eq!(alert["evidence"]["buffer"], "http.uri", "{alert}");
    assert_eq!(alert["evidence"]["offset"], 0, "{alert}");
    let flow = of("flow");
    assert_eq!((&flow["flow"]["alerted"], &flow["tcp"]["state"]), (&true.into(), &"closed".into()));
    assert_eq!(flow["community_id"], alert["community_id"]);
    assert_eq!(flow["flow_id"], alert["flow_id"]);
}

#[test]
fn http2_in_clear() {
    let rules = r#"alert http any any -> any any (msg:"asked"; flow:to_server; http.method; content:"GET"; http.uri; content:"/secret"; http.user_agent; content:"probe"; sid:1;)
alert http any any -> any any (msg:"host"; http.host; content:"example.org"; bsize:11; http.header; content:"user-agent: probe"; sid:2;)
alert http any any -> any any (msg:"answered"; flow:to_client; http.stat_code; content:"200"; file.data; content:"attack here"; sid:3;)"#;
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    // GET, http, a path, an authority, a user agent (RFC 7541 appendix A).
    let asked =
        [&[0x82, 0x86, 0x04, 7][..], b"/secret", &[0x41, 11], b"example.org", &[0x7a, 5], b"probe"].concat();
    let client =
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, b""), frame(1, 5, 1, &asked)].concat();
    let server =
        [frame(4, 0, 0, b""), frame(1, 4, 1, &[0x88]), frame(0, 0, 1, b"attack "), frame(0, 1, 1, b"here")]
            .concat();
    let sayings: [Saying<'_>; 2] = [(0, &client), (1, &server)];
    assert_alerts(rules, 8080, &sayings, &["1 0 to_server", "2 0 to_server", "3 0 to_client"]);
    let mut talk = Talk::begin(8080);
    sayings.iter().for_each(|(side, bytes)| talk.say(*side, bytes));
    let events = heard(rules, settings(), &talk.end());
    let told = events.iter().find(|event| event["event_type"] == "http").unwrap();
    assert_eq!((&told["http"]["url"], &told["http"]["status"]), (&"/secret".into(), &200.into()));
    assert_eq!(told["http"]["protocol"], "HTTP/2");
}

#[test]
fn a_rule_of_an_exchange_and_of_the_stream() {
    let rules = r#"alert http any any -> any any (http.uri; content:"/attack"; pkt_data; content:"Host|3a| a"; sid:1;)"#;
    assert_alerts(rules, 80, &[(0, GET)], &["1 0 to_server"]);
}
