//! rspamd as Postfix's milter, with Redis beside it, as its documentation wants. Rule: see the stack's list of what is not stock.

use super::{await_port, directory, local, run, spawn};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Modules that would ask the network.
const REMOTE: [&str; 22] = [
    "rbl",
    "surbl",
    "spf",
    "dkim",
    "dmarc",
    "arc",
    "asn",
    "mx_check",
    "fuzzy_check",
    "phishing",
    "url_redirector",
    "rspamd_update",
    "dkim_signing",
    "p0f",
    "whitelist",
    "neural",
    "greylist",
    "ratelimit",
    "replies",
    "history_redis",
    "reputation",
    "hfilter",
];

pub fn start(home: &Path, clamd: SocketAddr, milter: SocketAddr) -> std::io::Result<Vec<Child>> {
    let redis = local(24379);
    let redis_home = directory(&home.join("redis"), None)?;
    let mut redis_command = Command::new("redis-server");
    redis_command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"]);
    redis_command.arg(redis.port().to_string()).arg("--dir").arg(&redis_home);
    let redis_child = spawn(&mut redis_command, &home.join("redis.log"))?;
    await_port(redis, Duration::from_secs(20))?;

    let etc = home.join("etc");
    run(Command::new("cp").arg("-r").arg("/etc/rspamd").arg(&etc))?;
    drop_remote_maps(&etc)?;
    let local_d = directory(&etc.join("local.d"), None)?;
    let write = |name: &str, text: String| fs::write(local_d.join(name), text);
    for module in REMOTE {
        write(&format!("{module}.conf"), "enabled = false;\n".into())?;
    }
    write(
        "options.inc",
        "dns { timeout = 0.1s; retransmits = 1; }\nlocal_networks = [];\nlocal_addrs = [];\n".into(),
    )?;
    write("redis.conf", format!("servers = \"{redis}\";\n"))?;
    write(
        "antivirus.conf",
        format!(
            "clamav {{ type = \"clamav\"; symbol = \"CLAM_VIRUS\"; servers = \"{clamd}\"; action = \"reject\"; \
             scan_mime_parts = true; scan_text_mime = true; max_size = 50000000; cache_expire = 0; timeout = 60; }}\n"
        ),
    )?;
    for worker in ["normal", "controller", "fuzzy"] {
        write(&format!("worker-{worker}.inc"), "enabled = false;\n".into())?;
    }
    write(
        "worker-proxy.inc",
        format!(
            "bind_socket = \"{milter}\"; milter = yes; timeout = 120s; count = 2;\n\
             upstream \"local\" {{ default = yes; self_scan = yes; }}\n"
        ),
    )?;
    write(
        "logging.inc",
        format!("type = \"file\"; filename = \"{}/rspamd.log\"; level = \"notice\";\n", home.display()),
    )?;
    for name in ["db", "run"] {
        directory(&home.join(name), None)?;
    }
    directory(home, Some("_rspamd:_rspamd"))?;
    let mut command = Command::new("rspamd");
    command.args(["-f", "-u", "_rspamd", "-g", "_rspamd", "-c"]).arg(etc.join("rspamd.conf"));
    for (key, value) in [
        ("CONFDIR", etc.clone()),
        ("LOCAL_CONFDIR", etc.clone()),
        ("DBDIR", home.join("db")),
        ("RUNDIR", home.join("run")),
        ("LOGDIR", home.to_owned()),
    ] {
        command.arg(format!("--var={key}={}", value.display()));
    }
    let child = spawn(&mut command, &home.with_file_name("rspamd.out"))?;
    await_port(milter, Duration::from_secs(240))?;
    Ok(vec![redis_child, child])
}

/// Maps that would be fetched become empty files.
fn drop_remote_maps(etc: &Path) -> std::io::Result<()> {
    let expression = r#"s,"(glob;|sign[+])?https?://[^"]*","/dev/null","#;
    let mut find = Command::new("find");
    find.arg(etc).args(["-type", "f", "-exec", "sed", "-i", "-E", expression, "{}", "+"]);
    run(&mut find)
}
