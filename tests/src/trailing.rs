//! An origin by HTTP/1.1 that says fields behind the content, in Python. Rule: it says them to everybody, and which request
//! asked for them it says, too.

use std::net::SocketAddr;
use std::process::Command;

use crate::process::Running;
use crate::temporary::Directory;
use crate::wait;

/// A file of its directory in chunks; `X-TE` is what the request said of trailers.
const SERVER: &str = r#"
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        content = open(os.path.join(sys.argv[2], os.path.basename(self.path)), "rb").read()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Trailer", "X-Sum, Content-Type")
        self.send_header("X-TE", "%s/%s" % (self.headers["TE"], self.headers["Connection"]))
        self.end_headers()
        for at in range(0, len(content), 65536):
            piece = content[at:at + 65536]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\nX-Sum: 42\r\nContent-Type: text/evil\r\nSet-Cookie: a=b\r\n\r\n")
host, port = sys.argv[1].rsplit(":", 1)
http.server.ThreadingHTTPServer((host, int(port)), Answer).serve_forever()
"#;

/// An origin that says `X-Sum: 42` behind every page, and what must not stand there.
#[derive(Debug)]
pub struct Trailing {
    /// Where it listens.
    pub address: SocketAddr,
    _running: Running,
    directory: Directory,
}

impl Trailing {
    /// Starts one.
    pub fn start() -> Self {
        let directory = Directory::new("trailing");
        let address = wait::free_address();
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", SERVER, &address.to_string()]).arg(directory.path());
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, _running: running, directory }
    }

    /// Puts a file where it is served, and returns its address.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.directory.write(name, content);
        format!("http://{}/{name}", self.address)
    }
}
