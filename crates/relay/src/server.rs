//! The threads: [`start`] binds every listener and serves until the drain is over. Rule: one thread for each core, and
//! a connection stays on its thread from the first byte to the last.

use crate::drain::Phase;
use crate::listener::{self, EXHAUSTION_PAUSE, admit, bind, is_exhaustion};
use crate::settings::{Listener, Speaks};
use crate::shared::{Gate, Shared};
use crate::{http, pop3, smtp};
use std::fmt;
use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::{Notify, mpsc};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

/// Threads that serve.
pub struct Running {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

/// Why the gateway does not start.
#[derive(Debug)]
pub struct StartError {
    /// The listener it is about, if it is about one.
    pub listener: Option<(String, SocketAddr)>,
    /// What went wrong.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.listener {
            Some((name, address)) => {
                write!(f, "listener {name:?} cannot listen on {address}: {}", self.error)
            }
            None => write!(f, "cannot start: {}", self.error),
        }
    }
}

impl std::error::Error for StartError {}

/// One thread's share: how many connections it has, and the way to give it one more.
struct Seat {
    load: AtomicUsize,
    arrivals: mpsc::UnboundedSender<Arrival>,
}

/// A connection on its way to the thread that will serve it.
struct Arrival {
    tcp: std::net::TcpStream,
    peer: SocketAddr,
    gate: Arc<Gate>,
}

/// What each thread does from time to time for itself, such as giving back the memory that it has and does not need.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep {
    /// How often.
    pub interval: Duration,
    /// What; it may not take long.
    pub task: fn(),
}

/// Binds every listener, once for each thread, and begins to serve. What comes back is listening already.
pub fn start(shared: Arc<Shared>, upkeep: Option<Upkeep>) -> Result<Running, StartError> {
    let wanted = shared.settings.load().threads;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = if wanted == 0 { cores } else { wanted };
    let gates = shared.gates.load_full();
    let mut addresses = Vec::new();
    let mut sockets: Vec<Vec<TcpListener>> = (0..count).map(|_| Vec::new()).collect();
    for gate in gates.iter() {
        addresses.push(bind_for_all(&gate.settings, &mut sockets)?);
    }
    let (seats, queues): (Vec<_>, Vec<_>) = (0..count)
        .map(|_| {
            let (arrivals, queue) = mpsc::unbounded_channel();
            (Seat { load: AtomicUsize::new(0), arrivals }, queue)
        })
        .unzip();
    let seats: Arc<[Seat]> = seats.into();
    let mut threads = Vec::new();
    for (number, (sockets, queue)) in sockets.into_iter().zip(queues).enumerate() {
        let worker = Worker { number, seats: Arc::clone(&seats), shared: Arc::clone(&shared), upkeep };
        let thread = std::thread::Builder::new().name(format!("lockgate-{number}"));
        let thread = thread.spawn(move || worker.run(sockets, queue));
        threads.push(thread.map_err(|error| StartError { listener: None, error })?);
    }
    Ok(Running { shared, addresses, threads })
}

/// Binds one socket for each thread to the listener's address; a port of the kernel's choice is the same for all.
fn bind_for_all(settings: &Listener, sockets: &mut [Vec<TcpListener>]) -> Result<SocketAddr, StartError> {
    let mut address = settings.address;
    for sockets in sockets {
        let bound = bind(address, settings.intercept).and_then(|socket| {
            address = socket.local_addr()?;
            Ok(socket)
        });
        let failed = |error| StartError { listener: Some((settings.name.clone(), address)), error };
        sockets.push(bound.map_err(failed)?);
    }
    Ok(address)
}

impl Running {
    /// What is listened to, in the order of the configuration, with the ports that the kernel chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What the connections share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Stops accepting; sessions at rest end, mails that were begun are finished within `drain_timeout`.
    pub fn drain(&self) {
        self.shared.drain.advance(Phase::Draining);
    }

    /// Stops at once.
    pub fn stop(&self) {
        self.shared.drain.advance(Phase::Stopped);
    }

