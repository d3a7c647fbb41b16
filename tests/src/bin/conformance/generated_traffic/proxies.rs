//! The conversations of HTTP and SMTP through the gateway's proxies. Rule: the client's address says which conversation it is.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::spoken::Speaker;
use super::{Alerts, Conversation, wire};
use lockgate_tests::gateway::Gateway;
use lockgate_tests::smtp::Client;
use lockgate_tests::temporary::Directory;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// The second number of the addresses of web clients, and of mail clients.
const WEB: u8 = 1;
const MAIL: u8 = 2;

fn address(second: u8, at: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, second, (at / 250) as u8, (at % 250 + 1) as u8)
}

fn sections(place: &Directory) -> String {
    let rules = place.join("rules/anybody.rules");
    format!("[ids]\nrules = [{rules:?}]\n[policy.findings]\nalert = \"pass\"\n")
}

/// Each exchange of HTTP, asked for through the web proxy.
pub fn web(place: &Directory, conversations: &[Conversation]) -> Alerts {
    let next: Arc<Mutex<Vec<u8>>> = Arc::default();
    let origin = serve(Arc::clone(&next));
    let gateway = Gateway::http(&format!("upstream = \"http://{origin}\"\n"), &sections(place));
    for (at, conversation) in conversations.iter().enumerate().filter(|(_, its)| its.rule.protocol == "http")
    {
        let [(_, request), (_, response)] = conversation.spoken.turns.as_slice() else { continue };
        next.lock().expect("nobody panics").clone_from(response);
        fetch(gateway.address, address(WEB, at), &to_proxy(request));
    }
    thread::sleep(Duration::from_millis(300));
    wire::by_client(&gateway.events(), WEB)
}

/// An origin that answers every request with what is next.
fn serve(next: Arc<Mutex<Vec<u8>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let next = Arc::clone(&next);
            thread::spawn(move || answer(client, &next));
        }
    });
    address
}

fn answer(mut client: TcpStream, next: &Mutex<Vec<u8>>) {
    let (mut held, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(bytes @ 1..) = client.read(&mut piece) {
        held.extend_from_slice(&piece[..bytes]);
        if let Some(head) = end_of_head(&held)
            && held.len() >= head + length_of_body(&held[..head])
        {
            held.clear();
            let response = next.lock().expect("nobody panics").clone();
            if client.write_all(&response).is_err() {
                return;
            }
        }
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn length_of_body(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.unwrap_or(0)
}

/// A request as a client puts it to a proxy (RFC 9112 section 3.2.2).
fn to_proxy(request: &[u8]) -> Vec<u8> {
    let head = String::from_utf8_lossy(request);
    let host = head.lines().skip(1).take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
    });
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| String::from("www.example.com"));
    let at = request.iter().position(|byte| *byte == b' ').map_or(0, |at| at + 1);
    [&request[..at], b"http://", host.as_bytes(), &request[at..]].concat()
}

/// Sends a request and reads whatever comes.
fn fetch(gateway: SocketAddr, from: Ipv4Addr, request: &[u8]) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((from, 0)).into()).expect("all of 127.0.0.0/8 is ours");
    socket.connect(&gateway.into()).expect("the gateway listens");
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    let _ = stream.write_all(request);
    let (mut held, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(bytes @ 1..) = stream.read(&mut piece) {
        held.extend_from_slice(&piece[..bytes]);
        if let Some(head) = end_of_head(&held)
            && held.len() >= head + length_of_body(&held[..head])
        {
            return;
        }
    }
}

/// Each mail, sent through the mail proxy.
pub fn mail(place: &Directory, conversations: &[Conversation]) -> Alerts {
    let gateway = Gateway::with_maildir("", &sections(place));
    for (at, conversation) in conversations.iter().enumerate().filter(|(_, its)| its.rule.protocol == "smtp")
    {
        let mut client = Client::connect_from(address(MAIL, at), gateway.address);
        let _ = client.try_reply();
        for (_, said) in conversation.spoken.turns.iter().filter(|(speaker, _)| *speaker == Speaker::Client) {
            client.send(said);
            if client.try_reply().is_err() {
                break;
            }
        }
    }
    thread::sleep(Duration::from_millis(300));
    wire::by_client(&gateway.events(), MAIL)
}
