//! A bare relay: bytes from one socket to another, 64 KiB at a time. Rule: nothing but that; it is the limit to come near to.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Relays every connection to `next_hop`, for ever; one thread for each core, as the gateway has.
pub fn run(address: SocketAddr, next_hop: SocketAddr) -> std::io::Result<()> {
    let threads = std::thread::available_parallelism()?.get();
    let serve = move || -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async move {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.set_reuseport(true)?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let listener = socket.listen(1024)?;
            accept(listener, next_hop).await
        })
    };
    let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(serve)).collect();
    serve()?;
    others.into_iter().try_for_each(|t| t.join().unwrap_or(Ok(())))
}

async fn accept(listener: TcpListener, next_hop: SocketAddr) -> std::io::Result<()> {
    loop {
        let (downstream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let Ok(upstream) = TcpStream::connect(next_hop).await else { return };
            let _ = (downstream.set_nodelay(true), upstream.set_nodelay(true));
            let (from_client, to_client) = downstream.into_split();
            let (from_server, to_server) = upstream.into_split();
            tokio::join!(pass(from_client, to_server), pass(from_server, to_client));
        });
    }
}

async fn pass(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
