//! openssl as a server and as a client of TLS. Rule: what it does not check is not concluded from it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::authority::Pair;
use crate::process::{Running, outcome, printed_by};
use crate::temporary::Directory;
use crate::wait;

/// A server that answers each request with a page about the connection.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    _running: Running,
    _directory: Directory,
}

impl Server {
    /// With this certificate, and further arguments.
    pub fn start(pair: &Pair, arguments: &[&str]) -> Self {
        let (address, directory) = (wait::free_address(), Directory::new("s_server"));
        let mut command = Command::new("openssl");
        command.args(["s_server", "-www", "-accept", &address.to_string()]).args(arguments);
        command.arg("-cert").arg(&pair.certificate).arg("-key").arg(&pair.key);
        let running = Running::start(&mut command, &directory.join("output"));
        wait::until_listening(address);
        Self { address, _running: running, _directory: directory }
    }
}

/// What `s_client` says of a connection by CONNECT to `to`, with further arguments.
pub fn client(proxy: SocketAddr, to: SocketAddr, authority: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-proxy", &proxy.to_string(), "-connect", &to.to_string(), "-CAfile"]);
    command.arg(authority).args(arguments);
    printed_by(&outcome(&mut command))
}

/// The first bytes that openssl sends to a server of this name.
pub fn hello(name: &str) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let mut bytes = vec![0; 5];
        stream.read_exact(&mut bytes).expect("a record has a header");
        let length = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        bytes.resize(5 + length, 0);
        stream.read_exact(&mut bytes[5..]).expect("a record is whole");
        let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
        bytes
    });
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &address, "-servername", name]);
    outcome(&mut command);
    heard.join().expect("it was heard")
}

/// The same hello with what browsers send to servers that know nothing of ECH.
pub fn with_ech(hello: &[u8]) -> Vec<u8> {
    const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
    // Outer; HKDF-SHA256 with AES-128-GCM; a key's number; a key of 32 bytes; a hello of 32 bytes.
    let content = [&[0, 0, 1, 0, 1, 7, 0, 32][..], &[5; 32], &[0, 32], &[6; 32]].concat();
    with_extension(hello, ENCRYPTED_CLIENT_HELLO, &content)
}

/// The same hello with one more extension, which is the last.
pub fn with_extension(hello: &[u8], kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("short");
    let extension = [&kind.to_be_bytes()[..], &length.to_be_bytes(), content].concat();
    let mut bytes = [hello, &extension].concat();
    let add = |bytes: &mut [u8]| {
        let [high, low] = bytes else { panic!("two bytes") };
        let sum = u16::from_be_bytes([*high, *low]) + u16::try_from(extension.len()).expect("short");
        [*high, *low] = sum.to_be_bytes();
    };
    // Record, message, and behind session id, cipher suites and compression the extensions.
    add(&mut bytes[3..5]);
    add(&mut bytes[7..9]);
    let session = 9 + 2 + 32;
    let suites = session + 1 + usize::from(bytes[session]);
    let compression = suites + 2 + usize::from(u16::from_be_bytes([bytes[suites], bytes[suites + 1]]));
    let extensions = compression + 1 + usize::from(bytes[compression]);
    add(&mut bytes[extensions..extensions + 2]);
    bytes
}

/// The same, with a request, until the server has answered it.
pub fn ask(
    proxy: SocketAddr,
    to: SocketAddr,
    authority: &Path,
    arguments: &[&str],
    request: &[u8],
) -> String {
    let directory = Directory::new("s_client");
    let input = std::fs::File::open(directory.write("request", request)).expect("it was written");
    let mut command = Command::new("openssl");
    command.args(["s_client", "-proxy", &proxy.to_string(), "-connect", &to.to_string(), "-CAfile"]);
    let output = command.arg(authority).args(arguments).stdin(Stdio::from(input)).output();
    printed_by(&output.expect("openssl is installed"))
}
