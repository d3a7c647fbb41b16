#!/bin/sh
# Installs the Debian packages of the groups named, where they are missing; no service is started.
# Rule: when nothing is missing, nothing is touched and no privilege is asked for.
#
#   scripts/install.sh GROUP...          build, run, test, conformance, fuzz, bench
set -eu

packages=
for group in "$@"; do
    case $group in
    # rustc needs a C compiler to link with; cargo needs the certificates to fetch crates.
    build) packages="$packages gcc libc6-dev ca-certificates" ;;
    # The clients that the commands to try are written for.
    run) packages="$packages swaks curl" ;;
    # The peers of the end-to-end tests: servers, clients, network namespaces, certificates; what packs each format.
    test) packages="$packages swaks tcpdump libnet-ssleay-perl postfix dovecot-core dovecot-pop3d mpop fetchmail \
        nginx-light apache2-bin apache2-utils haproxy curl nftables iptables iproute2 openssl bzip2 gzip zstd mount util-linux procps \
        squid microsocks python3-websockets python3-grpcio nghttp2-server chromium libnss3-tools fonts-dejavu-core \
        ncompress xz-utils lzip zip 7zip jlha-utils default-jre-headless arj tar cpio binutils genisoimage gcab \
        fp-utils-3.2.2 mscompress libgsf-bin qpdf sharutils macutils makeself make pkgconf valgrind" ;;
    # A reader of responses that is not ours.
    # And those that unpack archives.
    conformance) packages="$packages python3 libarchive-tools unzip cabextract lhasa libchm-bin unar" ;;
    # The stacks of today that the gateway is measured beside, and what packs bombs.
    bench) packages="$packages postfix amavisd-new clamav-daemon rspamd redis-server squid e2guardian nginx-light bzip2 xz-utils procps
        linux-perf suricata" ;;
    # libFuzzer is C++; the other programs make the seeds.
    fuzz) packages="$packages g++ brotli bzip2 zip 7zip tar gzip zstd openssl ncompress gcab fp-utils-3.2.2 mscompress \
        libgsf-bin qpdf xz-utils lzip cpio binutils genisoimage" ;;
    *) echo "scripts/install.sh: no group $group: build, run, test, conformance, bench, fuzz" >&2; exit 2 ;;
    esac
done

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "scripts/install.sh: missing:$missing" >&2
    echo "scripts/install.sh: run this as root, install sudo, or install them by hand" >&2
    exit 1
fi

# A package that brings a service would start it; 101 tells the packages' scripts that they may not.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod 755 $policy
    trap '$as_root rm -f $policy' EXIT
fi

echo "installing:$missing"
log=$(mktemp)
quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }; }
quietly $as_root apt-get update
# Debian 12 has Suricata 7 in its backports. Those are named for this one package, and apt's own sources stay as they are.
backported=
case $missing in *suricata*)
    if [ "$(. /etc/os-release; echo "${VERSION_CODENAME:-}")" = bookworm ]; then
        missing=$(echo "$missing" | sed 's/ suricata//')
        backported=$(mktemp -d)
        chmod 755 "$backported"
    fi ;;
esac
# Postfix asks how it is to be set up: not at all, each test brings its own configuration.
case $missing in *postfix*)
    quietly $as_root sh -c 'echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections' ;;
esac
# shellcheck disable=SC2086 # the list is meant to be split
quietly $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 $missing
if [ -n "$backported" ]; then
    # With the usual sources beside it, for what the package needs, and lists of its own, so that nothing else is ever taken from there.
    cp -r /etc/apt/sources.list.d/. "$backported" 2>/dev/null || true
    cat /etc/apt/sources.list >"$backported/main.list" 2>/dev/null || rm -f "$backported/main.list"
    grep -qs '^[^#]*bookworm-backports' "$backported"/*.list "$backported"/*.sources ||
        echo 'deb http://deb.debian.org/debian bookworm-backports main' >"$backported/backports.list"
    mkdir "$backported/lists"
    from="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$backported -o Dir::State::Lists=$backported/lists"
    # shellcheck disable=SC2086 # options, each a word
    quietly $as_root apt-get $from update
    # shellcheck disable=SC2086
    quietly $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get $from install -y --no-install-recommends -o Dpkg::Use-Pty=0 suricata/bookworm-backports
    $as_root rm -rf "$backported"
fi
rm -f "$log"
