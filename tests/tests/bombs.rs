//! Content that grows. Rule: each bomb ends with a word about it, and nobody else waits for it.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::process::run;
use lockgate_tests::smtp::Client;
use lockgate_tests::temporary::Directory;
use lockgate_tests::{mail, wait};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";

/// So many zeros through a compressor.
fn zeros(mebibytes: usize, compressor: &str) -> Vec<u8> {
    let directory = Directory::new("bomb");
    let line = format!("head -c {mebibytes}M /dev/zero | {compressor} -9 > bomb");
    run(Command::new("sh").args(["-ec", &line]).current_dir(directory.path()));
    std::fs::read(directory.join("bomb")).expect("it was made")
}

#[test]
fn fifty_bombs_hold_up_nobody() {
    // Streams of bzip2 may stand one behind the other: some 90 GB in 90 KB.
    let bomb = mail::with_attachment("bomb", "bomb.bz2", &zeros(44, "bzip2").repeat(2000));
    let gateway = Gateway::with_maildir("connections_per_client_max = 1000", "");
    // What else the machine does can only make it slower, so one round of three is enough to show it.
    let rounds: Vec<Duration> = (0..3).map(|_| p99_beside(&gateway, &bomb)).collect();
    assert!(rounds.iter().any(|p99| *p99 < Duration::from_millis(100)), "p99 {rounds:?}");
}

/// Mails of 4 KB while fifty clients send bombs.
fn p99_beside(gateway: &Gateway, bomb: &[u8]) -> Duration {
    let stop = AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    let told = || {
        let is_told = |event: &&String| event.contains("\"expansion\"") && event.contains("bomb.bz2");
        gateway.events().iter().filter(is_told).count()
    };
    let told_before = told();
    let mut latencies = thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let mut client = Client::greeted(gateway.address);
                while !stop.load(Ordering::SeqCst) {
                    let reply = client.mail(ANN, &[BOB], bomb);
                    assert_eq!(reply.code, 250, "tagged, by default: {reply:?}");
                    ended.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let mut latencies = Vec::new();
        let mut client = Client::greeted(gateway.address);
        let small = mail::with_attachment("small", "noise.bin", &mail::noise(1, 2600));
        while ended.load(Ordering::SeqCst) < 50 || latencies.len() < 300 {
            let started = Instant::now();
            assert_eq!(client.mail(ANN, &[BOB], &small).code, 250);
            latencies.push(started.elapsed());
        }
        stop.store(true, Ordering::SeqCst);
        latencies
    });
    let bombs = ended.load(Ordering::SeqCst);
    wait::until("each bomb ends incomplete", || (told() - told_before == bombs).then_some(()));
    latencies.sort();
    let p99 = latencies[latencies.len() * 99 / 100];
    let median = latencies[latencies.len() / 2];
    println!("{} mails beside {bombs} bombs: median {median:?}, p99 {p99:?}", latencies.len());
    p99
}

#[test]
fn a_zip_bomb_costs_little_memory_and_time() {
    let gateway = Gateway::with_maildir("", "");
    let layer = mail::zip_of_gzip("zeros", &zeros(300, "gzip"));
    let nested = (0..4).fold(layer.clone(), |content, level| mail::zip(&format!("{level}.zip"), &content));
    for bomb in [layer, nested] {
        let started = Instant::now();
        let reply = Client::greeted(gateway.address).mail(
            ANN,
            &[BOB],
            &mail::with_attachment("x", "bomb.zip", &bomb),
        );
        assert_eq!(reply.code, 250, "{reply:?}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert!(gateway.resident_peak_kib() < 256 << 10, "{} KiB", gateway.resident_peak_kib());
    }
    let told = || gateway.events().iter().filter(|event| event.contains("\"expansion\"")).count();
    wait::until("each bomb is told as incomplete", || (told() == 2).then_some(()));
}
