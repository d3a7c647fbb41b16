//! The rules of the tree that a program can check. Rule: a rule that matters is checked here, not remembered.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 700;

/// The floors of ARCHITECTURE.md, lowest first: a crate may use what is on a lower floor, nothing else of ours.
const FLOORS: [(&str, u32); 17] = [
    ("lockgate-stored", 0),
    ("lockgate-eve", 0),
    ("lockgate-model", 1),
    ("lockgate-perl", 1),
    ("lockgate-matcher", 2),
    ("lockgate-packet", 2),
    ("lockgate-proto", 2),
    ("lockgate-content", 3),
    ("lockgate-antivirus", 4),
    ("lockgate-webfilter", 4),
    ("lockgate-ids", 4),
    ("lockgate-inspect", 5),
    ("lockgate-capture", 6),
    ("lockgate-relay", 6),
    ("lockgate", 7),
    ("lockgate-library", 7),
    ("lockgate-tests", 8),
];

/// From this floor up there are sockets, threads, files and a clock.
const FLOOR_OF_THE_SHELL: u32 = 6;

/// Crates that bring a runtime, sockets or a clock.
const SHELL_CRATES: [&str; 9] =
    ["tokio", "tokio-rustls", "tokio-util", "mio", "socket2", "async-std", "smol", "chrono", "jiff"];

/// Ways into the standard library that only the shell may take.
const SHELL_PATHS: [&str; 10] = [
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::os",
];

