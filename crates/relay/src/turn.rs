//! Whose turn it is to compute: [`quantum`]. Rule: one heavy quantum for each thread between two looks at the sockets.
//!
//! A push that comes back busy has spent its quantum of about 1 ms. Fifty such transactions, each polled whenever the
//! runtime likes, would put 50 ms between two looks at the sockets. So they queue: first come, first served, one quantum,
//! then everything that has become ready runs before the next.

use crate::scratch::SCRATCH_BYTES;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a turn is where the work does not know it by itself.
pub const QUANTUM: Duration = Duration::from_millis(1);

/// Bytes that all who wait on one thread may have read before their turn.
const WAITING_BYTES: usize = 8 << 20;
/// From so many on, what each of them has read adds up: fewer may fill the thread's read buffer.
const CROWD: usize = WAITING_BYTES / SCRATCH_BYTES;
/// The least that is read at once, however many wait.
const READ_BYTES_MIN: usize = 4 << 10;

thread_local! {
    static TURN: OnceCell<Rc<Semaphore>> = const { OnceCell::new() };
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Counted among those who wait, until it is dropped.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.set(WAITING.get() + 1);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.set(WAITING.get().saturating_sub(1));
    }
}

/// Whether so many wait on this thread that a connection should wait for its turn before it reads, and not after.
pub fn is_crowded() -> bool {
    WAITING.get() >= CROWD
}

/// How much a connection reads at once: what it cannot work through in its turn it keeps until the next.
pub fn read_bytes() -> usize {
    (WAITING_BYTES / (WAITING.get() + 1)).clamp(READ_BYTES_MIN, SCRATCH_BYTES)
}

/// Waits for its turn, works for one quantum, and lets everything that is ready run before the next in line.
pub async fn quantum<R>(work: impl FnOnce() -> R) -> R {
    let turn = TURN.with(|turn| Rc::clone(turn.get_or_init(|| Rc::new(Semaphore::new(1)))));
    let waiting = Waiting::begin();
    // Never closed, so the error cannot come; work is done all the same.
    let permit = turn.acquire().await;
    drop(waiting);
    let result = work();
    // The turn is held while the runtime looks at the sockets: what it finds ready is polled before we are, and the next
    // in line only after us.
    tokio::task::yield_now().await;
    drop(permit);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    fn spin(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    /// Fifty heavy tasks, and one that asks another over a socket, all on one thread: a question and its answer wait for
    /// a few quanta and not for fifty. Counted in quanta, so that a loaded machine gives the same result.
    #[test]
    fn light_tasks_run_between_heavy_quanta() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        let quanta = Rc::new(Cell::new(0));
        for _ in 0..50 {
            let quanta = Rc::clone(&quanta);
            local.spawn_local(async move {
                loop {
                    quantum(|| spin(Duration::from_micros(500))).await;
                    quanta.set(quanta.get() + 1);
                }
            });
        }
        let worst = local.block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut asking = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut answering, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(async move {
                let mut byte = [0];
                while answering.read_exact(&mut byte).await.is_ok() {
                    answering.write_all(&byte).await.unwrap();
                }
            });
            let mut worst = 0;
            for _ in 0..20 {
                let before = quanta.get();
                asking.write_all(b"?").await.unwrap();
                asking.read_exact(&mut [0]).await.unwrap();
                worst = worst.max(quanta.get() - before);
            }
            worst
        });
        assert!((1..=6).contains(&worst), "{worst} quanta between question and answer");
    }

    #[test]
    fn the_more_wait_the_less_is_read_at_once() {
        assert_eq!((is_crowded(), read_bytes()), (false, SCRATCH_BYTES));
        let mut crowd: Vec<_> = (0..CROWD).map(|_| Waiting::begin()).collect();
        assert!(is_crowded());
        crowd.extend((CROWD..1023).map(|_| Waiting::begin()));
        assert_eq!(read_bytes(), 8 << 10);
        crowd.extend((0..10_000).map(|_| Waiting::begin()));
        assert_eq!(read_bytes(), READ_BYTES_MIN);
        drop(crowd);
        assert_eq!((is_crowded(), read_bytes()), (false, SCRATCH_BYTES));
    }
}
