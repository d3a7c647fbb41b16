//! Servers of other makes as origins: [`Server`]. Rule: each passes what it read on to a recorder, so its reading shows.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::nginx;
use crate::process::Running;
use crate::recorder::Recorder;
use crate::temporary::Directory;
use crate::wait;

/// Who made a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// nginx.
    Nginx,
    /// Apache httpd.
    Apache,
    /// HAProxy.
    Haproxy,
}

impl Make {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nginx, Self::Apache, Self::Haproxy];

    fn configuration(self) -> &'static str {
        match self {
            Self::Nginx => NGINX,
            Self::Apache => APACHE,
            Self::Haproxy => HAPROXY,
        }
    }

    fn command(self, file: &PathBuf, directory: &Directory) -> Command {
        let program = match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache2",
            Self::Haproxy => "haproxy",
        };
        let mut command = Command::new(program);
        match self {
            // What it says before it has read where errors go.
            Self::Nginx => command.arg("-e").arg(directory.join("errors")).arg("-c").arg(file),
            Self::Apache => command.arg("-d").arg(directory.path()).arg("-f").arg(file).arg("-DFOREGROUND"),
            Self::Haproxy => command.arg("-db").arg("-f").arg(file),
        };
        command
    }
}

/// A reverse proxy before a recorder, that keeps its clients' connections open.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it passes on comes here.
    pub recorder: Recorder,
    /// Who made it.
    pub make: Make,
    running: Running,
    directory: Directory,
}

// A client that goes quiet is given up soon: what was sent to it is then known to be incomplete. Each line of the logs is
// the status, then the request line as it came, or as far as it was understood.

const NGINX: &str = "
MAIN
http {
    PLACES
    log_format lines '$status $request';
    access_log DIRECTORY/log lines;
    client_header_timeout 1s;
    client_body_timeout 1s;
    keepalive_timeout 2s;
    lingering_time 1s;
    merge_slashes off;
    underscores_in_headers on;
    proxy_http_version 1.1;
    proxy_ignore_client_abort on;
    server {
        listen ADDRESS;
        location / {
            proxy_pass http://RECORDER;
            proxy_set_header Host $http_host;
            proxy_set_header Connection '';
        }
    }
}
";

const APACHE: &str = "
ServerName localhost
ServerRoot DIRECTORY
PidFile DIRECTORY/pid
ErrorLog DIRECTORY/errors
DefaultRuntimeDir DIRECTORY
Listen ADDRESS
LoadModule mpm_event_module MODULES/mod_mpm_event.so
LoadModule authz_core_module MODULES/mod_authz_core.so
LoadModule proxy_module MODULES/mod_proxy.so
LoadModule proxy_http_module MODULES/mod_proxy_http.so
LoadModule reqtimeout_module MODULES/mod_reqtimeout.so
StartServers 1
ServerLimit 2
ThreadsPerChild 16
MaxRequestWorkers 32
MaxConnectionsPerChild 0
User nobody
Group nogroup
Timeout 1
KeepAliveTimeout 2
RequestReadTimeout header=1 body=1
MergeSlashes Off
AllowEncodedSlashes NoDecode
LogFormat \"%>s %r\" lines
CustomLog DIRECTORY/log lines
ProxyRequests Off
ProxyPreserveHost On
ProxyPass / http://RECORDER/ nocanon
";

const HAPROXY: &str = "
global
    log stdout format raw local0 info
    maxconn 200
defaults
    mode http
    log global
    log-format '%ST %HM %HU %HV'
    timeout connect 2s
    timeout client 1s
    timeout server 5s
    timeout http-request 1s
    timeout http-keep-alive 2s
frontend front
    bind ADDRESS
    default_backend recorder
backend recorder
    server recorder RECORDER
";

impl Server {
    /// Starts one before a recorder of its own.
    pub fn start(make: Make) -> Self {
        let recorder = Recorder::start();
        let directory = Directory::new(&format!("{make:?}").to_lowercase());
        let address = wait::free_address();
        let configuration = make
            .configuration()
            .replace("MAIN", nginx::MAIN)
            .replace("PLACES", nginx::PLACES)
            .replace("DIRECTORY", &directory.path().display().to_string())
            .replace("MODULES", "/usr/lib/apache2/modules")
            .replace("ADDRESS", &address.to_string())
            .replace("RECORDER", &recorder.address.to_string());
        let file = directory.write("configuration", configuration.trim_start());
        let running = Running::start(&mut make.command(&file, &directory), &directory.join("output"));
        wait::until_listening(address);
        Self { address, recorder, make, running, directory }
    }

    /// What it has logged: for each request its status, and its request line as far as it was understood.
    pub fn log(&self) -> Vec<String> {
        let text = match self.make {
            Make::Haproxy => self.running.printed(),
            _ => std::fs::read_to_string(self.directory.join("log")).unwrap_or_default(),
        };
        text.lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .map(str::to_owned)
            .collect()
    }
}
