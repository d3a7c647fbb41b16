//! SMTP clients in a closed loop: [`run`]. Rule: a client sends its next mail when the last one is in the sink.

use crate::mail::Mail;
use crate::sink::{Arrivals, SEQUENCE_FIELD};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What a load came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Mails that arrived in the sink.
    pub mails: usize,
    /// From the first byte sent to the last mail's arrival.
    pub elapsed: Duration,
    /// For each mail, from its connection's beginning to its arrival, sorted.
    pub latencies: Vec<Duration>,
    /// Clients that failed, in words.
    pub errors: Vec<String>,
}

impl Outcome {
    /// Mails per second.
    pub fn rate(&self) -> f64 {
        self.mails as f64 / self.elapsed.as_secs_f64()
    }

    /// A percentile of the latencies in milliseconds.
    pub fn latency_ms(&self, percent: usize) -> f64 {
        let at = (self.latencies.len() * percent / 100).min(self.latencies.len().saturating_sub(1));
        self.latencies.get(at).map_or(f64::NAN, |d| d.as_secs_f64() * 1000.0)
    }
}

/// Sends `count` mails by `clients` clients, each mail on a connection of its own.
pub async fn run(
    target: SocketAddr,
    mail: &Mail,
    first: usize,
    count: usize,
    clients: usize,
    arrivals: &Rc<Arrivals>,
) -> Outcome {
    let next = Rc::new(Cell::new(first));
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(count)));
    let errors = Rc::new(RefCell::new(Vec::new()));
    let body: Rc<[u8]> = mail.wire.clone().into();
    let started = Instant::now();
    let client = |_| {
        let (next, latencies, errors) = (Rc::clone(&next), Rc::clone(&latencies), Rc::clone(&errors));
        let (body, arrivals) = (Rc::clone(&body), Rc::clone(arrivals));
        tokio::task::spawn_local(async move {
            while next.get() < first + count {
                let sequence = next.replace(next.get() + 1);
                let begun = Instant::now();
                if let Err(error) = send(target, sequence, &body).await {
                    errors.borrow_mut().push(error.to_string());
                    continue;
                }
                match tokio::time::timeout(Duration::from_secs(60), arrivals.wait_for(sequence)).await {
                    Ok(arrived) => latencies.borrow_mut().push(arrived - begun),
                    Err(_) => errors.borrow_mut().push(format!("mail {sequence} never arrived")),
                }
            }
        })
    };
    let tasks: Vec<_> = (0..clients).map(client).collect();
    for task in tasks {
        let _ = task.await;
    }
    let mut latencies = latencies.take();
    latencies.sort();
    Outcome { mails: latencies.len(), elapsed: started.elapsed(), latencies, errors: errors.take() }
}

/// One mail on one connection.
pub async fn send(target: SocketAddr, sequence: usize, body: &[u8]) -> std::io::Result<()> {
    let mut stream = begin(target).await?;
    stream.get_mut().write_all(format!("{SEQUENCE_FIELD}{sequence}\r\n").as_bytes()).await?;
    stream.get_mut().write_all(body).await?;
    stream.get_mut().write_all(b".\r\n").await?;
    expect(&mut stream, '2').await?;
    stream.get_mut().write_all(b"QUIT\r\n").await
}

/// Connects, and says what is to be said before a mail's content.
pub async fn begin(target: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let mut stream = BufReader::with_capacity(512, TcpStream::connect(target).await?);
    stream.get_ref().set_nodelay(true)?;
    expect(&mut stream, '2').await?;
    for (command, class) in [
        ("EHLO client.test", '2'),
        ("MAIL FROM:<alice@sender.test>", '2'),
        ("RCPT TO:<bob@receiver.test>", '2'),
        ("DATA", '3'),
    ] {
        stream.get_mut().write_all(format!("{command}\r\n").as_bytes()).await?;
        expect(&mut stream, class).await?;
    }
    Ok(stream)
}

/// Reads one reply.
pub async fn expect(stream: &mut BufReader<TcpStream>, class: char) -> std::io::Result<String> {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return if line.starts_with(class) {
                Ok(line)
            } else {
                Err(std::io::Error::other(line.trim().to_owned()))
            };
        }
    }
}
