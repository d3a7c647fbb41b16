//! Seeds of what is said before content: SMTP, POP3, SOCKS5, the PROXY header. Rule: each command, reply and oddity is met by one of them.

use crate::{CUTS, Corpus};

pub(crate) fn smtp(corpus: &Corpus) {
    let sessions: &[&str] = &[
        "EHLO a\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nSubject: x\r\n\r\n..a\r\n.\r\nQUIT\r\n",
        "DATA\r\n.\r\nDATA\r\na\n.\nb\r\n.\r\n",
        "DATA\r\na\rb\r\n.\r\nNOOP\r\n",
        "DATA\r\n.\r\r\n.\0\r\n.\r\nX\r\n",
        "BDAT 10\r\n0123456789BDAT 0 LAST\r\n",
        "AUTH\r\ndXNlcg==\r\n*\r\n",
        "bare\nlf\r\nnul\0\r\ncr\rcr\r\n",
        "BDAT 99999999999999999999\r\n",
        "DATA\r\n\r\n..\r\n...\r\n\r\n.\r\n",
    ];
    for (index, text) in sessions.iter().enumerate() {
        corpus.put_cut("smtp_receiver", &format!("session{index}"), text.as_bytes());
    }
    corpus.put_cut("smtp_receiver", "long-line", &[b"A".repeat(20_000), b"\r\n".to_vec()].concat());
    corpus.put_cut(
        "smtp_receiver",
        "long-text",
        &[b"DATA\r\n".to_vec(), b"A".repeat(5000), b"\r\n.\r\n".to_vec()].concat(),
    );
    corpus.put_cut(
        "smtp_receiver",
        "long-auth",
        &[b"AUTH\r\n".to_vec(), b"A".repeat(13_000), b"\r\n".to_vec()].concat(),
    );
    let commands = "EHLO client.example.org\nMAIL FROM:<a@example.org> SIZE=10 BODY=8BITMIME RET=HDRS ENVID=x SMTPUTF8 AUTH=<>\n\
        RCPT TO:<b@example.org> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;b@example.org\nRCPT TO:<\"q \\\" uoted\"@[192.0.2.1]>\n\
        RCPT TO:<@relay,@other:c@[IPv6:2001:db8::1]>\nRCPT TO:<Postmaster>\nDATA\nMAIL FROM:<>\nRCPT TO:<d@xn--e1afmkfd.example>\n\
        BDAT 5\nBDAT 0 LAST\nRSET\nNOOP x\nvrfy x\nEXPN x\nHELP\nETRN x\nTURN\nSTARTTLS\nAUTH PLAIN AGEAYg==\nAUTH LOGIN\nAUTH EXTERNAL =\n\
        XCLIENT ADDR=192.0.2.1 PORT=25 NAME=x+20y HELO=[UNAVAILABLE] PROTO=ESMTP LOGIN=[TEMPUNAVAIL] DESTADDR=IPV6:2001:db8::1\n\
        XFORWARD ADDR=192.0.2.1 NAME=x SOURCE=REMOTE IDENT=1\nHELO a\nmail from: a@b\nMAIL FROM:<a\nMAIL FROM:<a@b> SIZE=x\nMAIL FROM:<a@b> NO\n\
        RCPT TO:<>\nRCPT TO:<a@b> NOTIFY=NEVER,SUCCESS\nBDAT\nBDAT x\nBDAT 1 FIRST\n\nX\nQUIT\nQUIT now";
    for (index, how) in ["nnnn", "bnnn", "nrnn", "nnrn", "nn", "br", "nnnnnnnnr"].iter().enumerate() {
        corpus.put("smtp_command", &format!("all{index}"), format!("{how}\n\n{commands}").as_bytes());
    }
    for (index, command) in commands.lines().enumerate() {
        let lines = format!(
            "nnnn\n\nEHLO x\nMAIL FROM:<a@b>\nRCPT TO:<c@d>\n{command}\nDATA\nBDAT 3 LAST\n\u{ff}\nMAIL FROM:<a@b>\n{command}"
        );
        corpus.put("smtp_command", &format!("one{index}"), lines.as_bytes());
    }
    corpus.put(
        "smtp_command",
        "bad-line",
        b"n\n\nEHLO x\n\xff\n\xc3\xa4\nMAIL FROM:<\xc3\xa4@b> SMTPUTF8\nRCPT TO:<\xc3\xb6@\xc3\xbc>",
    );
    let replies: &[&str] = &[
        "250 ok\r\n",
        "250-a\r\n250-SIZE 100\r\n250-AUTH PLAIN LOGIN SCRAM-SHA-256-PLUS EXTERNAL\r\n250-AUTH=PLAIN\r\n250-XCLIENT NAME ADDR\r\n250-XFORWARD NAME\r\n250-CHUNKING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-STARTTLS\r\n250-DSN\r\n250-ENHANCEDSTATUSCODES\r\n250-PIPELINING\r\n250 SIZE\r\n",
        "550 5.7.1 no\r\n451 4.3.0 later\n354\r\n221 2.0.0 bye\r\n",
        "250-a\r\n251 b\r\n",
        "x\r\n",
        "25\r\n",
        "999 a\r\n",
        "250 caf\u{e9}\u{0}\r\n",
        "250-\n250-\n250 \n",
        "250 5.1.1.1 x\r\n250 2.1000.1 x\r\n250 9.1.1 y\r\n200\r\n",
    ];
    for (index, text) in replies.iter().enumerate() {
        corpus.put_cut("smtp_reply", &format!("reply{index}"), text.as_bytes());
    }
    corpus.put_cut("smtp_reply", "long", &[b"250-".to_vec(), b"x".repeat(5000)].concat());
    corpus.put_cut("smtp_reply", "many", &b"250-x\r\n".repeat(300));
}

