//! Chromium without a window, driven by its DevTools protocol over a pipe. Rule: what is asserted is what the browser shows
//! or has on disk, not what a script in a page says that it has.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::process::{Running, run};
use crate::temporary::Directory;
use crate::wait::PATIENCE;

/// A browser with one page, and a profile of its own.
#[derive(Debug)]
pub struct Chromium {
    commands: File,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    last_id: u64,
    session: String,
    _running: Running,
    directory: Directory,
}

/// What a navigation came to.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The status of the page itself; 0 where there was none.
    pub status: u64,
    /// What it came by: `http/1.1`, `h2`.
    pub protocol: String,
    /// What a reader sees.
    pub text: String,
    /// Why there is no page, in the words of the browser.
    pub error: String,
}

/// What a download came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Downloaded {
    /// The file is whole, says the browser.
    Whole(Vec<u8>),
    /// It was broken off, says the browser, and there is no file of that name.
    Broken,
    /// There was nothing to download: a page was shown in its place.
    Page,
}

impl Chromium {
    /// Starts one that asks a proxy for everything, loopback too; without a proxy, the servers themselves.
    pub fn start(proxy: Option<SocketAddr>) -> Self {
        Self::prepared(proxy, |_| {})
    }

    /// The same, with the certificate of an authority that it is to trust.
    pub fn trusting(proxy: SocketAddr, certificate: &Path) -> Self {
        Self::prepared(Some(proxy), |home| {
            // Where Chromium looks for what its user has added.
            let database = home.join(".pki/nssdb");
            fs::create_dir_all(&database).expect("a directory can be made");
            let database = format!("sql:{}", database.display());
            run(Command::new("certutil").args(["-N", "--empty-password", "-d", &database]));
            let mut add = Command::new("certutil");
            add.args(["-A", "-n", "gateway", "-t", "C,,", "-d", &database, "-i"]).arg(certificate);
            run(&mut add);
        })
    }

    fn prepared(proxy: Option<SocketAddr>, prepare: impl FnOnce(&Path)) -> Self {
        let directory = Directory::new("chromium");
        prepare(directory.path());
        let (commands, answers) = (directory.join("commands"), directory.join("answers"));
        run(Command::new("mkfifo").arg(&commands).arg(&answers));
        let mut command = Command::new("sh");
        // The browser reads commands from descriptor 3 and writes to 4.
        command.arg("-c").arg("exec chromium \"$@\" 3<\"$COMMANDS\" 4>\"$ANSWERS\"").arg("sh");
        command.args([
            "--headless=new",
            // Tests run as root, and its sandbox does not.
            "--no-sandbox",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=800,900",
        ]);
        command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
        match proxy {
            Some(address) => {
                command
                    .arg(format!("--proxy-server=http://{address}"))
                    .arg("--proxy-bypass-list=<-loopback>");
            }
            None => _ = command.arg("--no-proxy-server"),
        }
        command.env("COMMANDS", &commands).env("ANSWERS", &answers).env("HOME", directory.path());
        let running = Running::start(&mut command, &directory.join("output"));
        // Opened both ways, neither end waits for the other.
        let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path).expect("it was made");
        let mut browser = Self {
            commands: open(&commands),
            messages: messages(open(&answers)),
            events: VecDeque::new(),
            last_id: 0,
            session: String::new(),
            _running: running,
            directory,
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            self.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        self.session = attached["sessionId"].as_str().expect("it was attached").to_owned();
        for domain in ["Page", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        let path = self.directory.join("downloads");
        fs::create_dir_all(&path).expect("a directory can be made");
        let behaviour = json!({"behavior": "allow", "downloadPath": path, "eventsEnabled": true});
        self.call("Browser.setDownloadBehavior", behaviour);
    }

    /// Shows what is there, and waits until all of it has loaded.
    pub fn navigate(&mut self, url: &str) -> Shown {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({"url": url}));
        let loader = answer["loaderId"].clone();
        let error = answer["errorText"].as_str().unwrap_or_default().to_owned();
        let mut shown = Shown { status: 0, protocol: String::new(), text: String::new(), error };
        if !shown.error.is_empty() || loader.is_null() {
            return shown;
        }
        // Of this page, not of the one before.
        let is_loaded =
            |event: &Value| event["params"]["name"] == "load" && event["params"]["loaderId"] == loader;
        self.until_event("Page.lifecycleEvent", is_loaded);
        let events = std::mem::take(&mut self.events);
        let is_page = |event: &&Value| {
            event["method"] == "Network.responseReceived" && event["params"]["loaderId"] == loader
        };
        if let Some(event) = events.iter().find(is_page) {
            let response = &event["params"]["response"];
            shown.status = response["status"].as_u64().unwrap_or(0);
            shown.protocol = response["protocol"].as_str().unwrap_or_default().to_owned();
        }
        shown.text = self.evaluate("document.body.innerText").as_str().unwrap_or_default().to_owned();
        shown
    }

