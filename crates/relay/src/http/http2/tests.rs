//! HTTP/2 over loopback: the library's own client against a gateway under TLS. Rule: what becomes of one stream, however
//! bad, is not seen on another.

use super::limits;
use crate::server::{self, Running};
use crate::settings::{Certificate, Listener, NextHop, Settings, Speaks, Tls, Verify};
use crate::shared::Shared;
use crate::stream::Stream;
use crate::testing::Words;
use crate::tls;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use lockgate_inspect::{Generation, Policy};
use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

/// More than the gateway of these tests holds, and than any window.
const LONG_BYTES: usize = 600_000;

/// A server that speaks HTTP/1.1 and answers by the path.
pub fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    let (mut seen, mut piece) = (Vec::new(), [0; 65_536]);
    loop {
        let Some(head_bytes) = seen.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
        else {
            match stream.read(&mut piece) {
                Ok(count @ 1..) => seen.extend_from_slice(&piece[..count]),
                _ => return,
            }
            continue;
        };
        let head = String::from_utf8(seen.drain(..head_bytes).collect()).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let mut body = seen.split_off(0);
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            while !body.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece).unwrap();
                body.extend_from_slice(&piece[..count]);
            }
        }
        let clean = "0123456789".repeat(LONG_BYTES / 10);
        if path == "/trailers" {
            let _ = stream.write_all(&trailing(&[head.as_bytes(), &body].concat()));
            continue;
        }
        let answer = match path.as_str() {
            "/bad" => "WORM".to_owned(),
            "/late" => format!("{clean}WORM"),
            "/long" => clean,
            "/head" => head,
            "/upload" => body.iter().filter(|byte| **byte == b'u').count().to_string(),
            "/silent" => {
                let _ = stream.read(&mut piece);
                return;
            }
            _ => format!("this is {path}"),
        };
        let head = format!("HTTP/1.1 200 OK\r\nX-Mine: 1\r\nContent-Length: {}\r\n\r\n", answer.len());
        if stream.write_all(&[head.as_bytes(), answer.as_bytes()].concat()).is_err() {
            return;
        }
    }
}

/// An answer in chunks that says what was asked, and fields behind it of which one goes on.
fn trailing(asked: &[u8]) -> Vec<u8> {
    let head =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Hop\r\nConnection: x-hop\r\n\r\n";
    let behind = "\r\n0\r\nX-Sum: 42\r\nX-Hop: 1\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\n";
    [head.as_bytes(), format!("{:x}\r\n", asked.len()).as_bytes(), asked, behind.as_bytes()].concat()
}

/// A gateway behind TLS.
pub struct Gate {
    running: Running,
    directory: PathBuf,
}

