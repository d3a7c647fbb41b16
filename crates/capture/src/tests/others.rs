//! The other protocols on the wire. Rule: each is recognised by what is said, on whatever port.

use super::frames::datagram;
use super::*;

const RULES: &str = r#"
alert smtp any any -> any any (msg:"sender"; smtp.mail_from; content:"ann@example.org"; sid:1;)
alert smtp any any -> any any (msg:"mail"; file.data; content:"attached"; sid:2;)
alert dns any any -> any any (msg:"name"; dns.query; content:"evil.example"; sid:4;)
alert ftp any any -> any any (msg:"command"; ftp.command; content:"RETR"; ftp.command_data; content:"a.txt"; sid:5;)
alert ftp-data any any -> any any (msg:"ftp file"; file.data; content:"attached"; sid:6;)
alert ftp-data any any -> any any (msg:"its name"; filename:"a.txt"; sid:8;)
alert tls any any -> any any (msg:"name under TLS"; tls.sni; content:"evil.example"; sid:7;)
"#;
const MAIL: &str = "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nYXR0YWNoZWQ=\r\n.\r\n";

#[test]
fn mails_by_smtp() {
    let sayings: [Saying<'_>; 12] = [
        (1, b"220 mx.example ESMTP\r\n"),
        (0, b"EHLO a\r\n"),
        (1, b"250-mx\r\n250 SIZE\r\n"),
        (0, b"MAIL FROM:<ann@example.org>\r\nRCPT TO:<bob@example.org>\r\nDATA\r\n"),
        (1, b"250 ok\r\n250 ok\r\n354 go on\r\n"),
        (0, MAIL.as_bytes()),
        (1, b"250 taken\r\n"),
        (0, b"MAIL FROM:<eve@example.org>\r\nDATA\r\n"),
        (1, b"250 ok\r\n503 no\r\n"),
        (0, b"MAIL FROM:<ann@example.org>\r\n"),
        (1, b"250 ok\r\n"),
        (0, b"QUIT\r\n"),
    ];
    assert_alerts(RULES, 9025, &sayings, &["1 0 to_server", "1 2 to_server", "2 0 to_server"]);
}

#[test]
fn mails_by_pop3() {
    let rules = r#"alert pop3 any any -> any any (msg:"mail"; file.data; content:"attached"; sid:3;)"#;
    let sayings: [Saying<'_>; 7] = [
        (1, b"+OK hello\r\n"),
        (0, b"USER a\r\nPASS b\r\nLIST\r\nRETR 1\r\n"),
        (1, b"+OK\r\n+OK\r\n+OK\r\n1 100\r\n.\r\n+OK\r\n"),
        (1, MAIL.as_bytes()),
        (0, b"RETR 2\r\nQUIT\r\n"),
        (1, b"-ERR none\r\n"),
        (1, b"+OK\r\n"),
    ];
    assert_alerts(rules, 9110, &sayings, &["3 0 to_client"]);
}

#[test]
fn names_in_datagrams_and_in_streams() {
    let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04evil\x07example\0\0\x01\0\x01";
    let events = heard(RULES, settings(), &[datagram(0, 5000, 53, query)]);
    assert_eq!(alerts(&events), ["4 0 to_server"]);
    let dns = &events.iter().find(|event| event["event_type"] == "dns").unwrap()["dns"];
    assert_eq!(dns["queries"][0]["rrname"], "evil.example");
    let stream = [&(query.len() as u16).to_be_bytes()[..], query].concat();
    assert_alerts(RULES, 53, &[(0, &stream), (0, &stream)], &["4 0 to_server", "4 1 to_server"]);
}

