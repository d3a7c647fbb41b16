//! WebSocket with Python's `websockets`: a server that answers, a client that says things. Rule: both speak the protocol by
//! themselves; what they are given and what they saw are words.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::process::{Running, outcome, printed_by};
use crate::temporary::Directory;
use crate::wait;

/// Says back what it hears; of `bad` it says what the file BAD holds.
const SERVER: &str = r#"
import asyncio, sys, websockets
async def answer(ws, path):
    async for message in ws:
        if message == "bad":
            message = open(sys.argv[2], "rb").read()
        await ws.send(message)
async def main():
    async with websockets.serve(answer, "127.0.0.1", int(sys.argv[1]), max_size=None):
        await asyncio.Future()
asyncio.run(main())
"#;

/// Connects by the gateway, for `ws` as an intercepted client would and for `wss` by CONNECT, trusting the authority in a file;
/// says each word of the command line and prints what came back: its length, or how it ended. `@FILE` is a file's content in
/// one message, `%FILE` in two frames.
const CLIENT: &str = r#"
import asyncio, socket, ssl, sys, websockets
async def main():
    gateway, url, authority = sys.argv[1:4]
    host, port = gateway.split(":")
    sock = socket.create_connection((host, int(port)))
    more = {}
    if url.startswith("wss:"):
        server = url.split("/")[2]
        sock.sendall(f"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += sock.recv(1) or sys.exit("no tunnel: " + repr(answer))
        more = {"ssl": ssl.create_default_context(cafile=authority), "server_hostname": server.split(":")[0]}
    async with websockets.connect(url, sock=sock, max_size=None, close_timeout=5, **more) as ws:
        print("extensions", len(ws.extensions))
        for word in sys.argv[4:]:
            said = open(word[1:], "rb").read() if word[:1] in ("@", "%") else word
            half = len(said) // 2
            try:
                await ws.send([said[:half], said[half:]] if word[:1] == "%" else said)
                heard = await ws.recv()
                print("same" if heard == said else "other", len(heard))
                await (await ws.ping())
            except websockets.ConnectionClosed as closed:
                print("closed", closed.rcvd.code if closed.rcvd else "broken")
                return
    print("ended")
asyncio.run(main())
"#;

/// A server on the loopback interface.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    _running: Running,
    directory: Directory,
}

impl Server {
    /// Starts one that says this when it is asked for something bad.
    pub fn start(bad: &[u8]) -> Self {
        let (directory, address) = (Directory::new("websocket"), wait::free_address());
        let (script, bad) = (directory.write("server.py", SERVER), directory.write("bad", bad));
        directory.write("client.py", CLIENT);
        let mut command = Command::new("/usr/bin/python3");
        command.arg(script).arg(address.port().to_string()).arg(bad);
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, _running: running, directory }
    }

    /// A client of it that comes by the gateway and says these words: what it printed.
    pub fn client(&self, gateway: SocketAddr, words: &[&str]) -> String {
        self.client_of(gateway, &format!("ws://{}/", self.address), Path::new(""), words)
    }

    /// The same by another address, which may be one under TLS: who trusts that authority.
    pub fn client_of(&self, gateway: SocketAddr, url: &str, authority: &Path, words: &[&str]) -> String {
        let mut command = Command::new("/usr/bin/python3");
        command.arg(self.directory.join("client.py")).arg(gateway.to_string());
        command.arg(url).arg(authority).args(words);
        printed_by(&outcome(&mut command))
    }
}
