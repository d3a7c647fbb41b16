//! liblockgate as a program in C meets it: installed, found by pkg-config, built with gcc. Rule: what is run is what was installed.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::{Running, run};
use lockgate_tests::temporary::Directory;
use lockgate_tests::{curl, wait};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const RULES: &str = r#"drop http any any -> any any (msg:"Tests: traversal"; flow:established,to_server; http.uri; content:"/etc/passwd"; sid:1;)
alert http any any -> any any (msg:"Tests: page"; flow:established,to_client; file.data; content:"ordinary"; sid:2;)
"#;
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// What valgrind is to count, and to fail for.
const VALGRIND: [&str; 5] = [
    "valgrind",
    "--quiet",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,indirect,possible",
    "--error-exitcode=9",
];

/// The library, installed below the directory of what is built.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // TARGET/PROFILE/deps/TEST.
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test.parent().and_then(Path::parent).expect("TARGET/PROFILE/deps");
        let prefix = profile.join("installed");
        let name = if profile.ends_with("release") { "release" } else { "dev" };
        let mut make = Command::new("make");
        make.args(["--silent", "--directory", TREE, "install-library", &format!("PROFILE={name}")]);
        make.arg(format!("PREFIX={}", prefix.display()));
        make.env("CARGO_TARGET_DIR", profile.parent().expect("TARGET"));
        run(&mut make);
        prefix
    })
}

/// Builds a program from what is installed.
fn built(directory: &Directory, source: &Path, options: &[&str]) -> PathBuf {
    let prefix = installed();
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "lockgate"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = run(&mut ask);
    let program = directory.join("program");
    let mut compile = Command::new("gcc");
    compile.args(["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]).args(options);
    compile.arg("-o").arg(&program).arg(source).args(flags.split_whitespace());
    compile.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    run(&mut compile);
    program
}

fn example() -> PathBuf {
    installed().join("share/doc/liblockgate/proxy.c")
}

/// What ThreadSanitizer is told: of code that was not compiled for it, it sees what is allocated and copied and not how threads wait for each
/// other (the locks of Rust's library are the kernel's futexes), so it cannot judge that. The program's own code it can.
const SANITIZER: (&str, &str) = ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");

/// A command that runs a program under another, if there is one.
fn command(under: &[&str], program: &Path) -> Command {
    let mut command = match under.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.env(SANITIZER.0, SANITIZER.1);
    command
}

/// The example between curl and nginx: an ordinary page arrives, an attack is stopped, and it ends well.
fn serves_and_blocks(under: &[&str], options: &[&str]) {
    let directory = Directory::new("example");
    let program = built(&directory, &example(), options);
    let rules = directory.write("tests.rules", RULES);
    let nginx = Nginx::start();
    let page = nginx.put("page", "an ordinary page");
    let large = nginx.put("large", vec![b'x'; 1 << 20]);
    let attack = nginx.url("page?f=/%65tc/p%61sswd");
    let address = wait::free_address();
    const CLIENTS: u16 = 6;
    let mut command = command(under, &program);
    command.arg(&rules).arg(address.port().to_string()).arg((CLIENTS + 4).to_string());
    let mut proxy = Running::start(&mut command, &directory.join("log"));
    // One connection of those it serves is spent on waiting for it.
    wait::until_listening(address);
    let fetched = curl::through(address, &[&page]);
    assert_eq!((fetched.status, fetched.text().as_str()), (200, "an ordinary page"), "{fetched:?}");
    assert_eq!(curl::through(address, &[&large]).body.len(), 1 << 20);
    let stopped = curl::through(address, &["--path-as-is", &attack]);
    assert_eq!((stopped.status, stopped.text().as_str()), (403, "stopped by a rule\n"), "{stopped:?}");
    at_once(address, &page, CLIENTS);
    let status = proxy.until_ended();
    let printed = proxy.printed();
    assert!(status.success(), "{status}: {printed}");
    assert!(printed.contains("sid 1: Tests: traversal, in http.uri at 8\n"), "{printed}");
    let pages = printed.matches("sid 2: Tests: page, in file.data at 3\n").count();
    assert_eq!(pages, usize::from(CLIENTS) + 1, "{printed}");
}

/// Several clients at a time.
fn at_once(address: SocketAddr, page: &str, clients: u16) {
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| assert_eq!(curl::through(address, &[page]).text(), "an ordinary page"));
        }
    });
}

/// The program that asks for everything, from eight threads.
fn asks_everything(under: &[&str], options: &[&str]) {
    let directory = Directory::new("everything");
    let program = built(&directory, Path::new(&format!("{TREE}/tests/programs/library.c")), options);
    let printed = run(&mut command(under, &program));
    assert_eq!(printed, "0 wrong\n");
}

#[test]
fn the_example_serves_and_blocks() {
    serves_and_blocks(&[], &[]);
}

#[test]
fn the_example_has_no_fault_under_valgrind() {
    serves_and_blocks(&VALGRIND, &[]);
}

#[test]
fn the_example_has_no_race() {
    serves_and_blocks(&[], &["-fsanitize=thread"]);
}

#[test]
fn every_function_does_what_the_header_says() {
    asks_everything(&[], &[]);
    asks_everything(&VALGRIND, &[]);
    asks_everything(&[], &["-fsanitize=thread"]);
}

#[test]
fn programs_link_statically() {
    let library = installed().join("lib/liblockgate.a").display().to_string();
    let private = ["-Wl,--as-needed", &library, "-lgcc_s", "-lpthread", "-ldl", "-lm"];
    let directory = Directory::new("static");
    let program = directory.join("program");
    let mut compile = Command::new("gcc");
    compile.arg("-I").arg(installed().join("include")).arg("-o").arg(&program);
    run(compile.arg(format!("{TREE}/tests/programs/library.c")).args(private));
    assert_eq!(run(&mut Command::new(&program)), "0 wrong\n");
    assert!(!run(Command::new("ldd").arg(&program)).contains("liblockgate"));
}

#[test]
fn what_is_exported_is_what_the_header_declares() {
    let header = std::fs::read_to_string(installed().join("include/lockgate.h")).expect("it is installed");
    let code = header.split("/*").map(|text| text.split_once("*/").map_or(text, |(_, code)| code));
    let mut declared: Vec<String> = code
        .flat_map(|code| code.match_indices('(').map(|(at, _)| &code[..at]).collect::<Vec<_>>())
        .filter_map(|before| before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
        .filter(|name| name.starts_with("lockgate_"))
        .map(str::to_owned)
        .collect();
    declared.sort_unstable();
    let listed = run(Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(installed().join("lib/liblockgate.so")));
    let mut exported: Vec<String> =
        listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    exported.sort_unstable();
    assert_eq!(exported, declared);
    let dynamic = run(Command::new("readelf").arg("--dynamic").arg(installed().join("lib/liblockgate.so")));
    assert!(dynamic.contains("soname: [liblockgate.so.0]"), "{dynamic}");
}