impl Gate {
    pub fn start(name: &str, change: impl FnOnce(&mut Listener)) -> Self {
        let directory = std::env::temp_dir().join(format!("lockgate-http2-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = Certificate { chain: directory.join("chain.pem"), key: directory.join("key.pem") };
        std::fs::write(&certificate.chain, made.cert.pem()).unwrap();
        std::fs::write(&certificate.key, made.signing_key.serialize_pem()).unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let mut listener = Listener::new("http", Speaks::Http, address, NextHop::Original);
        (listener.tls, listener.certificate) = (Tls::Implicit, Some(certificate));
        (listener.hold_bytes, listener.tail_bytes) = (4096, 1024);
        change(&mut listener);
        let hostname = "gate".to_owned();
        let settings = Settings { listeners: vec![listener], threads: 1, hostname, ..Settings::default() };
        let (policy, limits) = (Arc::new(Policy::default()), Arc::default());
        let generation = Generation { number: 1, databases: vec![Arc::new(Words)], policy, limits };
        let running = server::start(Shared::new(settings, Arc::new(generation)).unwrap(), None).unwrap();
        Self { running, directory }
    }

    pub fn over(self) {
        self.running.stop();
        self.running.join();
        let _ = std::fs::remove_dir_all(self.directory);
    }

    /// A client's connection, up to where HTTP/2 was agreed on.
    pub async fn secured(&self) -> Stream {
        let tcp = tokio::net::TcpStream::connect(self.running.addresses()[0]).await.unwrap();
        let mut config = Arc::unwrap_or_clone(tls::client_config(Verify::Nothing, None).unwrap());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut stream = Stream::new(tcp);
        let name = tls::server_name("localhost").unwrap();
        stream.start_tls_connect(Arc::new(config), name).await.unwrap();
        assert_eq!(stream.alpn(), Some(&b"h2"[..]));
        stream
    }

    /// A client's connection.
    async fn connect(&self) -> Client {
        let stream = self.secured().await;
        let mut builder = h2::client::Builder::new();
        builder.initial_connection_window_size(1 << 20);
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        let driver = spawn_local(connection);
        Client { requests, driver }
    }
}

struct Client {
    requests: SendRequest<Bytes>,
    driver: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

impl Client {
    async fn send(&self, request: Request<()>, ends: bool) -> (ResponseFuture, SendStream<Bytes>) {
        self.requests.clone().ready().await.unwrap().send_request(request, ends).unwrap()
    }

    async fn get(&self, origin: SocketAddr, path: &str) -> Response<RecvStream> {
        let request = Request::get(format!("http://{origin}{path}")).body(()).unwrap();
        self.send(request, true).await.0.await.unwrap()
    }
}

/// The whole content, or how it was broken off.
async fn content(response: Response<RecvStream>) -> Result<String, h2::Error> {
    let (mut stream, mut all) = (response.into_body(), Vec::new());
    while let Some(bytes) = stream.data().await {
        let bytes = bytes?;
        stream.flow_control().release_capacity(bytes.len()).unwrap();
        all.extend_from_slice(&bytes);
    }
    Ok(String::from_utf8(all).unwrap())
}

pub fn on_one_thread(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limit = Duration::from_secs(60);
    LocalSet::new().block_on(&runtime, async { tokio::time::timeout(limit, work).await }).unwrap();
}

#[test]
fn a_stream_is_an_exchange() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("exchange", |_| {}), origin());
        let client = gate.connect().await;
        let response = client.get(origin, "/page").await;
        assert_eq!(response.status(), 200);
        let value = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(
            (value("via"), value("x-mine"), value("content-length"), value("connection")),
            (Some("1.1 gate"), Some("1"), Some("13"), None)
        );
        assert_eq!(content(response).await.unwrap(), "this is /page");
        let seen = content(client.get(origin, "/head").await).await.unwrap();
        let expected = format!(
            "GET /head HTTP/1.1\r\nHost: {origin}\r\nAccept-Encoding: identity\r\nVia: 2 gate\r\n\r\n"
        );
        assert_eq!(seen, expected);
        let bad = client.get(origin, "/bad").await;
        assert_eq!(bad.status(), 403);
        assert!(content(bad).await.unwrap().contains("Test.Worm"));
        let head = Request::head(format!("http://{origin}/bad")).body(()).unwrap();
        let nothing = client.send(head, true).await.0.await.unwrap();
        assert_eq!((nothing.status().as_u16(), content(nothing).await.unwrap().len()), (200, 0));
        drop(client);
        gate.over();
    });
}

#[test]
fn what_cannot_be_served_is_answered() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("refused", |_| {}), origin());
        let client = gate.connect().await;
        let get = |uri: String| Request::get(uri).body(()).unwrap();
        let mut differs = get(format!("http://{origin}/"));
        differs.headers_mut().insert("host", "b.example".parse().unwrap());
        let cases = [
            (get("https://a.example/".to_owned()), 501, "by CONNECT"),
            (get(format!("http://{}/{}", origin, "x".repeat(20_000))), 414, "too long"),
            (differs, 400, "Host is not"),
        ];
        for (request, status, words) in cases {
            let response = client.send(request, true).await.0.await.unwrap();
            assert_eq!(response.status(), status);
            let page = content(response).await.unwrap();
            assert!(page.contains(words), "{page}");
        }
        drop(client);
        gate.over();
    });
}

