//! A Postfix of its own: one door in, one back from a content filter, everything on to the sink. Rule: stock limits.

use super::{await_port, directory, run};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub struct Postfix {
    pub pid: u32,
    configuration: PathBuf,
}

impl Postfix {
    pub fn start(
        home: &Path,
        address: SocketAddr,
        back: SocketAddr,
        sink: SocketAddr,
        extra: &str,
    ) -> std::io::Result<Self> {
        let configuration = directory(&home.join("etc"), None)?;
        directory(&home.join("queue"), None)?;
        directory(&home.join("data"), Some("postfix"))?;
        for file in ["dynamicmaps.cf", "postfix-files"] {
            let _ = fs::copy(Path::new("/etc/postfix").join(file), configuration.join(file));
        }
        fs::write(configuration.join("main.cf"), main_cf(home, sink) + extra)?;
        fs::write(configuration.join("master.cf"), master_cf(address, back))?;
        run(Command::new("postfix").arg("-c").arg(&configuration).arg("start"))?;
        await_port(address, Duration::from_secs(30))?;
        let pid = fs::read_to_string(home.join("queue/pid/master.pid"))?.trim().parse();
        Ok(Self { pid: pid.map_err(std::io::Error::other)?, configuration })
    }

    pub fn stop(&self) {
        let _ = run(Command::new("postfix").arg("-c").arg(&self.configuration).arg("stop"));
    }
}

fn main_cf(home: &Path, sink: SocketAddr) -> String {
    let at = home.display();
    format!(
        "compatibility_level = 3.6\nqueue_directory = {at}/queue\ndata_directory = {at}/data\n\
         command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\nmail_owner = postfix\n\
         setgid_group = postdrop\nmaillog_file = {at}/maillog\nmaillog_file_prefixes = {at}\nsyslog_name = bench\n\
         myhostname = gateway.bench.test\nmydestination =\nalias_maps =\nalias_database =\nlocal_recipient_maps =\n\
         local_transport = error:none\ninet_interfaces = 127.0.0.1\ninet_protocols = ipv4\nmynetworks = 127.0.0.0/8\n\
         smtpd_relay_restrictions = permit_mynetworks, reject\nrelayhost = [{}]:{}\n\
         smtp_dns_support_level = disabled\nsmtp_host_lookup = native\nsmtpd_peername_lookup = no\n\
         smtputf8_enable = no\nmessage_size_limit = 52428800\nbiff = no\ndefault_process_limit = 250\n",
        sink.ip(),
        sink.port()
    )
}

fn master_cf(address: SocketAddr, back: SocketAddr) -> String {
    let (ip, port, back_port) = (address.ip(), address.port(), back.port());
    format!(
        "{ip}:{port} inet n - n - - smtpd\n{ip}:{back_port} inet n - n - - smtpd\n  -o content_filter= -o smtpd_milters=\n  \
         -o receive_override_options=no_header_body_checks,no_unknown_recipient_checks,no_milters\n\
         amavis unix - - n - 4 smtp\n  -o smtp_data_done_timeout=1200 -o disable_dns_lookups=yes\n  \
         -o smtp_connection_cache_on_demand=no\n\
         pickup unix n - n 60 1 pickup\ncleanup unix n - n - 0 cleanup\nqmgr unix n - n 300 1 qmgr\n\
         tlsmgr unix - - n 1000? 1 tlsmgr\nrewrite unix - - n - - trivial-rewrite\nbounce unix - - n - 0 bounce\n\
         defer unix - - n - 0 bounce\ntrace unix - - n - 0 bounce\nverify unix - - n - 1 verify\n\
         flush unix n - n 1000? 0 flush\nproxymap unix - - n - - proxymap\nsmtp unix - - n - - smtp\n\
         relay unix - - n - - smtp\nerror unix - - n - - error\nretry unix - - n - - error\n\
         discard unix - - n - - discard\nanvil unix - - n - 1 anvil\nscache unix - - n - 1 scache\n\
         postlog unix-dgram n - n - 1 postlogd\n"
    )
}
