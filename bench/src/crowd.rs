//! Thousands of SMTP clients that pause within their mails: [`Crowd`]. Rule: none goes on before it is told to.

use crate::load;
use crate::mail::Mail;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// How many dial at once.
const DIALLING_MAX: usize = 64;
/// How often it is looked whether all have come to a pause, and how often at most.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS_MAX: usize = 600;

/// Clients in flight, each with the same mail on a connection of its own.
pub struct Crowd {
    clients: Vec<JoinHandle<std::io::Result<String>>>,
    arrived: Rc<Semaphore>,
    phase: watch::Sender<usize>,
}

/// What all clients share.
#[derive(Clone)]
struct Course {
    target: SocketAddr,
    body: Rc<[u8]>,
    /// Where they pause, in percent of the mail.
    pauses: &'static [usize],
    arrived: Rc<Semaphore>,
    dialling: Rc<Semaphore>,
    phase: watch::Receiver<usize>,
}

impl Crowd {
    /// So many begin.
    pub fn begin(target: SocketAddr, mail: &Mail, count: usize, pauses: &'static [usize]) -> Self {
        let (phase, seen) = watch::channel(0);
        let arrived = Rc::new(Semaphore::new(0));
        let course = Course {
            target,
            body: mail.wire.clone().into(),
            pauses,
            arrived: Rc::clone(&arrived),
            dialling: Rc::new(Semaphore::new(DIALLING_MAX)),
            phase: seen,
        };
        let clients = (0..count).map(|_| tokio::task::spawn_local(course.clone().run())).collect();
        Self { clients, arrived, phase }
    }

    /// Waits until all have come to the pause of that number, from 0 on, and looks around meanwhile.
    pub async fn await_pause(&self, at: usize, mut look: impl FnMut()) {
        for _ in 0..LOOKS_MAX {
            if self.arrived.available_permits() >= self.clients.len() * (at + 1) {
                break;
            }
            look();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// They go on behind the pause of that number.
    pub fn go_on(&self, at: usize) {
        self.phase.send_replace(at + 1);
    }

    /// The reply to the end of each mail.
    pub async fn replies(self) -> Vec<std::io::Result<String>> {
        let mut replies = Vec::with_capacity(self.clients.len());
        for client in self.clients {
            replies.push(client.await.unwrap_or_else(|error| Err(std::io::Error::other(error))));
        }
        replies
    }
}

impl Course {
    async fn run(mut self) -> std::io::Result<String> {
        let turn = self.dialling.acquire().await.map_err(std::io::Error::other)?;
        let mut stream = load::begin(self.target).await?;
        drop(turn);
        let mut sent = 0;
        for (at, pause) in self.pauses.iter().enumerate() {
            let until = self.body.len() * pause / 100;
            stream.get_mut().write_all(&self.body[sent..until]).await?;
            sent = until;
            self.arrived.add_permits(1);
            self.phase.wait_for(|phase| *phase > at).await.map_err(std::io::Error::other)?;
        }
        stream.get_mut().write_all(&self.body[sent..]).await?;
        stream.get_mut().write_all(b".\r\n").await?;
        load::expect(&mut stream, '2').await
    }
}
