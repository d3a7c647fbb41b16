//! HTTP clients in a closed loop, or at a pace: [`run`]. Rule: a client asks for its next page when it has the last one, whole.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a load came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// For each page, from the request to its last byte, sorted.
    pub latencies: Vec<Duration>,
    /// From the first request to the last page.
    pub elapsed: Duration,
    /// Connections that were opened.
    pub connections: usize,
    /// Clients that failed, in words.
    pub errors: Vec<String>,
}

impl Outcome {
    /// Pages per second.
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// The median latency in milliseconds.
    pub fn latency_ms(&self) -> f64 {
        self.latencies.get(self.latencies.len() / 2).map_or(f64::NAN, |d| d.as_secs_f64() * 1000.0)
    }
}

/// How long one page may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Failures in a row with which a client gives up.
const FAILURES_MAX: usize = 3;

/// When the next pages are asked for, by whichever client is free.
struct Pace {
    interval: Duration,
    next: Cell<Instant>,
}

impl Pace {
    /// So many pages a second; without a number, as fast as they come.
    fn new(pages_per_second: Option<f64>) -> Self {
        let interval = pages_per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(rate.recip()));
        Self { interval, next: Cell::new(Instant::now()) }
    }

    /// Waits for the next moment; `false` where that is too late.
    async fn wait(&self, end: Instant) -> bool {
        if self.interval.is_zero() {
            return Instant::now() < end;
        }
        let moment = self.next.get();
        self.next.set(moment + self.interval);
        tokio::time::sleep_until(moment.min(end).into()).await;
        moment < end
    }
}

/// Fetches the page from `clients` connections that are kept alive, for so long: so many a second, or as fast as they come.
pub async fn run(
    target: SocketAddr,
    url: &str,
    page_bytes: usize,
    clients: usize,
    (duration, pages_per_second): (Duration, Option<f64>),
) -> Outcome {
    let authority = url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    let request: Rc<[u8]> = format!(
        "GET {url} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0\r\n\
         Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\r\n\
         Connection: keep-alive\r\n\r\n"
    )
    .into_bytes()
    .into();
    let outcome = Rc::new(RefCell::new(Outcome::default()));
    let connections = Rc::new(Cell::new(0));
    let started = Instant::now();
    let pace = Rc::new(Pace::new(pages_per_second));
    let client = |_| {
        let (request, outcome, connections) =
            (Rc::clone(&request), Rc::clone(&outcome), Rc::clone(&connections));
        let pace = Rc::clone(&pace);
        tokio::task::spawn_local(async move {
            let mut client = Client { target, stream: None, input: Vec::new(), connections };
            let mut failures = 0;
            while failures < FAILURES_MAX && pace.wait(started + duration).await {
                let begun = Instant::now();
                let fetched = tokio::time::timeout(PATIENCE, client.fetch(&request, page_bytes)).await;
                let failed = match fetched {
                    Ok(Ok(())) => {
                        failures = 0;
                        outcome.borrow_mut().latencies.push(begun.elapsed());
                        continue;
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "no page in time".to_owned(),
                };
                failures += 1;
                client.stream = None;
                outcome.borrow_mut().errors.push(failed);
            }
        })
    };
    let tasks: Vec<_> = (0..clients).map(client).collect();
    for task in tasks {
        let _ = task.await;
    }
    let mut outcome = outcome.take();
    outcome.latencies.sort();
    Outcome { elapsed: started.elapsed(), connections: connections.get(), ..outcome }
}

struct Client {
    target: SocketAddr,
    stream: Option<TcpStream>,
    input: Vec<u8>,
    connections: Rc<Cell<usize>>,
}

impl Client {
    async fn fetch(&mut self, request: &[u8], page_bytes: usize) -> std::io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                self.connections.set(self.connections.get() + 1);
                let stream = TcpStream::connect(self.target).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        stream.write_all(request).await?;
        self.input.clear();
        loop {
            self.input.reserve(64 << 10);
            if stream.read_buf(&mut self.input).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(head) = whole(&self.input, page_bytes)? {
                if head.windows(17).all(|bytes| !bytes.eq_ignore_ascii_case(b"connection: close")) {
                    self.stream = Some(stream);
                }
                return Ok(());
            }
        }
    }
}

/// The head of a response that has come whole; one that is not the page is an error.
fn whole(input: &[u8], page_bytes: usize) -> std::io::Result<Option<&[u8]>> {
    let Some(end) = memchr::memmem::find(input, b"\r\n\r\n") else { return Ok(None) };
    let (head, content) = input.split_at(end + 4);
    if !head.starts_with(b"HTTP/1.1 200 ") {
        let line = String::from_utf8_lossy(head);
        return Err(std::io::Error::other(line.lines().next().unwrap_or_default().to_owned()));
    }
    let is_chunked = head.windows(26).any(|bytes| bytes.eq_ignore_ascii_case(b"transfer-encoding: chunked"));
    let is_whole = match is_chunked {
        true => content.len() > page_bytes && content.ends_with(b"\r\n0\r\n\r\n"),
        false => content.len() >= page_bytes,
    };
    Ok(is_whole.then_some(head))
}
