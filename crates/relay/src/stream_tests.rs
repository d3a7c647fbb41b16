//! Streams over loopback, plain and under TLS. Rule: what goes in comes out, and nothing is kept once it has.

use super::*;
use crate::settings::{Certificate, Verify};
use crate::tls;
use tokio::net::TcpListener;

async fn pair() -> (Stream, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (Stream::new(listener.accept().await.unwrap().0), Stream::new(connected))
}

async fn read_some(stream: &mut Stream) -> Option<Vec<u8>> {
    loop {
        let (outcome, bytes) = with_scratch(|scratch| {
            let outcome = stream.try_read(scratch).unwrap();
            let count = if let ReadOutcome::Bytes(count) = outcome { count } else { 0 };
            (outcome, scratch[..count].to_vec())
        });
        match outcome {
            ReadOutcome::Bytes(_) => return Some(bytes),
            ReadOutcome::End => return None,
            ReadOutcome::WouldBlock => stream.readable().await.unwrap(),
        }
    }
}

async fn read_exactly(stream: &mut Stream, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(read_some(stream).await.unwrap());
    }
    assert_eq!(all.len(), count);
    all
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 % 251) as u8).collect()
}

/// A certificate for `localhost` in two files of its own.
fn certificate(name: &str) -> Certificate {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = |end: &str| std::env::temp_dir().join(format!("lockgate-{name}-{}.{end}", std::process::id()));
    let certificate = Certificate { chain: file("crt"), key: file("key") };
    std::fs::write(&certificate.chain, made.cert.pem()).unwrap();
    std::fs::write(&certificate.key, made.signing_key.serialize_pem()).unwrap();
    certificate
}

#[tokio::test]
async fn a_plain_stream_carries_more_than_the_socket_takes_at_once() {
    let (mut a, mut b) = pair().await;
    let content = pattern(8 << 20);
    a.queue(b"first ").unwrap();
    a.write_parts(&[b"second ", b"third ", &content]).unwrap();
    assert!(a.pending_bytes() > 0);
    a.write(b" last").unwrap();
    let (flushed, read) =
        tokio::join!(a.flush(), read_exactly(&mut b, b"first second third  last".len() + content.len()));
    flushed.unwrap();
    assert!(read.starts_with(b"first second third ") && read.ends_with(b" last"));
    assert!(read[19..][..content.len()] == content);
    assert_eq!(a.pending_bytes(), 0);
    drop(a);
    assert_eq!(read_some(&mut b).await, None);
}

/// Who stops reading because too much waits, waits for this and for nothing else.
#[tokio::test]
async fn what_goes_out_at_once_is_told_to_who_waits_for_it() {
    let (mut a, mut b) = Stream::pair().unwrap();
    while a.pending_bytes() == 0 {
        a.write(&pattern(64 << 10)).unwrap();
    }
    // The other side takes all that the socket has before anybody looks.
    b.readable().await.unwrap();
    while with_scratch(|scratch| b.try_read(scratch).unwrap()) != ReadOutcome::WouldBlock {}
    a.socket.ready(Interest::WRITABLE).await.unwrap();
    let waits = a.ready(Reading::Unwanted);
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it is told").unwrap();
    assert_eq!(a.pending_bytes(), 0);
}

#[tokio::test]
async fn what_is_put_back_is_read_again_first() {
    let (mut a, mut b) = pair().await;
    a.write(b"one two three").unwrap();
    let read = read_exactly(&mut b, 13).await;
    b.unread(&read[4..]);
    b.readable().await.unwrap();
    let mut small = [0; 4];
    assert_eq!(b.try_read(&mut small).unwrap(), ReadOutcome::Bytes(4));
    assert_eq!(&small, b"two ");
    b.unread(b"o ");
    a.write(b" four").unwrap();
    assert_eq!(read_exactly(&mut b, 7).await, b"o three");
    assert_eq!(read_exactly(&mut b, 5).await, b" four");
    assert_eq!(b.try_read(&mut small).unwrap(), ReadOutcome::WouldBlock);
}

