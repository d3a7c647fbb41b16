//! Who may see what, and what people see: groups, users, time limits, block pages, the access log. Rule: curl asks, `htpasswd`
//! makes the passwords, and what nginx served is the proof.

use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::gateway::interception;
use lockgate_tests::namespace::{Lab, SERVER};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::run;
use lockgate_tests::{Directory, Gateway, mail, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

const USERS: &str = "users = \"DIRECTORY/users\"";

/// A line as `htpasswd` makes it.
fn user(arguments: &[&str]) -> String {
    run(Command::new("htpasswd").args(arguments)).trim().to_owned() + "\n"
}

/// Three users, each by another kind of hash.
fn users() -> String {
    [
        user(&["-nbB", "-C", "5", "ann", "ann's secret"]),
        user(&["-nbm", "bob", "bob's"]),
        user(&["-nb5", "zoë", "pässwort"]),
    ]
    .concat()
}

fn ask(gateway: &Gateway, arguments: &[&str]) -> Fetched {
    curl::through(gateway.address, arguments)
}

/// Waits until the gateway says that it has taken what is new, for the so-manieth time.
fn reload(gateway: &mut Gateway, words: &str, times: usize) {
    gateway.process().signal("HUP");
    wait::until("it is loaded anew", || {
        let printed = gateway.process().printed();
        (printed.lines().filter(|line| line.contains(words)).count() >= times).then_some(())
    });
}

/// A listener of its own for what a test asks of a second one.
fn second_listener(lines: &str) -> (SocketAddr, String) {
    let address = wait::free_address();
    (
        address,
        format!("[[listen]]\nname = \"second\"\nprotocol = \"http\"\naddress = \"{address}\"\n{lines}\n"),
    )
}

#[test]
fn the_proxy_wants_to_know_who_asks() {
    let nginx = Nginx::start();
    let gateway = Gateway::http_prepared(USERS, "", |directory| _ = directory.write("users", users()));
    let url = nginx.put("page.html", "hello");
    let secure = format!("https://localhost:{}/page.html", nginx.https.port());
    for (credentials, expected) in [
        (None, 407),
        (Some("ann:ann's secret"), 200),
        (Some("bob:bob's"), 200),
        (Some("zoë:pässwort"), 200),
        (Some("ann:bob's"), 407),
        (Some("ann:"), 407),
        (Some("eve:ann's secret"), 407),
    ] {
        let mut arguments = vec![url.as_str()];
        arguments.extend(credentials.iter().flat_map(|pair| ["-U", pair]));
        let fetched = ask(&gateway, &arguments);
        assert_eq!((fetched.exit, fetched.status), (0, expected), "{credentials:?}: {fetched:?}");
        if expected == 407 {
            let challenge = "Proxy-Authenticate: Basic realm=\"Lockgate\", charset=\"UTF-8\"\r\n";
            assert!(fetched.heads.contains(challenge), "{}", fetched.heads);
            assert!(fetched.text().contains("<h1>Who are you?</h1>"), "{}", fetched.text());
        }
    }
    // With a method that has content, and in the form of a server's client: none is a way round.
    for arguments in [&["-d", "x=y", &url][..], &["-I", &url], &["--request-target", "/page.html", &url]] {
        assert_eq!(ask(&gateway, arguments).status, 407, "{arguments:?}");
    }
    // curl fails where CONNECT does.
    let fetched = ask(&gateway, &["--insecure", &secure]);
    assert!(fetched.exit != 0 && fetched.heads.starts_with("HTTP/1.1 407 "), "{fetched:?}");
    let _ = gateway.until_event(&["\"user\":\"ann\"", "\"milliseconds\":", "/page.html"]);
    gateway.until_event(&["\"verdict\"", "\"status\":407", "\"refused\"", "/page.html"]);
    gateway.until_event(&["\"verdict\"", "\"status\":407", "\"http_method\":\"CONNECT\""]);
    // nginx got three requests, and none of them with a password.
    let log = nginx.log();
    assert_eq!(log.len(), 3, "{log:?}");
}

#[test]
fn passwords_go_no_further_and_are_asked_for_on_the_same_connection() {
    let nginx = Nginx::start();
    let gateway = Gateway::http_prepared(USERS, "", |directory| _ = directory.write("users", users()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let origin = listener.local_addr().expect("it is bound");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the gateway comes");
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !request.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut piece).expect("it asks");
            request.extend_from_slice(&piece[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("it listens");
        String::from_utf8_lossy(&request).into_owned()
    });
    let fetched = ask(&gateway, &["-U", "ann:ann's secret", &format!("http://{origin}/")]);
    assert_eq!(fetched.text(), "ok");
    let request = heard.join().expect("it was asked");
    assert!(!request.to_lowercase().contains("authorization") && !request.contains("YW5u"), "{request}");
    // Any: curl asks first without, is told how, and asks again by the same connection.
    let url = nginx.put("page.html", "hello");
    let fetched = ask(&gateway, &["-v", "--proxy-anyauth", "-U", "bob:bob's", &url]);
    assert_eq!((fetched.status, fetched.text().as_str()), (200, "hello"), "{fetched:?}");
    assert!(
        fetched.heads.starts_with("HTTP/1.1 407 ") && fetched.heads.contains("HTTP/1.1 200 "),
        "{fetched:?}"
    );
    assert!(
        !fetched.printed.contains("Trying") || fetched.printed.matches("Trying").count() == 1,
        "{fetched:?}"
    );
}

#[test]
fn whoever_is_intercepted_knows_of_no_proxy_and_is_not_asked() {
    let lab = Lab::new();
    let nginx = Nginx::start_within(&lab.server, SERVER.parse().expect("an address"));
    let directory = Directory::new("users");
    let users = directory.write("users", users());
    let rules = "table ip lockgate { chain prerouting { type nat hook prerouting priority dstnat; \
                 iifname \"to-client\" tcp dport 80 redirect to :3128; }; }\n";
    lab.gateway.nft(&directory.write("rules", rules));
    let lines = format!("intercept = \"redirect\"\nusers = \"{}\"", users.display());
    let _gateway = Gateway::http_within(&lab.gateway, &lines);
    let url = nginx.put("page.html", "hello");
    assert_eq!(curl::within(&lab.client, &[&url]).text(), "hello");
    // Who comes by himself is asked.
    let proxy = "http://10.71.1.1:3128";
    for (credentials, expected) in [("ann:ann's secret", 200), ("ann:wrong", 407)] {
        let fetched =
            curl::within(&lab.client, &["--noproxy", "", "--proxy", proxy, "-U", credentials, &url]);
        assert_eq!(fetched.status, expected, "{fetched:?}");
    }
}

#[test]
fn each_group_has_lists_of_its_own() {
    let nginx = Nginx::start();
    let (second, listen) = second_listener("");
    let groups = "[webfilter]\nlists = [\"DIRECTORY/lists/all\"]\n\
                  [[policy.group]]\nname = \"pupils\"\nusers = [\"ann\"]\nlists = [\"DIRECTORY/lists/all\", \"DIRECTORY/lists/pupils\"]\n\
                  [[policy.group]]\nname = \"known\"\nusers = [\"*\"]\nlists = []\n\
                  [[policy.group]]\nname = \"lobby\"\nlisteners = [\"second\"]\nlists = [\"DIRECTORY/lists/lobby\"]\n\
                  [[policy.group]]\nname = \"kiosk\"\nnetworks = [\"127.0.0.9/32\"]\nlists = [\"DIRECTORY/lists/kiosk\"]\n";
    let address = nginx.http;
    let prepare = |directory: &Directory| {
        directory.write("users", users());
        for (list, path) in [("all", "all"), ("pupils", "games"), ("lobby", "chat"), ("kiosk", "maps")] {
            let line = format!("{}/{path}\n", address.ip());
            directory.write(&format!("lists/{list}/bannedurllist"), line);
        }
    };
    let (third, open) = {
        let address = wait::free_address();
        let lines = format!("[[listen]]\nname = \"third\"\nprotocol = \"http\"\naddress = \"{address}\"\n");
        (address, lines)
    };
    let gateway = Gateway::http_prepared(USERS, &format!("{listen}{open}{groups}"), prepare);
    wait::until_listening(second);
    wait::until_listening(third);
    let urls = ["all", "games", "chat", "maps"].map(|name| nginx.put(&format!("{name}/index.html"), name));
    let who: [(&str, SocketAddr, &[&str], [u16; 4]); 5] = [
        ("pupils", gateway.address, &["-U", "ann:ann's secret"], [403, 403, 200, 200]),
        ("known", gateway.address, &["-U", "bob:bob's"], [200, 200, 200, 200]),
        ("lobby", second, &[], [200, 200, 403, 200]),
        ("default", third, &[], [403, 200, 200, 200]),
        ("kiosk", third, &["--interface", "127.0.0.9"], [200, 200, 200, 403]),
    ];
    for (group, proxy, arguments, expected) in who {
        for (url, expected) in urls.iter().zip(expected) {
            let fetched = curl::through(proxy, &[arguments, &[url]].concat());
            assert_eq!(fetched.status, expected, "{group} {url}: {fetched:?}");
        }
        gateway.until_event(&["\"event_type\":\"verdict\"", &format!("\"group\":\"{group}\"")]);
    }
    let event = gateway.until_event(&["\"group\":\"pupils\"", "\"action\":\"refused\"", "/games/"]);
    assert!(event.contains("bannedurllist:1") && event.contains("\"user\":\"ann\""), "{event}");
}

#[test]
fn a_page_may_have_as_many_points_as_its_group_lets_it() {
    let nginx = Nginx::start();
    let (second, listen) = second_listener("");
    let groups = "[webfilter]\nlists = [\"DIRECTORY/weightedphraselist\"]\nnaughtynesslimit = 100\n\
                  [[policy.group]]\nname = \"young\"\nlisteners = [\"second\"]\nnaughtynesslimit = 50\n";
    let prepare = |directory: &Directory| {
        _ = directory
            .write("weightedphraselist", "#listcategory: \"Gambling\"\n<roulette><40>\n<jackpot><30>\n");
    };
    let gateway = Gateway::http_prepared("", &format!("{listen}{groups}"), prepare);
    wait::until_listening(second);
    for (name, text, expected) in [("one", "roulette", [200, 200]), ("both", "roulette, jackpot", [200, 403])]
    {
        let url = nginx.put(&format!("{name}.html"), format!("<html><body><p>{text}</p></body></html>"));
        let got = [gateway.address, second].map(|proxy| curl::through(proxy, &[&url]).status);
        assert_eq!(got, expected, "{name}");
    }
    gateway.until_event(&["\"group\":\"young\"", "Gambling", "\"replaced\""]);
}

#[test]
fn a_list_holds_in_its_time_and_not_out_of_it() {
    let nginx = Nginx::start();
    // As the system's clock has it where the gateway stands, which is where the test stands; a window never ends within the
    // minute in which it is made up.
    let now: u32 = run(Command::new("date").arg("+%H")).trim().parse().expect("an hour");
    let window = |from: u32| {
        let (from, to) = (from % 24, (from + 2) % 24);
        format!("#time: {from} 0 {to} 59 0123456\n")
    };
    let host = nginx.http.ip();
    let prepare = |directory: &Directory| {
        directory.write("now/bannedurllist", format!("{}{host}/now\n", window(now + 23)));
        directory.write("later/bannedurllist", format!("{}{host}/later\n", window(now + 11)));
    };
    let lists = "[webfilter]\nlists = [\"DIRECTORY/now\", \"DIRECTORY/later\"]";
    let gateway = Gateway::http_prepared("", lists, prepare);
    for (name, expected) in [("now", 403), ("later", 200)] {
        let fetched = ask(&gateway, &[&nginx.put(&format!("{name}/index.html"), "hello")]);
        assert_eq!(fetched.status, expected, "{name}: {fetched:?}");
    }
}

/// The link on a block page.
fn link(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("<p class=\"bypass\"><a href=\"")?;
    Some(rest.split_once('"')?.0.replace("&amp;", "&"))
}

const BYPASS: &str = "[webfilter]\nlists = [\"DIRECTORY/bannedsitelist\"]\n[policy]\nbypass = \"90 s\"";

fn bans_localhost(directory: &Directory) {
    directory.write("bannedsitelist", "#listcategory: \"Games\"\nlocalhost\n");
}

#[test]
fn the_link_past_the_page_leads_there_for_a_while() {
    let nginx = Nginx::start();
    let gateway = Gateway::http_prepared("", BYPASS, bans_localhost);
    let site = format!("http://localhost:{}", nginx.http.port());
    nginx.put("chess", "e4 e5");
    nginx.put("eicar.com", mail::eicar());
    let url = format!("{site}/chess?a=b&c=%20d");
    let page = ask(&gateway, &[&url]);
    assert_eq!(page.status, 403);
    assert!(page.text().contains("Go there for 2 minutes all the same"), "{}", page.text());
    let link = link(&page.text()).expect("the page has a link");
    // Somebody else's is none, nor one that was changed.
    for (arguments, link) in
        [(&["--interface", "127.0.0.8"][..], link.clone()), (&[], link.replace("chess", "xxxxx"))]
    {
        let fetched = ask(&gateway, &[arguments, &[&format!("{site}{link}")]].concat());
        assert_eq!(fetched.status, 403, "{fetched:?}");
        assert!(fetched.text().contains("This link is no longer valid"), "{}", fetched.text());
    }
    assert_eq!(ask(&gateway, &[&url]).status, 403, "nobody has followed it yet");
    let followed = ask(&gateway, &["--location", &format!("{site}{link}")]);
    assert_eq!((followed.status, followed.text().as_str()), (200, "e4 e5"), "{followed:?}");
    assert!(followed.heads.contains(&format!("Location: {url}\r\n")), "{}", followed.heads);
    assert_eq!(ask(&gateway, &[&url]).status, 200);
    gateway.until_event(&["bypass opened", "localhost for 127.0.0.1 for 90 s, group default"]);
    gateway.until_event(&["\"bypassed\":true", "\"action\":\"forwarded\"", "bannedsitelist:2"]);
    // It is this client's alone, and no way round the virus scanner.
    assert_eq!(ask(&gateway, &["--interface", "127.0.0.8", &url]).status, 403);
    let virus = ask(&gateway, &[&format!("{site}/eicar.com")]);
    assert_eq!(virus.status, 403);
    assert!(
        virus.text().contains("Test.Eicar") && !virus.text().contains("class=\"bypass\""),
        "{}",
        virus.text()
    );
}

#[test]
fn the_link_leads_past_the_page_of_an_intercepted_site() {
    let nginx = Nginx::start();
    let port = nginx.https.port();
    nginx.put("chess", "e4 e5");
    let listener = format!("intercept_tls = true\nconnect_ports = [{port}]\n{USERS}");
    let sections = format!("{BYPASS}\n{}", interception(&[nginx.certificate()]));
    let gateway = Gateway::http_prepared(&listener, &sections, |directory| {
        bans_localhost(directory);
        directory.write("users", users());
    });
    let authority = gateway.exported_authority();
    let trust = authority.to_str().expect("text");
    let site = format!("https://localhost:{port}");
    let url = format!("{site}/chess");
    let ask = |credentials: &str, more: &[&str]| {
        curl::through(gateway.address, &[&["--cacert", trust, "-U", credentials], more].concat())
    };
    let (ann, bob) = ("ann:ann's secret", "bob:bob's");
    let page = ask(ann, &[&url]);
    assert_eq!((page.exit, page.status), (0, 403), "{page:?}");
    let link = link(&page.text()).expect("the page has a link");
    assert!(ask(bob, &[&format!("{site}{link}")]).text().contains("This link is no longer valid"));
    let followed = ask(ann, &["--location", &format!("{site}{link}")]);
    assert_eq!((followed.status, followed.text().as_str()), (200, "e4 e5"), "{followed:?}");
    assert!(followed.heads.to_lowercase().contains(&format!("location: {url}\r\n")), "{}", followed.heads);
    assert_eq!(ask(ann, &[&url]).text(), "e4 e5");
    assert_eq!(ask(ann, &["--http1.1", &url]).text(), "e4 e5");
    assert_eq!(ask(bob, &[&url]).status, 403, "the other user of that machine has not followed it");
    gateway.until_event(&["bypass opened", "localhost for 127.0.0.1 (ann)"]);
    let used = gateway.until_event(&["\"verdict\"", "\"status\":302", "lockgate-bypass", "\"user\":\"ann\""]);
    assert!(used.contains("\"action\":\"replaced\""), "{used}");
    let turned = gateway.until_event(&["\"verdict\"", "lockgate-bypass", "\"user\":\"bob\""]);
    assert!(turned.contains("\"action\":\"refused\"") && turned.contains("\"status\":403"), "{turned}");
    let event = gateway.until_event(&["\"bypassed\":true", "\"url\":\"/chess\"", "\"user\":\"ann\""]);
    assert!(event.contains("\"action\":\"forwarded\""), "{event}");
}

#[test]
fn where_policy_gives_no_link_there_is_none() {
    let nginx = Nginx::start();
    let gateway = Gateway::http_prepared("", &BYPASS.replace("bypass", "#"), bans_localhost);
    let site = format!("http://localhost:{}", nginx.http.port());
    let page = ask(&gateway, &[&site]);
    assert_eq!((page.status, link(&page.text())), (403, None));
    let forged = format!("{site}/.well-known/lockgate-bypass?until=99999999999&mark=AAAA&to=/");
    assert!(ask(&gateway, &[&forged]).text().contains("unwanted content: Games"));
}

#[test]
fn the_page_is_in_the_reader_s_language_and_says_whom_to_ask() {
    let page = "[page]\norganisation = \"Grundschule <Nord>\"\ncontact = \"it@schule.example\"\n";
    let gateway = Gateway::http_prepared("", &format!("{page}{BYPASS}"), bans_localhost);
    let german = ask(&gateway, &["-H", "Accept-Language: de-AT,de;q=0.9,en;q=0.5", "http://localhost:1/"]);
    assert!(german.heads.contains("Content-Language: de\r\n"), "{}", german.heads);
    for words in [
        "<html lang=\"de\">",
        "<title>Seite gesperrt</title>",
        "unerwünschter Inhalt: Games",
        "Grundschule &lt;Nord&gt;",
        "<a href=\"mailto:it@schule.example\">it@schule.example</a>",
        "Trotzdem 2 Minuten lang dorthin",
    ] {
        assert!(german.text().contains(words), "{words}: {}", german.text());
    }
    let english = ask(&gateway, &["-H", "Accept-Language: en-GB;q=0.9, de;q=0.8", "http://localhost:1/"]);
    assert!(english.text().contains("<html lang=\"en\">") && english.text().contains("Page blocked"));
    // What is only there in English says so.
    let failed = ask(&gateway, &["-H", "Accept-Language: de", "http://127.0.0.1:1/"]);
    assert!(failed.text().contains("Keine Antwort vom Server") && failed.text().contains("<li lang=\"en\">"));
}

#[test]
fn a_page_of_the_organisation_s_own() {
    let sections = format!("[page]\ntemplate = \"DIRECTORY/page.html\"\n{BYPASS}");
    let prepare = |directory: &Directory| {
        bans_localhost(directory);
        directory.write("page.html", "<!DOCTYPE html><p>{{title}}: {{address}} ({{id}})</p>{{reasons}}");
    };
    let mut gateway = Gateway::http_prepared("", &sections, prepare);
    let page = || curl::through(gateway.address, &["http://localhost:1/<b>"]).text();
    assert!(page().starts_with("<!DOCTYPE html><p>Page blocked: http://localhost:1/"), "{}", page());
    assert!(page().contains("<li>unwanted content: Games</li>") && !page().contains("<b>"), "{}", page());
    gateway.directory().write("page.html", "<p>\n{{titel}}</p>");
    reload(&mut gateway, "page.html:2: \"titel\" stands for nothing", 1);
    let page = curl::through(gateway.address, &["http://localhost:1/"]).text();
    assert!(page.contains("Page blocked"), "what was loaded goes on: {page}");
}

#[test]
fn what_is_broken_on_reload_changes_nothing() {
    let nginx = Nginx::start();
    let lists = "[webfilter]\nlists = [\"DIRECTORY/bannedsitelist\"]\n";
    let mut gateway = Gateway::http_prepared(USERS, lists, |directory| {
        directory.write("users", users());
        bans_localhost(directory);
    });
    let url = nginx.put("page.html", "hello");
    let listed = format!("http://localhost:{}/page.html", nginx.http.port());
    let serves = |gateway: &Gateway, what: &str| {
        for (credentials, url, expected) in
            [("ann:ann's secret", &url, 200), ("ann:ann's secret", &listed, 403), ("eve:eve", &url, 407)]
        {
            assert_eq!(
                ask(gateway, &["-U", credentials, url]).status,
                expected,
                "{what}: {credentials} {url}"
            );
        }
    };
    serves(&gateway, "at first");
    let broken: [(&str, &str, &str); 4] = [
        ("users", "ann:plain\n", "users:1: this is no hash that is known"),
        ("users", "", "users: there is no user in it"),
        ("bannedsitelist", "<html>\n<p>404\n", "bannedsitelist:1: none of the file's lines can be used"),
        ("bannedsitelist", "a.example\n.Include<gone>\n", "bannedsitelist:2: gone: cannot be read"),
    ];
    for (name, content, words) in broken {
        let good = std::fs::read(gateway.directory().join(name)).expect("it is there");
        gateway.directory().write(name, content);
        reload(&mut gateway, words, 1);
        serves(&gateway, words);
        gateway.directory().write(name, good);
    }
    gateway.directory().write("users", user(&["-nbs", "eve", "eve"]));
    reload(&mut gateway, "reloaded: ", 1);
    assert_eq!(ask(&gateway, &["-U", "eve:eve", &url]).status, 200);
    assert_eq!(ask(&gateway, &["-U", "ann:ann's secret", &url]).status, 407, "she is no user any more");
}