    /// Waits until every thread has ended.
    pub fn join(self) {
        for thread in self.threads {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

/// One thread.
struct Worker {
    number: usize,
    seats: Arc<[Seat]>,
    shared: Arc<Shared>,
    upkeep: Option<Upkeep>,
}

impl Worker {
    fn run(self, sockets: Vec<TcpListener>, mut queue: mpsc::UnboundedReceiver<Arrival>) {
        // A resolver thread or two is all that is asked of the blocking pool, and a delivery's wait for the disk.
        let runtime = runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
        let Ok(runtime) = runtime else { return };
        let shared = Arc::clone(&self.shared);
        let emptied = Rc::new(Notify::new());
        let worker = Rc::new(self);
        let local = LocalSet::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            // A listener counts as a connection, so that the drain waits for its last words.
            worker.own_seat().load.fetch_add(1, Ordering::SeqCst);
            let occupied = worker.occupy(&emptied);
            local.spawn_local(accept(Rc::clone(&worker), index, socket, occupied));
        }
        local.block_on(&runtime, async {
            let serve = async {
                while let Some(arrival) = queue.recv().await {
                    worker.receive(arrival, &emptied);
                }
            };
            tokio::select! {
                () = serve => {}
                () = worker.keep_up() => {}
                () = worker.drained(&emptied) => {}
                () = shared.drain.reached(Phase::Stopped) => {}
            }
        });
    }

    /// Does its upkeep, for as long as it is polled.
    async fn keep_up(&self) {
        let Some(Upkeep { interval, task }) = self.upkeep else { return pending().await };
        loop {
            sleep(interval).await;
            task();
        }
    }

    /// Waits for the drain, and then until no connection is left or time is up.
    async fn drained(&self, emptied: &Notify) {
        self.shared.drain.draining().await;
        let limit = self.shared.settings.load().drain_timeout;
        let is_empty = async {
            while self.own_seat().load.load(Ordering::SeqCst) > 0 {
                emptied.notified().await;
            }
        };
        let _ = timeout(limit, is_empty).await;
    }

    /// What gives back one of the connections counted for this thread.
    fn occupy(&self, emptied: &Rc<Notify>) -> Occupied {
        Occupied { seats: Arc::clone(&self.seats), number: self.number, emptied: Rc::clone(emptied) }
    }

    fn own_seat(&self) -> &Seat {
        &self.seats[self.number]
    }

    /// Gives a new connection to the thread that has the fewest.
    fn place(&self, tcp: TcpStream, peer: SocketAddr, gate: Arc<Gate>, emptied: &Rc<Notify>) {
        self.shared.counts.accepted.fetch_add(1, Ordering::Relaxed);
        let load = |seat: &Seat| seat.load.load(Ordering::Relaxed);
        let own = self.own_seat();
        let least = self.seats.iter().min_by_key(|seat| load(seat)).unwrap_or(own);
        if load(own) <= load(least) {
            own.load.fetch_add(1, Ordering::SeqCst);
            return self.spawn(tcp, peer, gate, self.occupy(emptied));
        }
        let Ok(tcp) = tcp.into_std() else { return };
        least.load.fetch_add(1, Ordering::SeqCst);
        if least.arrivals.send(Arrival { tcp, peer, gate }).is_err() {
            least.load.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Takes a connection that another thread accepted.
    fn receive(&self, arrival: Arrival, emptied: &Rc<Notify>) {
        let occupied = self.occupy(emptied);
        let Ok(tcp) = TcpStream::from_std(arrival.tcp) else { return };
        self.spawn(tcp, arrival.peer, arrival.gate, occupied);
    }

    fn spawn(&self, tcp: TcpStream, peer: SocketAddr, gate: Arc<Gate>, occupied: Occupied) {
        let shared = Arc::clone(&self.shared);
        spawn_local(async move {
            let _occupied = occupied;
            serve(tcp, peer, gate, shared).await;
        });
    }
}

/// A connection's share of its thread, given back even if the session panics.
struct Occupied {
    seats: Arc<[Seat]>,
    number: usize,
    emptied: Rc<Notify>,
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.seats[self.number].load.fetch_sub(1, Ordering::SeqCst);
        self.emptied.notify_one();
    }
}

/// Accepts until the drain begins; who has come until then is told to come again.
async fn accept(worker: Rc<Worker>, index: usize, socket: TcpListener, occupied: Occupied) {
    let Ok(listener) = tokio::net::TcpListener::from_std(socket) else { return };
    let shared = &worker.shared;
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.drain.draining() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((tcp, peer)) => {
                let gate = shared.gates.load().get(index).map(Arc::clone);
                let Some(gate) = gate else { continue };
                worker.place(tcp, peer, gate, &occupied.emptied);
            }
            // Nothing is closed by asking again at once.
            Err(e) if is_exhaustion(&e) => sleep(EXHAUSTION_PAUSE).await,
            // The client has gone before it was accepted, or something of that kind: the next one.
            Err(_) => {}
        }
    }
    let Some(gate) = shared.gates.load().get(index).map(Arc::clone) else { return };
    while let Ok(Ok((tcp, _))) = timeout(Duration::ZERO, listener.accept()).await {
        listener::refuse(&tcp, &gate, "shutting down, come again later");
    }
}

/// One connection, from its admission to its end.
async fn serve(tcp: TcpStream, peer: SocketAddr, gate: Arc<Gate>, shared: Arc<Shared>) {
    let Some(accepted) = admit(tcp, peer, gate, &shared).await else { return };
    // Boxed, so that a session takes what its own protocol needs and not what the largest would.
    match accepted.gate.settings.protocol {
        Speaks::Smtp => Box::pin(smtp::serve(accepted, shared)).await,
        Speaks::Pop3 => Box::pin(pop3::serve(accepted, shared)).await,
        Speaks::Http => Box::pin(http::serve(accepted, shared)).await,
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