    /// Asks for a file that is not to be shown but kept.
    pub fn download(&mut self, url: &str) -> Downloaded {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({"url": url}));
        if answer.get("errorText").is_none() {
            return Downloaded::Page;
        }
        let ended =
            self.until_event("Browser.downloadProgress", |event| event["params"]["state"] != "inProgress");
        let files = fs::read_dir(self.directory.join("downloads")).into_iter().flatten().flatten();
        let paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
        // What is not whole bears the name of what is not whole, if it is there at all.
        let is_whole = |path: &&PathBuf| path.extension().is_none_or(|extension| extension != "crdownload");
        let kept = paths.iter().find(is_whole).map(|path| fs::read(path).expect("it was written"));
        paths.iter().for_each(|path| _ = fs::remove_file(path));
        match (ended["params"]["state"].as_str(), kept) {
            (Some("completed"), Some(bytes)) => Downloaded::Whole(bytes),
            (Some("canceled"), None) => Downloaded::Broken,
            (state, kept) => panic!("{url}: {state:?}, {:?} bytes in {paths:?}", kept.map(|kept| kept.len())),
        }
    }

    /// What an expression comes to in the page; a promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Takes a picture of the whole page, as large as the window or larger, and keeps it there.
    pub fn screenshot(&mut self, path: &Path) {
        let answer =
            self.call("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": true}));
        let text = self.directory.write("picture", answer["data"].as_str().expect("there is a picture"));
        let mut decode = Command::new("sh");
        decode.args(["-c", "base64 -d \"$1\" > \"$2\"", "sh"]).arg(text).arg(path);
        run(&mut decode);
    }

    /// That nothing of the page is beside the screen.
    pub fn assert_fits(&mut self) {
        let is_wider = self.evaluate("document.documentElement.scrollWidth > window.innerWidth");
        assert_eq!(is_wider, false, "the page is wider than the screen");
    }

    /// Shows pages as on a screen of this size, for one who likes it light or dark.
    pub fn set_screen(&mut self, width: u32, height: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser reads");
        loop {
            let message = self.next(method);
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// Waits for an event, which may have come already; it stays among the events.
    fn until_event(&mut self, method: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        let mut looked_at = 0;
        loop {
            while let Some(event) = self.events.get(looked_at) {
                if event["method"] == method && is_meant(event) {
                    return event.clone();
                }
                looked_at += 1;
            }
            let message = self.next(method);
            self.events.push_back(message);
        }
    }

    fn next(&mut self, awaited: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let left = deadline.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain: {awaited}"))
    }
}

/// Messages end with a NUL each.
fn messages(answers: File) -> Receiver<Value> {
    let (queue, messages) = channel();
    std::thread::spawn(move || {
        let mut answers = BufReader::new(answers);
        loop {
            let mut message = Vec::new();
            if answers.read_until(0, &mut message).is_err() || message.pop() != Some(0) {
                return;
            }
            if let Ok(message) = serde_json::from_slice(&message)
                && queue.send(message).is_err()
            {
                return;
            }
        }
    });
    messages
}

/// Where pictures of a test are kept, to be looked at.
pub fn pictures() -> PathBuf {
    let place = crate::gateway::binary().parent().expect("it lies in a directory").join("pictures");
    fs::create_dir_all(&place).expect("a directory can be made");
    place
}
