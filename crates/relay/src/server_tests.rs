//! The threads over loopback: limits, placement, drain. Rule: whoever connects gets an answer.

use super::*;
use crate::settings::{NextHop, Settings};
use lockgate_inspect::{Generation, Policy};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn serve_pop3(change: impl FnOnce(&mut Settings)) -> Running {
    let address = "127.0.0.1:0".parse().unwrap();
    // Nothing listens on port 1: a session ends as soon as it dials.
    let listener = Listener::new("test", Speaks::Pop3, address, NextHop::Address("127.0.0.1:1".to_owned()));
    let mut settings = Settings { listeners: vec![listener], threads: 2, ..Settings::default() };
    change(&mut settings);
    let generation = Generation {
        number: 1,
        databases: Vec::new(),
        policy: Arc::new(Policy::default()),
        limits: Arc::default(),
    };
    start(Shared::new(settings, Arc::new(generation)).unwrap(), None).unwrap()
}

fn greeting(address: SocketAddr) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn over_the_limit_the_client_is_answered() {
    for limit in [(|s: &mut Settings| s.connections_max = 0) as fn(&mut Settings), |s: &mut Settings| {
        s.listeners[0].connections_per_client_max = 0
    }] {
        let running = serve_pop3(limit);
        for _ in 0..50 {
            assert_eq!(
                greeting(running.addresses()[0]),
                "-ERR [SYS/TEMP] too many connections, come again later\r\n"
            );
        }
        assert_eq!(running.shared().counts.refused.load(Ordering::Relaxed), 50);
        running.drain();
        running.join();
    }
}

#[test]
fn a_drain_ends_when_nothing_is_left() {
    let running = serve_pop3(|_| {});
    assert!(greeting(running.addresses()[0]).starts_with("-ERR"));
    let began = Instant::now();
    running.drain();
    running.join();
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_proxied_client_is_counted_by_its_own_address() {
    let running = serve_pop3(|settings| {
        settings.listeners[0].accept_proxy_from = vec!["127.0.0.0/8".parse().unwrap()];
        settings.listeners[0].connections_per_client_max = 1;
        settings.listeners[0].timeouts.connect = Duration::from_secs(10);
        // Takes connections and says nothing: sessions stay open.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        settings.listeners[0].next_hop = NextHop::Address(silent.local_addr().unwrap().to_string());
        std::mem::forget(silent);
    });
    let connect = |header: &str| {
        let mut stream = std::net::TcpStream::connect(running.addresses()[0]).unwrap();
        stream.write_all(header.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    };
    let first = connect("PROXY TCP4 192.0.2.1 198.51.100.1 4711 110\r\n");
    let other = connect("PROXY TCP4 192.0.2.2 198.51.100.1 4711 110\r\n");
    let began = Instant::now();
    while running.shared().clients.taken() < 2 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    let mut said = String::new();
    connect("PROXY TCP4 192.0.2.1 198.51.100.1 4712 110\r\n").read_to_string(&mut said).unwrap();
    assert_eq!(said, "-ERR [SYS/TEMP] too many connections, come again later\r\n");
    said.clear();
    connect("USER somebody\r\n").read_to_string(&mut said).unwrap_or_default();
    assert_eq!(said, "", "a trusted proxy that sends no header is not served");
    drop((first, other));
    running.stop();
    running.join();
}
