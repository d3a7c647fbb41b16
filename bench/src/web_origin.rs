//! A web server that has its pages ready: [`run`]. Rule: as cheap as a server can be, so that it hides nothing.
//!
//! It answers `/BYTES` with a page of so many bytes, which is made once for all.

use crate::mail::Random;
use crate::proof::NOT_FOUND;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The pages that there are, in bytes.
pub const PAGES: [usize; 2] = [5 << 10, 40 << 10];
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Serves for ever, on one thread.
pub fn run(address: SocketAddr) -> std::io::Result<()> {
    let responses: &'static [Vec<u8>] = PAGES.map(response).to_vec().leak();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(async move {
                let _ = serve(stream, responses).await;
            });
        }
    })
}

async fn serve(mut stream: TcpStream, responses: &[Vec<u8>]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let not_found = format!(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{NOT_FOUND}",
        NOT_FOUND.len()
    )
    .into_bytes();
    let mut head = Vec::with_capacity(1024);
    while head.len() < HEAD_BYTES_MAX && stream.read_buf(&mut head).await? > 0 {
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        // Proxies ask for the path, the bare relay passes what a proxy is asked for: the number stands behind the last slash.
        let target = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let name = target.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let at = PAGES.iter().position(|bytes| bytes.to_string().as_bytes() == name);
        match at.and_then(|at| responses.get(at)) {
            Some(response) => stream.write_all(response).await?,
            None => stream.write_all(&not_found).await?,
        }
        head.clear();
    }
    Ok(())
}

fn response(bytes: usize) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
         Content-Type: text/html; charset=utf-8\r\nContent-Length: {bytes}\r\nCache-Control: private\r\n\
         Connection: keep-alive\r\n\r\n"
    );
    let mut response = head.into_bytes();
    response.extend_from_slice(&page(bytes));
    response
}

/// A page of text in paragraphs, with links, as news pages are.
pub fn page(bytes: usize) -> Vec<u8> {
    const END: &str = "</p>\n</body>\n</html>\n";
    let words = [
        "the", "report", "of", "our", "group", "shows", "that", "work", "went", "on", "in", "spring", "and",
        "people", "from", "town", "came", "with", "bread",
    ];
    let mut random = Random::new(bytes as u64);
    let mut text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>News</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body>\n<p>"
        .to_owned();
    while text.len() < bytes {
        text += words[(random.number() % words.len() as u64) as usize];
        text += match random.number() % 60 {
            0 => ".</p>\n<p class=\"text\">",
            1 => " <a href=\"/news/today.html\">more</a> ",
            2..8 => ",\n",
            _ => " ",
        };
    }
    text.truncate(bytes - END.len());
    (text + END).into_bytes()
}
