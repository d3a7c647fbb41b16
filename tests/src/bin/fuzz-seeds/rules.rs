//! Intrusion rules, each with an exchange that it holds for. Rule: every kind of keyword stands in one of them.

use super::Corpus;

/// Options of rules, and the exchange: first line, header, content.
const RULES: [(&str, &str, &str, &str); 9] = [
    (
        "flow:established,to_server; content:\"GET\"; http_method; content:\"/a|2e|php\"; http_uri; nocase; pcre:\"/id=\\d+/U\"; urilen:>3",
        "GET /x/../a.php?id=%31 HTTP/1.1",
        "Host: www.example:80\nUser-Agent: probe\nCookie: a=b",
        "",
    ),
    (
        "http.host; dotprefix; content:\".example\"; endswith; http.header_names; content:!\"Referer\"",
        "GET / HTTP/1.1",
        "Host: a.example",
        "",
    ),
    ("http.cookie; bsize:3; to_uppercase; content:\"A=B\"", "GET / HTTP/1.1", "Cookie: a=b", ""),
    (
        "flow:to_client; http.stat_code; content:\"200\"; file_data; content:\"one\"; content:\"two\"; distance:1; within:9",
        "HTTP/1.1 200 OK",
        "Server: s",
        "one, two",
    ),
    (
        "file.data; content:\"len=\"; byte_extract:1,0,n,relative; content:\"x\"; distance:n; within:1; isdataat:!1,relative",
        "HTTP/1.1 200 OK",
        "",
        "len=\u{2}..x",
    ),
    (
        "file.data; byte_test:2,>,1,0,big; byte_jump:1,1,relative,multiplier 2,align; byte_math:bytes 1, offset 0, oper *, rvalue 3, result m; byte_test:1,<,m,0",
        "HTTP/1.1 200 OK",
        "",
        "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}",
    ),
    (
        "file.data; content:\"Basic \"; base64_decode:bytes 16, relative; base64_data; content:\"user\"",
        "GET / HTTP/1.1",
        "",
        "Basic dXNlcjpzZWNyZXQ=",
    ),
    (
        "http.uri; content:\"a\"; flowbits:set,x; flowint:n,+,1; threshold:type limit, track by_src, count 1, seconds 60; noalert",
        "GET /a HTTP/1.1",
        "",
        "",
    ),
    (
        "http.request_line; strip_whitespace; url_decode; xor:\"01\"; pcre:!\"/^(a+)+$/i\"; content:!\"zz\"",
        "POST /%61 HTTP/1.0",
        "A: b",
        "body",
    ),
];

/// The same about other protocols, with the action and the protocol: what stands in its buffers, a mail's header, content.
const SPOKEN: [(&str, &str, &str, &str); 6] = [
    (
        "alert smtp any any -> any any (smtp.mail_from; content:\"@\"; email.subject; content:\"offer\"; sid:1;)\nalert smtp any any -> any any (filename:\"a.exe\"; filesize:>9; sid:2;)\nalert smtp any any -> any any (filemd5:list; sid:3;)\nalert smtp any any -> any any (filesha256:!list; sid:4;)",
        "me@a.example",
        "Subject: an offer\nFrom: a@b\nTo: c@d\nReceived: by a",
        "d41d8cd98f00b204e9800998ecf8427e",
    ),
    (
        "alert dns any any -> any any (dns.query; content:\"a.example\"; dns.opcode:0; dns.rcode:1-3; dns.rrtype:!5; sid:1;)\nalert dns any any -> any any (dns_query; to_md5; content:\"|01|\"; sid:2;)\nalert dns any any -> any any (dns.query; to_sha1; content:\"a\"; startswith; sid:3;)\nalert dns any any -> any any (dns.query; to_sha256; content:\"a\"; sid:4;)",
        "a.example",
        "",
        "",
    ),
    (
        "alert tls any any -> any any (tls.subject:!\"CN=a\"; tls.issuerdn:\"CN=b\"; tls.version:1.2; tls.store; sid:1;)\nalert tls any any -> any any (ssl_version:tls1.0,!sslv3; tls.fingerprint:\"aa:bb\"; tls.cert_serial; content:\"0A\"; tls.random_time; content:\"a\"; tls.random_bytes; content:\"b\"; sid:2;)\nalert tls any any -> any any (ssl_state:client_hello; tls.sni; content:\"a\"; pcrexform:\"^(.)\"; content:\"a\"; sid:3;)",
        "aaaa.bbbb.example",
        "",
        "",
    ),
    (
        "alert ftp any any -> any any (ftpbounce; sid:1;)\nalert ftp any any -> any any (ftp.command; content:\"PORT\"; ftp.command_data; content:\"192,0\"; startswith; sid:2;)",
        "PORT 192,0,2,9,4,1",
        "",
        "",
    ),
    (
        "alert ftp-data any any -> any any (ftpdata_command:stor; file.data; content:\"x\"; sid:1;)",
        "stor",
        "",
        "x",
    ),
    (
        "drop http any any -> any any (http.uri; content:\"a\"; sid:1;)\nreject http any any -> any any (http.uri; content:\"a\"; sid:2;)\nsuppress gen_id 1, sig_id 1, track by_src, ip [10.0.0.0/8,!10.1.0.0/16]\nrate_filter gen_id 0, sig_id 0, track by_rule, count 1, seconds 9, new_action drop, timeout 9\nthreshold gen_id 1, sig_id 2, type both, track by_dst, count 1, seconds 9\nevent_filter gen_id 1, sig_id 2, type backoff, track by_flow, count 1, multiplier 2\nsuppress gen_id 1, sig_id 2",
        "GET /a HTTP/1.1",
        "Host: a",
        "",
    ),
];

