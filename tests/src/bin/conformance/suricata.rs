//! Suricata as Debian ships it, to compare with. Rule: it is never a service, and what it writes lies where its caller says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use lockgate_tests::process::{Running, outcome, printed_by};
use lockgate_tests::temporary::Directory;
use lockgate_tests::wait;

/// What stands for the variables of rules.
pub const VARIABLES: [(&str, &str); 24] = [
    ("HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]"),
    ("EXTERNAL_NET", "!$HOME_NET"),
    ("HTTP_SERVERS", "$HOME_NET"),
    ("SMTP_SERVERS", "$HOME_NET"),
    ("SQL_SERVERS", "$HOME_NET"),
    ("DNS_SERVERS", "$HOME_NET"),
    ("TELNET_SERVERS", "$HOME_NET"),
    ("AIM_SERVERS", "$EXTERNAL_NET"),
    ("DC_SERVERS", "$HOME_NET"),
    ("DNP3_SERVER", "$HOME_NET"),
    ("DNP3_CLIENT", "$HOME_NET"),
    ("MODBUS_CLIENT", "$HOME_NET"),
    ("MODBUS_SERVER", "$HOME_NET"),
    ("ENIP_CLIENT", "$HOME_NET"),
    ("ENIP_SERVER", "$HOME_NET"),
    ("HTTP_PORTS", "80"),
    ("SHELLCODE_PORTS", "!80"),
    ("ORACLE_PORTS", "1521"),
    ("SSH_PORTS", "22"),
    ("DNP3_PORTS", "20000"),
    ("MODBUS_PORTS", "502"),
    ("FILE_DATA_PORTS", "[80,110,143]"),
    ("FTP_PORTS", "21"),
    ("TEREDO_PORTS", "3544"),
];

/// How long it may take to load rules.
const LOADING: Duration = Duration::from_secs(120);

/// As shipped, with these rules, whatever the checksums.
fn command(rules: &Path, out: &Path) -> Result<Command, String> {
    if Command::new("suricata").arg("-V").output().is_err() {
        return Err(String::from(
            "suricata is not installed: apt-get install -t bookworm-backports suricata",
        ));
    }
    std::fs::create_dir_all(out).expect("a directory can be made");
    let mut command = Command::new("suricata");
    command.args(["-c", "/etc/suricata/suricata.yaml", "-k", "none"]);
    for (name, value) in VARIABLES {
        let group = if name.ends_with("_PORTS") { "port-groups" } else { "address-groups" };
        command.arg("--set").arg(format!("vars.{group}.{name}={value}"));
    }
    command.arg("-S").arg(rules).arg("-l").arg(out);
    Ok(command)
}

/// The events of one capture.
pub fn events(rules: &Path, capture: &Path, out: &Path) -> Result<String, String> {
    let ended = outcome(command(rules, out)?.args(["--runmode", "single"]).arg("-r").arg(capture));
    if !ended.status.success() {
        return Err(format!("suricata: {}", printed_by(&ended)));
    }
    Ok(std::fs::read_to_string(out.join("eve.json")).unwrap_or_default())
}

/// One that reads captures as it is told to, each as if it were the first.
pub struct Reader {
    socket: BufReader<UnixStream>,
    _process: Running,
}

impl Reader {
    /// Loads the rules and listens.
    pub fn start(place: &Directory, rules: &Path) -> Result<Self, String> {
        let path = place.join("suricata.socket");
        let mut command = command(rules, &place.join("suricata"))?;
        command.arg(format!("--unix-socket={}", path.display()));
        let process = Running::start(&mut command, &place.join("suricata.log"));
        let stream =
            wait::within(LOADING, || UnixStream::connect(&path).ok()).ok_or("suricata does not listen")?;
        let mut reader = Self { socket: BufReader::new(stream), _process: process };
        reader.say(&json!({ "version": "0.2" }));
        Ok(reader)
    }

    fn say(&mut self, message: &Value) -> Value {
        let mut line = String::new();
        // In one piece: it reads once.
        let message = format!("{message}\n");
        let said = self.socket.get_ref().write_all(message.as_bytes());
        let said = said.and_then(|()| self.socket.read_line(&mut line));
        said.expect("suricata lives");
        serde_json::from_str(&line).expect("it answers in JSON")
    }

    /// The events of one capture.
    pub fn events(&mut self, capture: &Path, out: &Path) -> String {
        std::fs::create_dir_all(out).expect("a directory can be made");
        let arguments = json!({ "filename": capture, "output-dir": out });
        self.say(&json!({ "command": "pcap-file", "arguments": arguments }));
        let read = wait::within(LOADING, || {
            let waiting = self.say(&json!({ "command": "pcap-file-number" }));
            let current = self.say(&json!({ "command": "pcap-current" }));
            (waiting["message"] == 0 && current["message"] == "None").then_some(())
        });
        read.expect("suricata reads a capture in that time");
        std::fs::read_to_string(out.join("eve.json")).unwrap_or_default()
    }
}
