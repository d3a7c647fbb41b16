//! The commands as a person types them. Rule: names, options and help; what they do is in the file of each command.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};

/// The whole command line.
pub fn command() -> Command {
    Command::new("lockgate")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A content-security gateway in one process: viruses do not pass.")
        .after_help(
            "Exit status: 0 all is well (scan: clean), 1 something was found (url: banned), 2 something went wrong.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommands([serve(), check(), scan(), ids(), url(), explain(), ca(), reference()])
}

/// Each command that people are shown, with its help.
pub fn helps() -> Vec<(String, String)> {
    let mut whole = command().term_width(100);
    whole.build();
    let shown = whole.get_subcommands_mut().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    shown.map(|sub| (sub.get_name().to_owned(), sub.render_long_help().to_string())).collect()
}

fn config() -> Arg {
    Arg::new("config")
        .long("config")
        .short('c')
        .value_name("FILE")
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help("The configuration file [default: one within the program, for trying out]")
}

fn json(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}

fn serve() -> Command {
    Command::new("serve")
        .about("Run the gateway; reloads on SIGHUP, drains on SIGTERM")
        .after_help(
            "SIGHUP loads configuration and databases anew and opens the event file again; on any error what was \
             loaded stays. A listener's address, threads and pools change at the next start.\n\n\
             lockgate reference --toml prints a configuration with every key, its default and what it does.",
        )
        .arg(config())
}

fn check() -> Command {
    Command::new("check")
        .about("Load everything, say what was understood and what was not")
        .after_help(
            "Exit status: 0 all was understood, 2 something was not.\n\n\
             lockgate reference --toml prints a configuration with every key, its default and what it does.",
        )
        .arg(config())
        .arg(json("One JSON object with the counts, then one for each failure"))
}

fn scan() -> Command {
    Command::new("scan")
        .about("Scan files, mails, archives and directories")
        .after_help("Exit status: 0 clean, 1 something was found, 2 something went wrong.")
        .arg(config())
        .arg(
            Arg::new("database")
                .long("database")
                .short('d')
                .value_name("PATH")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("A signature database, or a directory of them, instead of the configured ones"),
        )
        .arg(
            Arg::new("cache")
                .long("cache")
                .value_name("WHERE")
                .help("Where compiled databases are kept: a directory, auto or off [default: as configured]"),
        )
        .arg(json("One JSON object for each object scanned"))
        .args(told_of_scan())
        .arg(
            Arg::new("path")
                .value_name("PATH")
                .required_unless_present("file-list")
                .num_args(1..)
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("Files and directories; - is standard input"),
        )
}

/// What `lockgate scan` reads and tells, in `clamscan`'s words.
fn told_of_scan() -> [Arg; 6] {
    // Scripts say the same twice.
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).overrides_with(name);
    // What is always done may be asked for, but not forbidden.
    let always = |name: &'static str, short: char| {
        let word = Arg::new(name).long(name).short(short).value_name("yes").value_parser(["yes"]);
        word.num_args(0..=1).require_equals(true).hide_possible_values(true).overrides_with(name)
    };
    [
        Arg::new("file-list")
            .long("file-list")
            .short('f')
            .value_name("FILE")
            .action(ArgAction::Append)
            .value_parser(clap::value_parser!(std::path::PathBuf))
            .help("Scan what the lines of a file name; - is standard input"),
        flag("infected")
            .short('i')
            .visible_short_alias('o')
            .visible_alias("suppress-ok-results")
            .help("Tell only of what something was found in, or could not be inspected"),
        flag("quiet").help("Tell of errors only; the exit status says the rest"),
        flag("no-summary").help("No counts at the end (a terminal alone gets them)"),
        always("recursive", 'r').help("What is below directories: always so"),
        always("allmatch", 'z').help("All findings of a file, not the first alone: always so"),
    ]
}

