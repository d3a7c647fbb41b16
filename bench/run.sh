#!/bin/sh
# Builds the gateway and the bench in release form and runs the scenarios named, or all of them.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p lockgate -p lockgate-bench
ulimit -n "$(ulimit -Hn)"
target=${CARGO_TARGET_DIR:-target}
exec "$target/release/lockgate-bench" "$@"