/// Rules about packets and streams, all of which are asked of a connection and a datagram.
const PACKETS: &str = r#"alert ip any any -> any any (tos:0; ipopts:any; sameip; fragoffset:0; rev:2; sid:20;)
alert tcp any any -> any any (tcp.flags:S,CE; seq:999; ack:0; window:>1; tcp.mss:<1500; tcp.seq:999; tcp.ack:0; tcp.window:65535; sid:21;)
alert icmp any any -> any any (icode:0; icmp_id:1; icmp_seq:1; itype:8; sid:22;)
alert icmpv6 any any -> any any (icmpv6.mtu:<1280; sid:23;)
alert tcp any any -> any any (flow.age:>0; flow:not_established; sid:24;)
alert tcp any 80 <> any any (stream_size:both,>,1; content:"GET"; rawbytes; depth:3; sid:25;)
alert udp any any -> any any (dsize:>1; content:"E"; offset:1; udp.hdr; content:"|00|"; sid:26;)
alert tcp-pkt any any -> any any (content:"a"; flowbits:set,b; sid:27;)
alert tcp any any -> any any (flowbits:isset,b; flags:A; ttl:64; id:1; ip_proto:6; geoip:src,US; sid:28;)
pass tcp any any -> any any (content:"zzz"; alert; sid:29;)
alert http any any -> any any (uricontent:"a"; http.uri; isdataat:!99; absent:or_else; compress_whitespace; content:" "; sid:30;)
alert http any any -> any any (http.header; header_lowercase; content:"host"; sid:31;)
alert http any any -> any any (app-layer-event:http.missing_host_header; sid:32;)
alert tcp any any -> any any (app-layer-protocol:!tls; xbits:isset,c,track ip_src; xbits:toggle,c,track ip_dst,expire 3; sid:33;)
alert tcp any any -> any any (content:"GET"; byte_test:1,<=,9,0,string,dec,relative; byte_test:2,&,1,0,little; byte_test:1,^,1,0; byte_test:3,=,0x41,1,string,hex; sid:34;)
alert http any any -> any any (http.host; dataset:set,a,type string; dataset:isset,b,type sha256,load x; dataset:isnotset,c,type md5; dataset:unset,a; sid:38;)
alert tcp any any -> any any (content:"G"; byte_math:bytes 1,offset 0,oper +,rvalue 1,result a; byte_math:bytes 1,offset 0,oper -,rvalue a,result b; byte_math:bytes 1,offset 0,oper /,rvalue 2,result c; byte_math:bytes 1,offset 0,oper <<,rvalue 1,result d; byte_math:bytes 1,offset 0,oper >>,rvalue 1,result e; byte_test:1,>=,e,0; sid:35;)
alert tcp any any -> any any (content:"a"; flow:established,to_server,only_stream; detection_filter:track by_src,count 1,seconds 1; target:src_ip; sid:36;)
alert ip [10.0.0.0/8,!10.0.0.9] any -> 10.0.0.2 any (sid:37;)"#;

/// Rules of other kinds, most of them about packets, and some that are none.
const OTHERS: &str = r#"alert tcp $HOME_NET [1024:,!6000] -> [$EXTERNAL_NET,!10.1.0.0/16,2001:db8::/32] any (msg:"a\;b"; flags:S,12; dsize:1<>9; itype:!3; ttl:<=5; fragbits:M+; ip_proto:udp; ipv4-csum:invalid; xbits:set,a,track ip_pair,expire 9; stream_size:client,<,6; detection_filter:track by_dst, count 2, seconds 9; reference:url,a.example; metadata:a b, c d; classtype:x; priority:2; gid:3; sid:10;)
alert http (content:"a,b",nocase,offset 1,depth 9; bufferlen:2<=>9; service:http; sid:11;)
pass ip any any <> any any (decode-event:ipv4.pkt_too_small; stream-event:reassembly_gap; app-layer-event:http.invalid; sid:12;)
alert tcp any any -> any any (content:"|0"; sid:13;)
alert tcp any any -> ! any (sid:14"#;

pub fn seeds(corpus: &Corpus) {
    for (number, (options, line, header, content)) in RULES.iter().enumerate() {
        let rule = format!("alert http any any -> any any (msg:\"m\"; {options}; sid:{};)", number + 1);
        let exchange = format!("{rule}\n\n{line}\n{header}\n\n{content}");
        corpus.put_cut("ids_rules", &format!("rule{number}"), exchange.as_bytes());
    }
    let long = "x".repeat(40_000);
    let rule =
        "alert http any any -> any any (file.data; content:\"yz\"; content:\"xx\"; distance:-9; sid:1;)";
    corpus.put_cut("ids_rules", "long", format!("{rule}\n\nGET / HTTP/1.1\n\n\n{long}yz{long}").as_bytes());
    for (number, (rules, line, header, content)) in SPOKEN.iter().enumerate() {
        let exchange = format!("{rules}\n\n{line}\n{header}\n\n{content}");
        corpus.put_cut("ids_rules", &format!("spoken{number}"), exchange.as_bytes());
    }
    let asked = "GET /a HTTP/1.1\nAccept: a\n\nGET  a1";
    corpus.put_cut("ids_rules", "packets", format!("{PACKETS}\n\n{asked}").as_bytes());
    corpus.put_cut("ids_rules", "others", format!("{OTHERS}\n\nGET / HTTP/1.1\n\n\n").as_bytes());
}
