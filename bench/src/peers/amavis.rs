//! amavisd as Postfix's content filter: viruses by clamd, no spam checks. Rule: see the stack's list of what is not stock.

use super::{await_port, directory, spawn};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

pub fn start(home: &Path, clamd: &Path, address: SocketAddr, back: SocketAddr) -> std::io::Result<Child> {
    for name in ["tmp", "db", "var"] {
        directory(&home.join(name), None)?;
    }
    let at = home.display();
    let configuration = format!(
        r#"use strict;
do '/etc/amavis/conf.d/01-debian';
do '/etc/amavis/conf.d/20-debian_defaults';
$daemon_user = 'amavis'; $daemon_group = 'amavis'; $max_servers = 4; $max_requests = 1000;
$mydomain = 'bench.test'; $myhostname = 'gateway.bench.test';
$MYHOME = '{at}'; $TEMPBASE = '{at}/tmp'; $ENV{{TMPDIR}} = $TEMPBASE; $db_home = '{at}/db'; $helpers_home = '{at}/var';
$pid_file = '{at}/amavisd.pid'; $lock_file = '{at}/amavisd.lock'; $QUARANTINEDIR = undef;
$do_syslog = 0; $LOGFILE = '{at}/amavis.log'; $log_level = 0; $enable_db = 0; $enable_zmq = 0; $enable_global_cache = 0;
$inet_socket_bind = '{ip}'; $inet_socket_port = {port}; @inet_acl = qw(127.0.0.0/8); @mynetworks = qw(127.0.0.0/8);
$forward_method = 'smtp:[{back_ip}]:{back_port}'; $notify_method = $forward_method;
$virus_admin = undef; $virus_quarantine_to = undef; $banned_quarantine_to = undef; $bad_header_quarantine_to = undef;
$final_virus_destiny = D_DISCARD; $enable_dkim_verification = 0; $enable_dkim_signing = 0;
@local_domains_maps = (['receiver.test']); @bypass_virus_checks_maps = (0); @bypass_spam_checks_maps = (1);
@av_scanners = (['ClamAV', \&ask_daemon, ["CONTSCAN {{}}\n", '{socket}'], qr/\bOK$/m, qr/\bFOUND$/m,
  qr/^.*?: (?!Infected Archive)(.*) FOUND$/m]);
@av_scanners_backup = ();
1;
"#,
        ip = address.ip(),
        port = address.port(),
        back_ip = back.ip(),
        back_port = back.port(),
        socket = clamd.display(),
    );
    // amavisd refuses a configuration that it could write itself.
    let configured = home.with_file_name("amavis.conf");
    fs::write(&configured, configuration)?;
    directory(home, Some("amavis:amavis"))?;
    let mut command = Command::new("amavisd");
    command.arg("-c").arg(configured).arg("foreground").current_dir(home);
    let child = spawn(&mut command, &home.with_file_name("amavis.out"))?;
    await_port(address, Duration::from_secs(60))?;
    Ok(child)
}