fn ids() -> Command {
    let path = |name: &'static str| {
        Arg::new(name).long(name).value_name("FILE").value_parser(clap::value_parser!(std::path::PathBuf))
    };
    let word = |name: &'static str| Arg::new(name).long(name);
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("ids")
        .about("Ask intrusion rules about packets: captured, passing, or waiting inline")
        .after_help(
            "What is found is written as EVE JSON, in Suricata's field names.\n\n\
             Exit status: 0 all captures were read, or a signal has ended listening, 2 something went wrong.",
        )
        .group(ArgGroup::new("source").args(["pcap", "interface", "queue"]).required(true))
        .arg(config())
        .args([
            path("rules").short('r').action(ArgAction::Append).help(
                "Rules of Suricata or Snort, or a directory of them, instead of the configured ones",
            ),
            path("pcap").short('p').action(ArgAction::Append).help("A capture file, pcap or pcapng; - is standard input, builtin:demonstration one to try out"),
            word("interface").short('i').value_name("NAME").help(
                "An interface whose packets are listened to as they pass (CAP_NET_RAW), until SIGINT or SIGTERM",
            ),
            word("queue").short('q').value_name("NUMBER").value_parser(clap::value_parser!(u16)).help(
                "A queue (iptables -j NFQUEUE --queue-num NUMBER) whose packets wait for a verdict (CAP_NET_ADMIN): what drop \
                 and reject match is dropped, and what follows in its flow",
            ),
            flag("bypass").requires("queue").help(
                "Where more packets wait than are asked about, let them pass unasked [default: they are dropped]",
            ),
            flag("no-promisc").requires("interface").help("Listen to packets for this machine alone"),
            word("ring").requires("interface").value_name("MIB").default_value("64").value_parser(clap::value_parser!(u32).range(2..=4096)).help(
                "How much memory packets may wait in at the interface",
            ),
            path("eve").short('e').help("Where events are written [default: - is standard output]"),
            word("variable").action(ArgAction::Append).value_name("NAME=LIST").help(
                "What $NAME stands for in rules, such as HOME_NET=[10.0.0.0/8]",
            ),
            word("action-order").value_name("ACTIONS").default_value("pass,drop,reject,alert").help(
                "Which rules go first of those that match at one moment",
            ),
            word("checksums").value_name("HOW").value_parser(["verify", "ignore"]).default_value("verify").help(
                "Whether segments with a wrong checksum are left out, as their receiver does",
            ),
            flag("midstream").help("Follow connections whose beginning was not captured"),
            word("unbegun").value_name("HOW").value_parser(["ask", "pass", "stop"]).default_value("ask").help(
                "What becomes of connections whose beginning was not captured",
            ),
            word("target").action(ArgAction::Append).value_name("SYSTEM=NETWORK").help(
                "What kind of system is where, such as windows=10.0.0.0/8: it decides which of overlapping segments and \
                 fragments count",
            ),
            word("urgent").value_name("WHERE").value_parser(["apart", "within"]).default_value("apart").help(
                "Where bytes are read that are sent as urgent: apart from the stream, as sockets do, or within it (SO_OOBINLINE)",
            ),
            flag("one-sided").help("Follow connections of which one side was captured"),
            flag("ignore-vlans").help("Take packets with different VLAN tags for one flow"),
            flag("stop").help("Act as if inline: what drop and reject match goes no further, nor does what follows in its flow"),
            word("depth").value_name("BYTES").value_parser(clap::value_parser!(u64)).help(
                "How much of each side of a connection is read [default: all]",
            ),
        ])
        .args(told())
}