pub(crate) fn pop3(corpus: &Corpus) {
    let replies = "+OK ready\r\n+OK\r\nSTLS\r\nSASL PLAIN SCRAM-SHA-1-PLUS\r\nUSER\r\n.\r\n+OK\r\n+OK in\r\n+OK 2 300\r\n+OK\r\n1 100\r\n.\r\n\
        +OK 1 100\r\n+OK\r\n1 x\r\n.\r\n+OK mail\r\nSubject: x\r\n\r\n..y\r\n.\r\n+OK\r\nTop: x\r\n.\r\n+OK\r\n-ERR no\r\n+OK bye\r\n";
    let commands = "CAPA\nUSER a\nPASS b\nSTAT\nLIST\nLIST 1\nUIDL\nRETR 1\nTOP 1 5\nDELE 1\nRETR 9\nQUIT";
    let others = [
        ("AUTH PLAIN\nAGEAYg==\nAUTH\nQUIT", "+OK\r\n+ \r\n+OK\r\n+OK\r\nPLAIN\r\n.\r\n+OK\r\n"),
        (
            "APOP a 0123456789abcdef\nNOOP\nRSET\nLAST\nUTF8\nLANG\nLANG en\nXYZZY\nSTLS\nUSER\nPASS\nTOP 1\nRETR x\nLIST x",
            replies,
        ),
        ("STLS\nCAPA", "+OK\r\n-ERR\r\n"),
        ("AUTH PLAIN =\nAUTH LOGIN\n*\nUSER a", "+OK\r\n-ERR\r\n+ VXNlcg\r\n-ERR cancelled\r\n+OK\r\n"),
        ("NOOP", "+OK\r\n+OK\r\n+OK\r\n"),
        ("NOOP", "what\r\n"),
        ("NOOP", "+OK\n-ERR\n"),
        ("NOOP\nRETR 1", "-ERR [SYS/TEMP] down\r\n"),
    ];
    for (index, (commands, replies)) in others.into_iter().chain([(commands, replies)]).enumerate() {
        corpus.put(
            "pop3",
            &format!("session{index}"),
            &[commands.as_bytes(), b"\n\n", CUTS, replies.as_bytes()].concat(),
        );
    }
    // More commands than may wait for a reply, and what is none behind the login, byte by byte.
    let many = ["AUTH PLAIN\nA=\n", &"XYZZY\n".repeat(5), &"NOOP\n".repeat(62), "\n"].concat();
    corpus.put("pop3", "many", &[many.as_bytes(), &[0; CUTS.len()], b"+OK\r\n+ \r\n+OK\r\n\r+OK"].concat());
    corpus.put("pop3", "long", &[&b"NOOP\n\n"[..], CUTS, &b"+OK ".repeat(3000)].concat());
}

