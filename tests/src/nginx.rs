//! nginx with a configuration of the test's own, as an origin. Rule: the system's own is not touched.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dovecot::certificate;
use crate::namespace::Namespace;
use crate::process::Running;
use crate::temporary::Directory;
use crate::wait;

/// An origin with files below its directory `www`.
#[derive(Debug)]
pub struct Nginx {
    /// Where it speaks HTTP.
    pub http: SocketAddr,
    /// Where it speaks HTTPS, as `localhost`.
    pub https: SocketAddr,
    /// Where it speaks HTTP/2, as `localhost`, to who can, and else HTTPS.
    pub http2: SocketAddr,
    certificate: PathBuf,
    _running: Running,
    directory: Directory,
}

/// What stands before the section `http` of every nginx of the tests.
pub(crate) const MAIN: &str = "
daemon off;
master_process off;
pid DIRECTORY/pid;
error_log DIRECTORY/errors;
events { worker_connections 512; }
";
/// Where it keeps what it does not keep in memory, within that section.
pub(crate) const PLACES: &str = "
    client_body_temp_path DIRECTORY/body;
    proxy_temp_path DIRECTORY/proxy;
    fastcgi_temp_path DIRECTORY/fastcgi;
    uwsgi_temp_path DIRECTORY/uwsgi;
    scgi_temp_path DIRECTORY/scgi;
";

const CONFIGURATION: &str = "
MAIN
http {
    PLACES
    log_format lines '$connection $remote_addr $request_method $host $request_uri $status $http_via|$http_accept_encoding|$http_range|$http_connection|$request_length';
    access_log DIRECTORY/log lines;
    default_type application/octet-stream;
    types { text/html html; text/css css; }
    server {
        listen HTTP;
        listen HTTPS ssl;
        listen NEWER ssl http2;
        http2_max_concurrent_streams 128;
        ssl_certificate DIRECTORY/certificate.pem;
        ssl_certificate_key DIRECTORY/key.pem;
        root DIRECTORY/www;
        location /upload/ { dav_methods PUT; create_full_put_path on; client_max_body_size 100m; }
        location /small/ { dav_methods PUT; client_max_body_size 1k; }
        location /compressed/ {
            alias DIRECTORY/www/;
            gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
        }
        # What is put together on the way has no length that is known before.
        location /chunked/ { alias DIRECTORY/www/; sub_filter_types *; sub_filter_once off; sub_filter 'nowhere' 'anywhere'; }
        location /moved/ { return 301 http://$host:$server_port/; }
        location /nothing { return 204; }
        # By the name of a port: what listens there speaks WebSocket.
        location ~ ^/websocket/([0-9]+)$ {
            proxy_pass http://127.0.0.1:$1;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
        }
    }
}
";

impl Nginx {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_on(None, [wait::free_address(), wait::free_address(), wait::free_address()])
    }

    /// Starts one on ports 80 and 443 of a server's address in its namespace.
    pub fn start_within(namespace: &Namespace, address: IpAddr) -> Self {
        Self::start_on(Some(namespace), [80, 443, 8443].map(|port| (address, port).into()))
    }

    fn start_on(namespace: Option<&Namespace>, addresses: [SocketAddr; 3]) -> Self {
        let [http, https, http2] = addresses;
        let directory = Directory::new("nginx");
        let certificate = certificate(directory.path());
        for name in ["www", "www/upload", "www/small", "body"] {
            let path = directory.join(name);
            fs::create_dir_all(&path).expect("a directory can be made");
            // Its workers are users of their own.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it is ours");
        }
        let configuration = CONFIGURATION
            .replace("MAIN", MAIN)
            .replace("PLACES", PLACES)
            .replace("HTTPS", &https.to_string())
            .replace("NEWER", &http2.to_string())
            .replace("HTTP", &http.to_string())
            .replace("DIRECTORY", &directory.path().display().to_string());
        let file = directory.write("nginx.conf", configuration);
        let mut command = namespace.map_or_else(|| Command::new("nginx"), |within| within.command("nginx"));
        // What it says before it has read where errors go.
        command.arg("-e").arg(directory.join("errors")).arg("-c").arg(file);
        let running = Running::start(&mut command, &directory.join("output"));
        for address in addresses {
            match namespace {
                Some(namespace) => namespace.until_listening(address.port()),
                None => wait::until_listening(address),
            }
        }
        Self { http, https, http2, certificate, _running: running, directory }
    }

    /// Puts a file where it is served, and returns its address.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.directory.write(&format!("www/{name}"), content);
        self.url(name)
    }

    /// The address of what is served there.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.http)
    }

    /// Where it speaks HTTP/2, and by HTTP/1.1 passes WebSocket on to a server on this machine.
    pub fn websocket(&self, server: SocketAddr) -> String {
        format!("wss://localhost:{}/websocket/{}", self.http2.port(), server.port())
    }

    /// A file that was uploaded, if it is there.
    pub fn uploaded(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.directory.join(&format!("www/upload/{name}"))).ok()
    }

    /// What it has logged: a line for each request.
    pub fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits for a line of its log that holds all of these.
    pub fn until_logged(&self, words: &[&str]) -> String {
        wait::until_line(|| self.log().join("\n"), words)
    }

    /// The certificate that clients may trust.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }
}
