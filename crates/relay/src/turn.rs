//! Whose turn it is to compute: [`quantum`]. Rule: one heavy quantum for each thread between two looks at the sockets.
//!
//! A push that comes back busy has spent its quantum of about 1 ms. Fifty such transactions, each polled whenever the
//! runtime likes, would put 50 ms between two looks at the sockets. So they queue: first come, first served, one quantum,
//! then everything that has become ready runs before the next.

use std::cell::OnceCell;
use std::rc::Rc;
use tokio::sync::Semaphore;

thread_local! {
    static TURN: OnceCell<Rc<Semaphore>> = const { OnceCell::new() };
}

/// Waits for its turn, works for one quantum, and lets everything that is ready run before the next in line.
pub async fn quantum<R>(work: impl FnOnce() -> R) -> R {
    let turn = TURN.with(|turn| Rc::clone(turn.get_or_init(|| Rc::new(Semaphore::new(1)))));
    // Never closed, so the error cannot come; work is done all the same.
    let permit = turn.acquire().await;
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
    use std::cell::Cell;
    use std::time::{Duration, Instant};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    fn spin(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    /// Fifty heavy tasks and an echo on one thread: the echo waits for a quantum or two, not for fifty.
    #[test]
    fn light_tasks_run_between_heavy_quanta() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let mut worst = Duration::ZERO;
                for _ in 0..20 {
                    let asked = Instant::now();
                    stream.write_all(b"?").await.unwrap();
                    stream.read_exact(&mut [0]).await.unwrap();
                    worst = worst.max(asked.elapsed());
                    // Else the echo is never idle, and what is not idle is not asked to wait.
                    spin(Duration::from_millis(1));
                }
                worst
            })
        });
        let local = tokio::task::LocalSet::new();
        let done = Rc::new(Cell::new(false));
        let quanta = Rc::new(Cell::new(0));
        for _ in 0..50 {
            let (done, quanta) = (Rc::clone(&done), Rc::clone(&quanta));
            local.spawn_local(async move {
                while !done.get() {
                    quantum(|| spin(Duration::from_millis(1))).await;
                    quanta.set(quanta.get() + 1);
                }
            });
        }
        local.block_on(&runtime, async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                stream.write_all(&byte).await.unwrap();
            }
            done.set(true);
        });
        let worst = client.join().unwrap();
        assert!(worst < Duration::from_millis(40), "{worst:?} with {} quanta", quanta.get());
        assert!(quanta.get() >= 20, "{}", quanta.get());
    }
}