pub(crate) fn socks(corpus: &Corpus) {
    let replies: &[&[u8]] = &[
        b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50behind",
        b"\x05\x00\x05\x00\x00\x03\x03abc\x00\x50",
        b"\x05\x00\x05\x00\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50behind",
        b"\x05\x02\x01\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50",
        b"\x05\x02\x01\x01",
        b"\x05\x02\x05\x00",
        b"\x05\xff",
        b"\x04\x00",
        b"\x05\x00\x05\x00\x00\x07",
        b"\x05\x00\x04\x00",
        b"\x05\x00\x05\x00\x00\x03\x00\x00\x50",
        b"HTTP/1.1 400 Bad Request\r\n",
    ];
    let mut replies: Vec<Vec<u8>> = replies.iter().map(|reply| reply.to_vec()).collect();
    replies.extend((1..=9).map(|code| vec![5, 0, 5, code, 0, 1]));
    let long = "a".repeat(256);
    let askings = ["a.example", "192.0.2.1\nuser\npassword", "2001:db8::1\nu\n", "", long.as_str()];
    for (index, reply) in replies.iter().enumerate() {
        for (number, asking) in askings.iter().enumerate() {
            let content = [asking.as_bytes(), b"\n\n", CUTS, reply].concat();
            corpus.put("socks", &format!("reply{index}.{number}"), &content);
        }
    }
}

pub(crate) fn proxy_protocol(corpus: &Corpus) {
    let mut binary = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    for (index, (family, length)) in
        [(0x11_u8, 12_u16), (0x21, 36), (0x31, 216), (0x00, 0), (0x12, 12), (0x11, 40), (0x11, 3)]
            .iter()
            .enumerate()
    {
        for command in [0x20, 0x21, 0x22, 0x10] {
            let mut header = binary.clone();
            header.extend_from_slice(&[command, *family]);
            header.extend_from_slice(&length.to_be_bytes());
            header.extend_from_slice(&[127; 300][..usize::from(*length)]);
            corpus.put("proxy_protocol", &format!("two{index}.{command}"), &header);
        }
    }
    for (index, values) in
        [&b"\x01\0\x02h2"[..], b"\x03\0\x04\0\0\0\0", b"\x03\0\x02\0\0", b"\x01\xff\xff", b"\x01"]
            .iter()
            .enumerate()
    {
        let mut header = [&binary[..], &[0x21, 0x11, 0, 12 + values.len() as u8], &[1; 12], values].concat();
        corpus.put("proxy_protocol", &format!("values{index}"), &header);
        header[13] = 0x21;
        corpus.put("proxy_protocol", &format!("values{index}.short"), &header);
    }
    let mapped = [&binary[..], &[0x21, 0x21, 0, 36], &[0; 10], &[0xff; 6], &[1; 16], &[0, 1, 0, 2]].concat();
    corpus.put("proxy_protocol", "mapped", &mapped);
    corpus.put("proxy_protocol", "large", &[&binary[..], &[0x21, 0x11, 0xff, 0xff]].concat());
    binary.truncate(7);
    corpus.put("proxy_protocol", "two.short", &binary);
    let lines = [
        "PROXY TCP4 192.0.2.1 198.51.100.1 1234 25\r\nEHLO",
        "PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n",
        "PROXY UNKNOWN whatever\r\n",
        "PROXY TCP4 1 2 3 4\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 99999 25\r\n",
        "PROXY TCP4 192.0.2.1\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1234 25\n",
        "EHLO x\r\n",
        "PROXY ",
        "PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 0123 25\r\n",
    ];
    for (index, line) in lines.iter().enumerate() {
        corpus.put("proxy_protocol", &format!("one{index}"), line.as_bytes());
    }
    corpus.put("proxy_protocol", "one.long", format!("PROXY TCP4 {}", "1".repeat(200)).as_bytes());
}
