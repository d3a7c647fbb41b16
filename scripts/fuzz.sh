#!/bin/sh
# Runs each fuzz target for so many seconds, from a corpus that is made first, then says what the corpus covers.
# Rule: a crash fails the run, and so does a corpus that covers less of what its target is for than it must.
#
#   scripts/fuzz.sh SECONDS [TARGET...]        SECONDS = 0: what the corpus covers, nothing else
set -eu
seconds=$1
shift
covered_percent_min=80

cargo fuzz --version >/dev/null 2>&1 || { echo "installing: cargo-fuzz"; cargo install --locked --quiet cargo-fuzz; }
cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal || {
    echo "scripts/fuzz.sh: libFuzzer needs a nightly toolchain, and it could not be fetched from here" >&2
    exit 1
}
sysroot=$(rustc +nightly --print sysroot)
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
tools=$sysroot/lib/rustlib/$host/bin
[ -x "$tools/llvm-cov" ] || rustup component add llvm-tools --toolchain nightly ||
    echo "scripts/fuzz.sh: llvm-tools could not be fetched from here: what the corpus covers is NOT MEASURED" >&2

# What a target is for: the files whose lines are counted.
sources() {
    content=crates/content/src proto=crates/proto/src virus=crates/antivirus/src inspect=crates/inspect/src
    web=crates/webfilter/src
    case $1 in
    mime) find $content/mime -name '*.rs' ! -name embedded.rs ! -name binhex.rs ! -name mbox.rs ! -name '*tests.rs' ;;
    zip)
        find $content/archive/zip* $content/codec/deflate64* $content/codec/implode* $content/codec/shrink* $content/codec/lz.rs \
            $content/codec/lz $content/codec/unpacker.rs $content/codec/ppmd.rs $content/codec/ppmd/arena* $content/codec/ppmd/c* \
            $content/codec/ppmd/i* -name '*.rs' ! -name tests.rs
        ;;
    gzip) echo $content/codec/gzip $content/codec/gzip.rs ;;
    bzip2) echo $content/codec/bzip2 $content/codec/bzip2.rs ;;
    brotli) echo $content/codec/brotli.rs $content/codec/stream.rs ;;
    deflate) echo $content/codec/deflate.rs $content/codec/stream.rs $content/codec/inflate.rs ;;
    zstd) find $content/codec/zstd $content/codec/zstd.rs -name '*.rs' ! -name tests.rs ;;
    archivers)
        find $content/archive/arj* $content/archive/lha* $content/archive/packed.rs $content/archive/rar* $content/codec/lzh* \
            $content/codec/rar* -name '*.rs' ! -name tests.rs ! -name writer.rs
        ;;
    cabinets)
        find $content/archive/cab* $content/archive/chm* $content/codec/lzw* $content/codec/lzx* $content/codec/szdd* \
            $content/codec/mszip.rs $content/codec/quantum* -name '*.rs' ! -name tests.rs
        ;;
    carriers)
        find $content/archive/ar.rs $content/archive/carrier* $content/archive/cpio* $content/archive/iso* $content/archive/rpm.rs \
            $content/archive/sevenz* $content/codec/filter* $content/codec/lzip.rs $content/codec/lzma* $content/codec/xz* \
            $content/codec/ppmd/h* $content/archive/disguise.rs -name '*.rs' ! -name tests.rs
        ;;
    documents) find $content/document -name '*.rs' ! -name tests.rs ;;
    tar) echo $content/archive/tar $content/archive/tar.rs ;;
    embedded) echo $content/mime/embedded.rs $content/mime/binhex.rs $content/mime/yenc.rs ;;
    mbox) echo $content/mime/mbox.rs ;;
    filetype) echo $content/filetype $content/filetype.rs ;;
    smtp_receiver) echo $proto/smtp/receiver.rs $proto/dotted.rs $proto/lines.rs $proto/line_ends.rs ;;
    smtp_command) echo $proto/smtp/command.rs $proto/smtp/address.rs $proto/smtp/parameters.rs $proto/smtp/server.rs ;;
    smtp_reply) echo $proto/smtp/reply.rs $proto/smtp/capabilities.rs ;;
    pop3) echo $proto/pop3/command.rs $proto/pop3/exchange.rs $proto/pop3/receiver.rs ;;
    packets) find crates/packet/src/decode* crates/packet/src/fragments.rs crates/packet/src/flows.rs -name '*.rs' ! -name tests.rs ;;
    reassembly) echo crates/packet/src/stream/reassembly.rs crates/packet/src/pieces.rs crates/packet/src/stream/established.rs ;;
    sniffer)
        find crates/capture/src -name '*.rs' ! -path '*/tests*' ! -name interface.rs ! -name queue.rs ! -name system.rs ! -name file.rs
        ;;
    http2_frames) echo $proto/http/http2_frames.rs ;;
    dns) find $proto/dns -name '*.rs' ! -name tests.rs ;;
    ftp) find $proto/ftp -name '*.rs' ! -name tests.rs ;;
    tls_handshake) for file in bytes certificate fingerprint heard spectator; do echo $proto/tls/$file.rs; done ;;
    tls_hello) echo $proto/tls/hello.rs $proto/tls/reader.rs $proto/tls/mod.rs ;;
    proxy_protocol) echo $proto/proxy_protocol.rs ;;
    http_request) find $proto/http -name '*.rs' ! -path '*/tests*' ! -name response.rs ! -name http2.rs ! -name http2_frames.rs ;;
    http2_heads) echo $proto/http/http2.rs ;;
    websocket) echo $proto/websocket/reader.rs $proto/websocket/writer.rs ;;
    socks) echo $proto/socks.rs ;;
    http_response)
        for file in body fields framing lines machine refusal response; do echo $proto/http/$file.rs; done
        ;;
    matcher) echo crates/matcher/src ;;
    antivirus_database)
        echo $virus/ruleset $virus/compiler.rs $virus/group.rs $virus/container.rs $virus/signed.rs $virus/asks.rs $virus/logical.rs \
            $virus/yara/parser.rs crates/perl/src/parser.rs
        ;;
    antivirus_scanner)
        for file in asking findings hashes held lane late needed programs scanner sections tagged text texts; do echo $virus/$file.rs; done
        find $virus/icons $virus/layout $virus/page -name '*.rs' ! -name tests.rs ! -name reference.rs
        ;;
    antivirus_stored) echo $virus/stored.rs crates/stored/src/lib.rs crates/stored/src/reader.rs crates/stored/src/types.rs ;;
    inspect_layers) echo $inspect/layers.rs $inspect/panel.rs $inspect/hold.rs $inspect/session.rs ;;
    phrases) find $web/phrases -name "*.rs" ! -name tests.rs ;;
    weblists) find $web/ruleset $web/compiler.rs $web/filters.rs $web/moment.rs -name '*.rs' ;;
    url_lookup) for file in address database filters networks table; do echo $web/$file.rs; done ;;
    web_requests)
        for file in asking content_type patterns request rewriter rewrites scanner ruleset/replacement ruleset/words; do echo $web/$file.rs; done
        ;;
    perl) find crates/perl/src -name '*.rs' ! -name tests.rs ;;
    ids_rules) find crates/ids/src -name '*.rs' ! -name '*tests.rs' ! -name report.rs ;;
    settings) find crates/lockgate/src/config -name '*.rs' ! -name reference.rs ! -name tests.rs ;;
    *) echo "scripts/fuzz.sh: what is the target $1 for? Say it in sources()" >&2; return 1 ;;
    esac
}