#[test]
fn an_upload_is_inspected_and_goes_on() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("upload", |_| {}), origin());
        let client = gate.connect().await;
        for (tail, status) in [("", 200), ("WORM", 403)] {
            let request = Request::post(format!("http://{origin}/upload")).body(()).unwrap();
            let (response, mut stream) = client.send(request, false).await;
            let mut left = Bytes::from("u".repeat(LONG_BYTES) + tail);
            let sending = async {
                while !left.is_empty() {
                    stream.reserve_capacity(left.len());
                    let Some(Ok(room)) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else {
                        return;
                    };
                    let piece = left.split_to(room.min(left.len()));
                    if stream.send_data(piece, left.is_empty()).is_err() {
                        return;
                    }
                }
            };
            let (response, ()) = tokio::join!(response, sending);
            let response = response.unwrap();
            assert_eq!(response.status(), status);
            let body = content(response).await.unwrap();
            assert!(if status == 200 { body == LONG_BYTES.to_string() } else { body.contains("Test.Worm") });
        }
        drop(client);
        gate.over();
    });
}

#[test]
fn what_is_bad_late_breaks_its_own_stream_only() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("late", |_| {}), origin());
        let client = gate.connect().await;
        let long = client.get(origin, "/long").await;
        let late = client.get(origin, "/late").await;
        assert_eq!((long.status().as_u16(), late.status().as_u16()), (200, 200));
        let (long, late) = tokio::join!(content(long), content(late));
        assert_eq!(late.unwrap_err().reason(), Some(Reason::INTERNAL_ERROR));
        assert_eq!(long.unwrap().len(), LONG_BYTES);
        assert_eq!(content(client.get(origin, "/x").await).await.unwrap(), "this is /x");
        drop(client);
        gate.over();
    });
}

#[test]
fn streams_go_beside_one_another_and_none_waits_for_a_slow_reader() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("beside", |_| {}), origin());
        let client = Rc::new(gate.connect().await);
        // Nobody reads these, so each stops where its window is spent.
        let mut unread = Vec::new();
        for _ in 0..8 {
            unread.push(client.get(origin, "/long").await);
        }
        let tasks: Vec<_> = (0..200)
            .map(|number| {
                let client = Rc::clone(&client);
                spawn_local(async move { content(client.get(origin, &format!("/{number}")).await).await })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap().unwrap(), format!("this is /{number}"));
        }
        for response in unread {
            assert_eq!(content(response).await.unwrap().len(), LONG_BYTES);
        }
        drop(client);
        gate.over();
    });
}

#[test]
fn who_resets_without_end_is_left() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("resets", |_| {}), origin());
        let client = gate.connect().await;
        let mut sent = 0;
        let left = loop {
            let Ok(mut requests) = client.requests.clone().ready().await else { break true };
            let request = Request::get(format!("http://{origin}/silent")).body(()).unwrap();
            let Ok((response, mut stream)) = requests.send_request(request, true) else { break true };
            sent += 1;
            stream.send_reset(Reason::CANCEL);
            drop((response, stream));
            tokio::task::yield_now().await;
            if sent > 100 * limits::RESETS_MAX {
                break false;
            }
        };
        assert!(left, "{sent} resets");
        // Why, may have been lost to the reset that answers what still came.
        let why = client.driver.await.unwrap().unwrap_err();
        assert!(why.is_io() || why.reason() == Some(Reason::ENHANCE_YOUR_CALM), "{why} after {sent}");
        // The gateway goes on.
        let client = gate.connect().await;
        assert_eq!(content(client.get(origin, "/x").await).await.unwrap(), "this is /x");
        gate.over();
    });
}