#[test]
fn files_by_ftp_come_where_it_was_said() {
    let mut control = Talk::begin(2121);
    control.say(1, b"220 FTP\r\n");
    control.say(0, b"PASV\r\n");
    control.say(1, b"227 here (10,0,0,2,200,1)\r\n");
    control.say(0, b"RETR a.txt\r\n");
    let mut data = Talk::between(40_001, 200 << 8 | 1);
    data.say(1, b"what is attached");
    let frames = [control.end(), data.end()].concat();
    let events = heard(RULES, settings(), &frames);
    assert_eq!(alerts(&events), ["5 1 to_server", "6 0 to_client", "8 0 to_client"]);
    let alert = events.iter().find(|event| event["alert"]["signature_id"] == 6).unwrap();
    assert_eq!((&alert["app_proto"], &alert["ftp_data"]["filename"]), (&"ftp-data".into(), &"a.txt".into()));
}

#[test]
fn a_name_under_tls() {
    let name = b"evil.example";
    let list = [&[0][..], &(name.len() as u16).to_be_bytes(), name].concat();
    let extension = [&(list.len() as u16).to_be_bytes()[..], &list].concat();
    let extensions = [&[0, 0][..], &(extension.len() as u16).to_be_bytes(), &extension].concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
    let record = [&[22, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat();
    assert_alerts(RULES, 4433, &[(0, &record)], &["7 0 to_server"]);
    let tunnel: [Saying<'_>; 3] = [
        (0, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"),
        (1, b"HTTP/1.1 200 OK\r\n\r\n"),
        (0, &record),
    ];
    assert_alerts(RULES, 3128, &tunnel, &["7 0 to_server"]);
}

#[test]
fn rules_that_were_not_asked_to_their_end_are_told_of() {
    let costly = |protocol: &str, buffer: &str| {
        let tests =
            r#"content:"a"; content:"b"; distance:0; content:"c"; distance:0; content:"dd"; within:2;"#;
        format!("alert {protocol} any any -> any any ({buffer} {tests} sid:1;)")
    };
    let labels = [&[60][..], b"dd", &[b'a'; 58], &[60], &[b'b'; 60], &[60], &[b'c'; 60], &[0]].concat();
    let question = [&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &labels, &[0, 1, 0, 1]].concat();
    let told = |events: &[Value]| {
        let is_work = |event: &&Value| event["anomaly"]["reason"] == "work";
        events.iter().filter(is_work).map(|event| event["proto"].clone()).collect::<Vec<_>>()
    };
    let asked = [datagram(0, 5000, 53, &question)];
    assert_eq!(told(&heard(&costly("udp", ""), settings(), &asked)), ["UDP"]);
    assert_eq!(told(&heard(&costly("dns", "dns.query;"), settings(), &asked)), ["UDP"]);
    let mut talk = Talk::begin(9);
    talk.say(0, &labels);
    assert_eq!(told(&heard(&costly("tcp", ""), settings(), &talk.end())), ["TCP"]);
}

#[test]
fn what_is_known_and_not_taken_apart_is_asked_as_bytes() {
    let rules = r#"alert smb any any -> any any (content:"secret"; sid:1;)
alert ssh any any -> any any (flow:to_server; content:"secret"; sid:2;)
alert sip any any -> any any (content:"secret"; sid:3;)
alert http any any -> any any (content:"secret"; sid:4;)
alert tcp any any -> any any (app-layer-protocol:smb; content:"secret"; sid:5;)"#;
    let smb = b"\0\0\0\x46\xfeSMB\x40\0secret";
    assert_alerts(rules, 9000, &[(0, smb)], &["1 null to_server", "5 null to_server"]);
    let ssh: [Saying<'_>; 2] = [(1, b"SSH-2.0-a\r\n"), (0, b"SSH-2.0-secret\r\n")];
    assert_alerts(rules, 9000, &ssh, &["2 null to_server"]);
    let sip = b"INVITE sip:a@example SIP/2.0\r\nSubject: secret\r\n\r\n";
    assert_alerts(rules, 9000, &[(0, sip)], &["3 null to_server"]);
    let events = heard(rules, settings(), &[datagram(0, 5060, 5060, sip)]);
    assert_eq!(alerts(&events), ["3 null to_server"]);
    assert_eq!(events.last().unwrap()["app_proto"], "sip");
}