#[tokio::test]
async fn tls_carries_both_ways_and_forgets_what_came_before_it() {
    let certificate = certificate("both-ways");
    let server = tls::server_config(&certificate, &[]).unwrap();
    let client = tls::client_config(Verify::Name, Some(&certificate.chain)).unwrap();
    let (mut a, mut b) = pair().await;
    a.unread(b"RSET\r\n");
    let name = tls::server_name("localhost").unwrap();
    let (accepted, connected) = tokio::join!(a.start_tls_accept(server), b.start_tls_connect(client, name));
    accepted.unwrap();
    connected.unwrap();
    assert_eq!(a.tls_info().unwrap().server_name.as_deref(), Some("localhost"));
    assert_eq!(b.tls_info().unwrap().version, "TLSv1.3");
    let content = pattern(3 << 20);
    for (from, to) in [(0, 1), (1, 0)] {
        let mut ends = [&mut a, &mut b];
        let [from, to] = ends.get_disjoint_mut([from, to]).unwrap();
        from.write_parts(&[b"head", &content]).unwrap();
        let (flushed, read) = tokio::join!(from.flush(), read_exactly(to, content.len() + 4));
        flushed.unwrap();
        assert!(read[4..] == content);
    }
    let (_, end) = tokio::join!(a.close(Duration::from_secs(5)), async {
        let end = read_some(&mut b).await;
        drop(b);
        end
    });
    assert_eq!(end, None);
}

#[tokio::test]
async fn tls_reads_into_a_small_buffer_without_losing_a_byte() {
    let certificate = certificate("small");
    let server = tls::server_config(&certificate, &[]).unwrap();
    let client = tls::client_config(Verify::Nothing, None).unwrap();
    let (mut a, mut b) = pair().await;
    let name = tls::server_name("other.example").unwrap();
    let (accepted, connected) = tokio::join!(a.start_tls_accept(server), b.start_tls_connect(client, name));
    accepted.unwrap();
    connected.unwrap();
    let content = pattern(300_000);
    a.write(&content).unwrap();
    let read = async {
        let mut read = Vec::new();
        let mut small = [0; 1000];
        while read.len() < content.len() {
            match b.try_read(&mut small).unwrap() {
                ReadOutcome::Bytes(count) => read.extend_from_slice(&small[..count]),
                ReadOutcome::WouldBlock => b.readable().await.unwrap(),
                ReadOutcome::End => break,
            }
        }
        read
    };
    let (flushed, read) = tokio::join!(a.flush(), read);
    flushed.unwrap();
    assert!(read == content);
}

#[tokio::test]
async fn a_wrong_name_or_no_tls_at_all_is_an_error_and_not_a_wait() {
    let certificate = certificate("wrong");
    let server = tls::server_config(&certificate, &[]).unwrap();
    let client = tls::client_config(Verify::Name, Some(&certificate.chain)).unwrap();
    let (mut a, mut b) = pair().await;
    let name = tls::server_name("other.example").unwrap();
    let (accepted, connected) =
        tokio::join!(a.start_tls_accept(Arc::clone(&server)), b.start_tls_connect(client, name));
    assert!(accepted.is_err() && connected.is_err());
    let (mut a, mut b) = pair().await;
    b.write(b"EHLO there, no TLS here\r\n").unwrap();
    assert!(a.start_tls_accept(Arc::clone(&server)).await.is_err());
    let (mut a, b) = pair().await;
    drop(b);
    assert!(a.start_tls_accept(server).await.is_err());
}

#[test]
fn a_broken_certificate_names_its_file() {
    let certificate = certificate("broken");
    let missing = Certificate { chain: "/nowhere/chain.pem".into(), ..certificate.clone() };
    assert!(tls::server_config(&missing, &[]).unwrap_err().to_string().starts_with("/nowhere/chain.pem: "));
    let swapped = Certificate { chain: certificate.key.clone(), key: certificate.key.clone() };
    assert_eq!(tls::server_config(&swapped, &[]).unwrap_err().path, certificate.key);
}

#[tokio::test]
async fn ready_sends_what_is_pending_while_it_waits_to_read() {
    let (mut a, mut b) = pair().await;
    let content = pattern(6 << 20);
    a.write(&content).unwrap();
    assert!(a.pending_bytes() > 0);
    let sending = async {
        while a.pending_bytes() > 0 {
            a.ready(Reading::Unwanted).await.unwrap();
        }
        while a.try_read(&mut [0; 8]).unwrap() == ReadOutcome::WouldBlock {
            a.ready(Reading::Wanted).await.unwrap();
        }
    };
    let reading = async {
        let read = read_exactly(&mut b, content.len()).await;
        b.write(b"thanks").unwrap();
        read
    };
    let ((), read) = tokio::join!(sending, reading);
    assert!(read == content);
}
