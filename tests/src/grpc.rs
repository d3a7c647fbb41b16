//! gRPC's own server and client, in Python. Rule: both are the project's as it ships, and what a call came to is printed in
//! words.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dovecot::certificate;
use crate::process::{Running, run};
use crate::temporary::Directory;
use crate::wait;

/// Says back what it hears, once or message by message; `bad` is answered with what the file BAD holds, `wrong` with a status.
const SERVER: &str = r#"
import grpc, sys
from concurrent import futures
port, key, chain, bad = sys.argv[1:5]
def say(message, call):
    call.set_trailing_metadata((("x-sum", str(len(message))),))
    if message == b"wrong":
        call.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
    return open(bad, "rb").read() if message == b"bad" else message
def talk(messages, call):
    for message in messages:
        yield say(message, call)
server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", {
    "Say": grpc.unary_unary_rpc_method_handler(say),
    "Talk": grpc.stream_stream_rpc_method_handler(talk),
}),))
secret = grpc.ssl_server_credentials([(open(key, "rb").read(), open(chain, "rb").read())])
server.add_secure_port("127.0.0.1:" + port, secret)
server.start()
server.wait_for_termination()
"#;

/// Calls `Say` with each word and then `Talk` with all of them, of which each is said when the one before was answered; prints
/// what came of it.
const CLIENT: &str = r#"
import grpc, queue, sys
port, authority = sys.argv[1:3]
trust = grpc.ssl_channel_credentials(open(authority, "rb").read())
channel = grpc.secure_channel("localhost:" + port, trust)
def over(error):
    print("over", error.code().name, error.details(), flush=True)
for word in sys.argv[3:]:
    try:
        heard, call = channel.unary_unary("/test.Echo/Say").with_call(word.encode(), timeout=20)
        print("said", len(heard), call.code().name, dict(call.trailing_metadata()).get("x-sum"), flush=True)
    except grpc.RpcError as error:
        over(error)
said = queue.Queue()
heard = channel.stream_stream("/test.Echo/Talk")(iter(said.get, None), timeout=20)
try:
    for word in sys.argv[3:]:
        said.put(word.encode())
        print("talked", len(next(heard)), flush=True)
    said.put(None)
    print("ended", len(list(heard)), heard.code().name, flush=True)
except grpc.RpcError as error:
    said.put(None)
    over(error)
"#;

/// A server on the loopback interface, as `localhost`.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    certificate: PathBuf,
    _running: Running,
    _directory: Directory,
}

impl Server {
    /// Starts one that says this when it is asked for something bad.
    pub fn start(bad: &[u8]) -> Self {
        let directory = Directory::new("grpc");
        let certificate = certificate(directory.path());
        let bad = directory.write("bad", bad);
        let address = wait::free_address();
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", SERVER, &address.port().to_string()]);
        command.arg(directory.join("key.pem")).arg(&certificate).arg(bad);
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, certificate, _running: running, _directory: directory }
    }

    /// The certificate that clients may trust.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// What calls with these words come to, by way of a proxy and trusting an authority.
    pub fn called(&self, proxy: SocketAddr, authority: &Path, words: &[&str]) -> String {
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", CLIENT, &self.address.port().to_string()]).arg(authority).args(words);
        for name in ["https_proxy", "http_proxy", "no_proxy", "no_grpc_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        run(command.env("grpc_proxy", format!("http://{proxy}")))
    }
}