#[test]
fn arrows_only_point_down() {
    let floors = BTreeMap::from(FLOORS);
    let mut wrong = Vec::new();
    for manifest in manifests() {
        let text = read(&manifest);
        let name = package_name(&text);
        let Some(floor) = floors.get(name.as_str()) else {
            // What has no floor yet (bench) stands above all others and nothing may use it.
            continue;
        };
        for dependency in dependencies(&text) {
            match floors.get(dependency.as_str()) {
                Some(below) if below >= floor => wrong.push(format!("{name} → {dependency}")),
                None if dependency.starts_with("lockgate") => {
                    wrong.push(format!("{name} → {dependency}, which has no floor"))
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "these do not point down:\n{}", wrong.join("\n"));
}

#[test]
fn every_crate_has_a_floor() {
    let floors = BTreeMap::from(FLOORS);
    for manifest in manifests().iter().filter(|path| path.components().any(|c| c.as_os_str() == "crates")) {
        let name = package_name(&read(manifest));
        assert!(floors.contains_key(name.as_str()), "{name} is not in FLOORS");
    }
}

#[test]
fn below_the_relay_there_is_no_runtime_no_socket_no_file_and_no_clock() {
    let floors = BTreeMap::from(FLOORS);
    let mut wrong = Vec::new();
    for manifest in manifests() {
        let text = read(&manifest);
        let name = package_name(&text);
        if floors.get(name.as_str()).is_none_or(|floor| *floor >= FLOOR_OF_THE_SHELL) {
            continue;
        }
        for dependency in dependencies(&text).iter().filter(|d| SHELL_CRATES.contains(&d.as_str())) {
            wrong.push(format!("{name} uses the crate {dependency}"));
        }
        let source = manifest.with_file_name("src");
        for path in files_below(&source).iter().filter(|path| is_rust(path) && !is_test_file(path)) {
            let mut paths = Paths::default();
            paths.visit_file(&parse(path));
            for used in paths.found.iter().filter(|used| is_of_the_shell(used)) {
                wrong.push(format!("{}: {used}", relative(path)));
            }
        }
    }
    assert!(wrong.is_empty(), "these belong to floor {FLOOR_OF_THE_SHELL} and above:\n{}", wrong.join("\n"));
}

#[test]
fn functions_and_files_are_short() {
    let mut wrong = Vec::new();
    for path in rust_files() {
        let lines = read(&path).lines().count();
        if lines > FILE_LINES_MAX {
            wrong.push(format!("{}: {lines} lines, {FILE_LINES_MAX} at most", relative(&path)));
        }
        let mut functions = Functions::default();
        functions.visit_file(&parse(&path));
        for (name, lines) in functions.found.iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX) {
            wrong
                .push(format!("{}: fn {name}: {lines} lines, {FUNCTION_LINES_MAX} at most", relative(&path)));
        }
    }
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_opens_with_its_purpose() {
    let silent: Vec<String> = rust_files()
        .iter()
        .filter(|path| !read(path).trim_start_matches("#![no_main]").trim_start().starts_with("//! "))
        .map(|path| relative(path))
        .collect();
    assert!(silent.is_empty(), "no `//! purpose` at the top of:\n{}", silent.join("\n"));
}

#[test]
fn no_path_of_one_machine_and_no_live_signature() {
    // Put together here, or this file would be its own first finding.
    let machine_paths = ["/ho\u{6d}e/", "/roo\u{74}/", "/wor\u{6b}/"];
    let eicar = [r"X5O!P%@AP[4\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS", "-TEST-FILE!$H+H*"].concat();
    let mut wrong = Vec::new();
    for path in files_below(&root()) {
        let Ok(bytes) = fs::read(&path) else { continue };
        for needle in machine_paths.iter().map(|p| p.as_bytes()).chain([eicar.as_bytes()]) {
            if let Some(at) = bytes.windows(needle.len()).position(|window| window == needle) {
                let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
                wrong.push(format!("{}:{line}: {}", relative(&path), String::from_utf8_lossy(&needle[..6])));
            }
        }
    }
    assert!(wrong.is_empty(), "not for the tree:\n{}", wrong.join("\n"));
}

#[test]
fn no_ignored_test() {
    let attribute = ["#[ig", "nore"].concat();
    let wrong: Vec<String> = rust_files()
        .iter()
        .filter(|path| read(path).contains(&attribute))
        .map(|path| relative(path))
        .collect();
    assert!(wrong.is_empty(), "a test that is not run is none:\n{}", wrong.join("\n"));
}

/// Each function's name and how many lines it has from its `fn` to its last brace.
#[derive(Default)]
struct Functions {
    found: Vec<(String, usize)>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        self.found.push((signature.ident.to_string(), last - first + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}

/// The paths that a file names, outside its tests: those of `use` taken apart, those in code as they stand.
#[derive(Default)]
struct Paths {
    found: Vec<String>,
}

impl Paths {
    fn add_use(&mut self, prefix: &str, tree: &syn::UseTree) {
        let join = |name: String| if prefix.is_empty() { name } else { format!("{prefix}::{name}") };
        match tree {
            syn::UseTree::Path(path) => self.add_use(&join(path.ident.to_string()), &path.tree),
            syn::UseTree::Name(name) => self.found.push(join(name.ident.to_string())),
            syn::UseTree::Rename(rename) => self.found.push(join(rename.ident.to_string())),
            syn::UseTree::Glob(_) => self.found.push(prefix.to_owned()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(prefix, item)),
        }
    }

    /// Macros' arguments are tokens and no syntax: `a :: b` is put together by hand.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = String::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || path.ends_with("::") => {
                    path += &ident.to_string()
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => path.push(':'),
                other => {
                    self.found.push(std::mem::take(&mut path));
                    match other {
                        TokenTree::Ident(ident) => path = ident.to_string(),
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.found.push(path);
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use("", &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found.push(names.join("::"));
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.add_tokens(invocation.tokens.clone());
        syn::visit::visit_macro(self, invocation);
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "test")
    })
}

fn is_of_the_shell(path: &str) -> bool {
    let path = path.strip_prefix("core::").map_or(path.to_owned(), |rest| format!("std::{rest}"));
    let starts = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}::"));
    SHELL_PATHS.iter().any(|prefix| starts(prefix)) || starts("tokio")
}

/// A sibling file that only tests see.
fn is_test_file(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"))
        || path.components().any(|component| component.as_os_str() == "tests")
}

fn manifests() -> Vec<PathBuf> {
    files_below(&root())
        .into_iter()
        .filter(|path| path.ends_with("Cargo.toml") && path != &root().join("Cargo.toml"))
        .collect()
}

fn package_name(manifest: &str) -> String {
    let line = manifest.lines().find(|line| line.starts_with("name = ")).expect("a package has a name");
    line.trim_start_matches("name = ").trim_matches('"').to_owned()
}

/// What stands under `[dependencies]`; tests may use what they like.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
            if let Some(name) = line.strip_prefix("[dependencies.") {
                names.push(name.trim_end_matches(']').to_owned());
            }
        } else if section.ends_with("dependencies]") && !section.contains("dev-dependencies") {
            let end = line.find(['.', ' ', '=']).unwrap_or(0);
            names.push(line[..end].to_owned());
        }
    }
    names.retain(|name| !name.is_empty() && !name.starts_with('#'));
    names
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests stand in the tree").to_owned()
}

fn rust_files() -> Vec<PathBuf> {
    files_below(&root()).into_iter().filter(|path| is_rust(path)).collect()
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// All files of the tree: what git ignores is made, not written.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let made = [".git", "target", "corpus", "artifacts", "coverage", "out", "shared"];
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the tree can be read").flatten() {
            let path = entry.path();
            let is_made = made.iter().any(|name| entry.file_name() == *name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_made => waiting.push(path),
                // In a second worktree .git is a file.
                Ok(kind) if kind.is_file() && !is_made => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn parse(path: &Path) -> syn::File {
    syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", relative(path)))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn the_scanners_see_what_they_are_for() {
    let source = "use std::{fs::File, net::{TcpStream, SocketAddr}};\n\
                  fn f() { let now = std::time::Instant::now(); g!(x, std::thread::sleep(y)); }\n\
                  #[cfg(test)] mod tests { use std::process::Command; }\n\
                  /// std::env is only spoken of.\n\
                  impl T { fn long(&self) {\n\n\n} }";
    let file = syn::parse_file(source).expect("it is Rust");
    let mut paths = Paths::default();
    paths.visit_file(&file);
    let used: Vec<&str> =
        paths.found.iter().map(String::as_str).filter(|path| is_of_the_shell(path)).collect();
    assert_eq!(
        used,
        ["std::fs::File", "std::net::TcpStream", "std::time::Instant::now", "std::thread::sleep"]
    );
    let mut functions = Functions::default();
    functions.visit_file(&file);
    assert_eq!(functions.found, [("f".to_owned(), 1), ("long".to_owned(), 4)]);
    assert_eq!(dependencies("[dependencies]\na.workspace = true\n[dev-dependencies]\nb = \"1\"\n"), ["a"]);
}
