#!/bin/sh
# Licences, bans and sources of what is linked, then known vulnerabilities. Rule: what could not be checked is said.
set -eu
cargo deny --version >/dev/null 2>&1 || {
    echo "installing: cargo-deny (a few minutes, once)"
    cargo install --locked --quiet cargo-deny --version "$DENY_VERSION"
}

cargo deny --log-level error --all-features check --hide-inclusion-graph bans licenses sources

# The advisories are a repository of their own, which a machine without a way there cannot fetch. That is no fault of
# the tree, but it is no pass either.
if timeout 60 cargo deny --log-level off fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check advisories
else
    echo "advisories NOT CHECKED: the advisory database could not be fetched from here" >&2
fi