/// What `lockgate ids` tells.
fn told() -> [Arg; 6] {
    let word = |name: &'static str| Arg::new(name).long(name);
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    [
        word("only").value_name("WHAT").value_parser(["alerts"]).help("Tell of alerts alone, not of flows and what was said"),
        flag("payload").help("Show the packet and its payload in alerts"),
        word("alerts-max").value_name("NUMBER").value_parser(clap::value_parser!(u16).range(1..)).help(
            "How many alerts are told of one packet; those of the rules that go last are only counted [default: 15]",
        ),
        flag("guess-transactions").help(
            "Tell alerts of packets and streams with the request or answer that is at hand, where there is one alone",
        ),
        word("forwarded").value_name("HOW").value_parser(["beside", "instead"]).help(
            "Tell for whom a proxy has asked (X-Forwarded-For), beside the packet's addresses or instead of the client's",
        ),
        word("forwarded-by").requires("forwarded").value_name("PROXIES").value_parser(["reverse", "forward"]).default_value("reverse").help(
            "Whose proxies say so: those before the servers, of whom the last counts, or those of clients, of whom the first does",
        ),
    ]
}

fn url() -> Command {
    Command::new("url")
        .about("What the web filter says of a URL, and which list says it")
        .after_help(
            "Exit status: 0 no list bans it, 1 one of them is banned, 2 something went wrong.\n\n\
             Time limits of lists are taken at the time of asking. Every line that has the URL is named, not only the one \
             that decides: taking that one out may free nothing.",
        )
        .arg(config())
        .arg(
            Arg::new("lists")
                .long("lists")
                .short('l')
                .value_name("PATH")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("A web list, or a directory of them, instead of the configured ones"),
        )
        .arg(
            Arg::new("group")
                .long("group")
                .short('g')
                .value_name("NAME")
                .help("The policy group whose lists are asked [default: default]"),
        )
        .arg(
            Arg::new("content")
                .long("content")
                .value_name("FILE")
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("The page itself: what its phrases come to"),
        )
        .arg(
            Arg::new("media-type")
                .long("media-type")
                .value_name("TYPE")
                .help("What the server says that it sends, such as video/mpeg or \"text/html; charset=iso-8859-2\""),
        )
        .arg(Arg::new("header").long("header").short('H').value_name("LINE").action(ArgAction::Append).help(
            "A line of the request's header, such as \"User-Agent: x\" or \"Referer: http://a.example/\"",
        ))
        .arg(
            Arg::new("client")
                .long("client")
                .value_name("ADDRESS")
                .value_parser(clap::value_parser!(std::net::IpAddr))
                .help("Who asks"),
        )
        .arg(json("One JSON object for each URL"))
        .arg(
            Arg::new("url")
                .value_name("URL")
                .required(true)
                .num_args(1..)
                .help("URLs; http:// may be left out"),
        )
}

fn explain() -> Command {
    Command::new("explain")
        .about("Why that verdict: rule, database, part path, offset")
        .after_help("Reads the event files of the configuration, the newest first, and those they were rotated to (not compressed).")
        .arg(config())
        .arg(
            Arg::new("eve")
                .long("eve")
                .value_name("FILE")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("Event files to look in instead of the configured one"),
        )
        .arg(
            Arg::new("id")
                .value_name("ID")
                .required(true)
                .help("The transaction's id, as it stands in the reply to the client and in the log"),
        )
}

fn ca() -> Command {
    let der = Arg::new("der").long("der").action(ArgAction::SetTrue).help("DER in place of PEM");
    Command::new("ca")
        .about("The authority that clients need where TLS is intercepted")
        .after_help(
            "Clients of a listener with intercept_tls = true need its certificate among those they trust; docs/interception.md \
             says how. The key stays in its file.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(Command::new("export").about("Print the certificate, as PEM").arg(config()).arg(der))
        .subcommand(Command::new("show").about("Say whose it is, until when it is valid, and its fingerprint").arg(config()))
}

fn reference() -> Command {
    let shape = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("reference")
        .hide(true)
        .about("Print the reference from the tables in the program")
        .args([shape("markdown"), shape("man"), shape("toml")])
        .group(ArgGroup::new("shape").args(["markdown", "man", "toml"]).required(true))
}

/// Paths given to an option or argument.
pub fn paths(matches: &ArgMatches, name: &str) -> Vec<std::path::PathBuf> {
    matches.get_many(name).into_iter().flatten().cloned().collect()
}