# The longest input that a target makes up: as long as what it reads needs to be, since short ones are read more often.
longest() {
    case $1 in
    socks) echo 1024 ;;
    weblists | web_requests) echo 2048 ;;
    *) echo 65536 ;;
    esac
}

targets=${*:-$(cargo +nightly fuzz list --fuzz-dir fuzz)}
cargo run --quiet --release -p lockgate-tests --bin fuzz-seeds -- fuzz/corpus

[ "$seconds" = 0 ] || for target in $targets; do
    echo "fuzz: $target, $seconds s"
    cargo +nightly fuzz run --fuzz-dir fuzz "$target" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len="$(longest "$target")" -print_final_stats=1 -verbosity=0
done

[ -x "$tools/llvm-cov" ] || exit 0
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
too_little=
# An instrumented program reads the corpus once; the profile says which lines that has met.
RUSTFLAGS=-Cinstrument-coverage cargo +nightly fuzz build --fuzz-dir fuzz --sanitizer none --target-dir fuzz/target/covered \
    >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
for target in $targets; do
    program=$(find fuzz/target/covered -path "*/release/$target" -type f)
    LLVM_PROFILE_FILE=$made/$target.profraw "$program" -runs=0 -artifact_prefix="$made/" "fuzz/corpus/$target" >"$made/log" 2>&1 ||
        { cat "$made/log" >&2; exit 1; }
    "$tools/llvm-profdata" merge -sparse "$made/$target.profraw" -o "$made/$target.profdata"
    existing=
    for path in $(sources "$target"); do [ ! -e "$path" ] || existing="$existing $(pwd)/$path"; done
    # shellcheck disable=SC2086 # the list is meant to be split
    "$tools/llvm-cov" report "$program" -instr-profile="$made/$target.profdata" $existing >"$made/report"
    # The totals: regions (count, missed, %), functions, lines.
    percent=$(awk '$1 == "TOTAL" { print int($10) }' "$made/report")
    echo "covered: $target: $percent % of the lines"
    if [ "$percent" -lt $covered_percent_min ]; then
        too_little="$too_little $target"
        cat "$made/report"
    fi
done
[ -z "$too_little" ] || { echo "scripts/fuzz.sh: less than $covered_percent_min %:$too_little" >&2; exit 1; }