#[test]
fn a_connection_at_rest_ends_in_order() {
    on_one_thread(async {
        let origin = origin();
        let short = Duration::from_millis(100);
        let gate = Gate::start("rest", |listener| listener.timeouts.command = short);
        let client = gate.connect().await;
        let Client { requests, driver } = client;
        driver.await.unwrap().unwrap();
        drop(requests);
        gate.over();
        let gate = Gate::start("drain", |_| {});
        let client = gate.connect().await;
        assert_eq!(content(client.get(origin, "/x").await).await.unwrap(), "this is /x");
        gate.running.drain();
        client.driver.await.unwrap().unwrap();
        gate.running.join();
        let _ = std::fs::remove_dir_all(gate.directory);
    });
}

#[test]
fn a_tunnel_leads_through_a_stream() {
    on_one_thread(async {
        let origin = origin();
        let gate = Gate::start("tunnel", |listener| listener.connect_ports = vec![origin.port()]);
        let client = gate.connect().await;
        let connect = |port: u16| {
            let mut request = Request::new(());
            *request.method_mut() = http::Method::CONNECT;
            *request.uri_mut() = format!("127.0.0.1:{port}").parse().unwrap();
            request
        };
        let (response, mut up) = client.send(connect(origin.port()), false).await;
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200);
        let words = format!("GET /through HTTP/1.1\r\nHost: {origin}\r\n\r\n");
        up.send_data(words.into(), false).unwrap();
        let (mut down, mut seen) = (response.into_body(), Vec::new());
        while !seen.ends_with(b"this is /through") {
            seen.extend_from_slice(&down.data().await.unwrap().unwrap());
        }
        // Each end is passed on: the server closes when it hears of ours.
        up.send_data(Bytes::new(), true).unwrap();
        assert!(down.data().await.is_none_or(|bytes| bytes.unwrap().is_empty()));
        let (response, _up) = client.send(connect(1), false).await;
        let response = response.await.unwrap();
        assert_eq!(response.status(), 403);
        assert!(content(response).await.unwrap().contains("CONNECT to port 1 is not allowed"));
        drop(client);
        gate.over();
    });
}

#[test]
fn trailers_go_on_in_both_directions() {
    on_one_thread(async {
        let (gate, origin) = (Gate::start("trailers", |_| {}), origin());
        let client = gate.connect().await;
        let name = |name: &'static str| http::HeaderName::from_static(name);
        for (value, says_te, status) in [("7", true, 200), ("7", false, 200), (&"7".repeat(9000), true, 431)]
        {
            let mut request = Request::post(format!("http://{origin}/trailers")).body(()).unwrap();
            request.headers_mut().insert("trailer", "x-sent, cookie".parse().unwrap());
            if says_te {
                request.headers_mut().insert("te", "trailers".parse().unwrap());
            }
            let (response, mut stream) = client.send(request, false).await;
            stream.send_data("hello".into(), false).unwrap();
            let trailers =
                [(name("x-sent"), value.parse().unwrap()), (name("cookie"), "a=b".parse().unwrap())];
            stream.send_trailers(trailers.into_iter().collect()).unwrap();
            let response = response.await.unwrap();
            assert_eq!(response.status(), status);
            if status != 200 {
                continue;
            }
            assert_eq!(response.headers().get("trailer").unwrap(), "X-Sum");
            let (mut stream, mut seen) = (response.into_body(), Vec::new());
            while let Some(bytes) = stream.data().await {
                seen.extend_from_slice(&bytes.unwrap());
            }
            let seen = String::from_utf8(seen).unwrap();
            let te = if says_te { "Connection: TE\r\nTE: trailers\r\n" } else { "" };
            let expected = format!(
                "POST /trailers HTTP/1.1\r\nHost: {origin}\r\nAccept-Encoding: identity\r\nVia: 2 gate\r\n{te}\
                 Trailer: x-sent\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-sent: 7\r\n\r\n"
            );
            assert_eq!(seen, expected);
            let trailers = stream.trailers().await.unwrap().unwrap();
            let expected = [(name("x-sum"), "42".parse().unwrap())];
            assert_eq!(trailers, expected.into_iter().collect());
        }
        drop(client);
        gate.over();
    });
}
