//! Names the shared library's ABI. Rule: the number is the header's, and stands there alone.

fn main() {
    println!("cargo::rerun-if-changed=include/lockgate.h");
    let header = std::fs::read_to_string("include/lockgate.h").expect("the header is there");
    let number = header.lines().find_map(|line| line.strip_prefix("#define LOCKGATE_ABI_VERSION "));
    let number = number.expect("the header says which ABI it is").trim();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblockgate.so.{number}");
    println!("cargo::rustc-env=LOCKGATE_ABI_VERSION={number}");
}
