//! The threads over loopback: limits, placement, drain. Rule: whoever connects gets an answer.

use super::*;
use crate::settings::{NextHop, Settings};
use lockgate_inspect::{Generation, Policy};
use std::io::Read;
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
    start(Shared::new(settings, Arc::new(generation)).unwrap()).unwrap()
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
