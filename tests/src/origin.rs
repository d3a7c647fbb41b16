//! A web server that says one thing: [`origin`]. Rule: it reads a request's head and nothing more.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// A server that answers every request with these bytes and closes.
pub fn origin(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while !request.windows(4).any(|window| window == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(count @ 1..) => request.extend_from_slice(&piece[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(&answer);
        }
    });
    address
}
