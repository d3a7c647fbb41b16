//! Postfix with a configuration of the test's own. Rule: the system's own Postfix is not touched.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use crate::dovecot::Dovecot;
use crate::namespace::Namespace;
use crate::process::{Running, run};
use crate::temporary::{Directory, delivered};
use crate::wait;

/// A Postfix that listens on the loopback interface and delivers for example.org into one maildir.
#[derive(Debug)]
pub struct Postfix {
    /// Where its SMTP server is.
    pub address: SocketAddr,
    directory: Directory,
    // Dropped before the directory is removed, but after nothing else needs it.
    running: Option<Running>,
}

/// What is served besides the SMTP server at [`Postfix::address`].
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// Lines for `main.cf`, each `name = value`.
    pub main: String,
    /// Options for the SMTP server itself, each `-o name=value`, one a line.
    pub server_options: String,
    /// Whole lines for `master.cf`.
    pub master: String,
}

impl Postfix {
    /// Starts one at an address of its own. `main` are lines for `main.cf`.
    pub fn start(main: &str) -> Self {
        Self::start_at(wait::free_address(), &Services { main: main.to_owned(), ..Services::default() })
    }

    /// Starts one there. `DIRECTORY` in lines given stands for its directory.
    pub fn start_at(address: SocketAddr, services: &Services) -> Self {
        Self::start_on(None, address, services)
    }

    /// Starts one on port 25 of a namespace.
    pub fn start_within(namespace: &Namespace, main: &str) -> Self {
        let main = format!("inet_interfaces = all\n{main}");
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 25));
        Self::start_on(Some(namespace), address, &Services { main, ..Services::default() })
    }

    fn start_on(namespace: Option<&Namespace>, address: SocketAddr, services: &Services) -> Self {
        let directory = Directory::new("postfix");
        let path = directory.path().display().to_string();
        let (user, group) = ids_of("postfix");
        for name in ["queue", "data", "mail"] {
            fs::create_dir_all(directory.join(name)).expect("a directory can be made");
        }
        for name in ["data", "mail"] {
            std::os::unix::fs::chown(directory.join(name), Some(user), Some(group))
                .expect("tests run as root");
        }
        let main = without(MAIN, &services.main)
            .replace("USER", &user.to_string())
            .replace("GROUP", &group.to_string())
            + &services.main
            + "\n";
        directory.write("etc/main.cf", main.replace("DIRECTORY", &path));
        let master = MASTER.replace("ADDRESS", &address.to_string()).replace(
            "OPTIONS",
            &services.server_options.lines().map(|line| format!("  {line}\n")).collect::<String>(),
        ) + &services.master
            + "\n";
        directory.write("etc/master.cf", master.replace("DIRECTORY", &path));
        fs::write(directory.join("log"), "").expect("a log can be written");
        let mut command =
            namespace.map_or_else(|| Command::new("postfix"), |within| within.command("postfix"));
        command.arg("-c").arg(directory.join("etc")).arg("start-fg");
        let running = Running::start(&mut command, &directory.join("output"));
        match namespace {
            Some(namespace) => namespace.until_listening(address.port()),
            None => wait::until_listening(address),
        }
        Self { address, directory, running: Some(running) }
    }

    /// Its directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What has been delivered.
    pub fn delivered(&self) -> Vec<Vec<u8>> {
        delivered(&self.directory.join("mail/box"))
    }

    /// Waits until so many mails were delivered.
    pub fn until_delivered(&self, count: usize) -> Vec<Vec<u8>> {
        wait::until(&format!("{count} mails delivered\n{}", self.log()), || {
            Some(self.delivered()).filter(|mails| mails.len() >= count)
        })
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.directory.join("log")).unwrap_or_default()).into_owned()
    }

    /// Waits for a line of its log that holds all of these.
    pub fn until_logged(&self, words: &[&str]) -> String {
        wait::until_line(|| self.log(), words)
    }

    /// How many mails lie in its queue.
    pub fn queued(&self) -> usize {
        let list = run(Command::new("postqueue").arg("-c").arg(self.directory.join("etc")).arg("-j"));
        list.lines().filter(|line| line.starts_with('{')).count()
    }

    /// Hands it a mail as a user of the machine does.
    pub fn submit(&self, mail: &[u8], sender: &str, recipients: &[&str]) {
        let file: PathBuf = self.directory.write("submitted", mail);
        let sendmail = "sendmail -C \"$1\" -i -f \"$2\" -- $3 < \"$4\"";
        let mut command = Command::new("sh");
        command.args(["-c", sendmail, "sh"]).arg(self.directory.join("etc"));
        run(command.arg(sender).arg(recipients.join(" ")).arg(file));
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- Postfix ---\n{}", self.log());
        }
        let mut stop = Command::new("postfix");
        stop.arg("-c").arg(self.directory.join("etc")).arg("stop").stderr(std::process::Stdio::null());
        let _ = stop.stdout(std::process::Stdio::null()).status();
        self.running.take();
    }
}

/// Lines for `main.cf`: STARTTLS with Dovecot's certificate, AUTH with Dovecot's passwords.
pub fn with_tls_and_passwords(dovecot: &Dovecot) -> String {
    let certificate = dovecot.certificate();
    let key = certificate.with_file_name("key.pem");
    format!(
        "smtpd_tls_security_level = may\nsmtpd_tls_cert_file = {}\nsmtpd_tls_key_file = {}\n\
         smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = inet:{}\n",
        certificate.display(),
        key.display(),
        dovecot.auth,
    )
}

/// A user's numbers.
pub fn ids_of(user: &str) -> (u32, u32) {
    let number =
        |option| run(Command::new("id").args([option, user])).trim().parse().expect("id prints a number");
    (number("-u"), number("-g"))
}

/// The lines whose settings are not made again behind them: each process of Postfix warns of those in its log, and where that
/// is more than the log's socket takes before anybody reads it, all of them wait for each other.
fn without(main: &str, again: &str) -> String {
    let key = |line: &str| line.split('=').next().unwrap_or(line).trim().to_owned();
    let others: Vec<String> = again.lines().map(key).collect();
    main.lines().filter(|line| !others.contains(&key(line))).map(|line| format!("{line}\n")).collect()
}

const MAIN: &str = "\
compatibility_level = 3.6
queue_directory = DIRECTORY/queue
data_directory = DIRECTORY/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = DIRECTORY/log
maillog_file_prefixes = DIRECTORY
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = postfix.example.org
mydomain = example.org
myorigin = example.org
mydestination =
mynetworks = 127.0.0.0/8
local_recipient_maps =
alias_maps =
alias_database =
virtual_mailbox_domains = example.org
virtual_mailbox_base = DIRECTORY/mail
virtual_mailbox_maps = static:box/
virtual_minimum_uid = 1
virtual_uid_maps = static:USER
virtual_gid_maps = static:GROUP
smtpd_relay_restrictions = permit_mynetworks, permit_sasl_authenticated, reject_unauth_destination
smtpd_authorized_xclient_hosts = 127.0.0.1
disable_dns_lookups = yes
smtp_host_lookup = native
append_dot_mydomain = no
in_flow_delay = 0
smtpd_error_sleep_time = 0
biff = no
";

const MASTER: &str = "\
ADDRESS inet n - n - - smtpd
OPTIONSpickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
";
