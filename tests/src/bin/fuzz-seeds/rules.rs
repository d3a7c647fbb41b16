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
    corpus.put_cut("ids_rules", "others", format!("{OTHERS}\n\nGET / HTTP/1.1\n\n\n").as_bytes());
}
