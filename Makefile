# Lockgate: each target installs what it is missing (Debian packages; cargo's own tools from the crates' registry).
#
#   make run                      a gateway that serves, with commands to try
#   make test                     lint, unit tests, end-to-end tests with real servers and clients
#   make bench                    speed and memory, side by side with other gateways
#   make lint                     rustfmt, clippy, licences and advisories of what is linked
#   make fuzz [SECONDS=120]       each fuzz target that long, from a corpus that is made first
#   make fuzz-coverage            how much of what each target is for its corpus covers, without fuzzing
#   make conformance DATA=DIR [SET=NAME]     what needs data from outside the tree, or one set of it

SHELL := /bin/sh
CARGO ?= cargo
SECONDS ?= 120
export DENY_VERSION := 0.20.2

# Postfix, network namespaces and mounts need root; only the end-to-end test programs get it, not the build.
ifneq ($(shell id -u),0)
RUNNER := CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='sudo -E' CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='sudo -E'
endif

.PHONY: help run test unit end-to-end lint deny bench fuzz fuzz-coverage conformance

help:
	@sed -n 's/^#   //p' Makefile

run:
	@scripts/install.sh build run
	$(CARGO) run --release -p lockgate -- serve

test: lint unit end-to-end

unit:
	@scripts/install.sh build test
	$(CARGO) test --workspace --exclude lockgate-tests

end-to-end:
	@scripts/install.sh build test
	$(CARGO) build -p lockgate
	$(RUNNER) $(CARGO) test -p lockgate-tests

lint: deny
	@scripts/install.sh build
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

deny:
	@scripts/install.sh build
	@scripts/deny.sh

bench:
	@scripts/install.sh build bench
	bench/run.sh

fuzz:
	@scripts/install.sh build fuzz
	@scripts/fuzz.sh $(SECONDS)

fuzz-coverage:
	@scripts/install.sh build fuzz
	@scripts/fuzz.sh 0

conformance:
	@scripts/install.sh build test conformance
	@test -n "$(DATA)" || { echo "make conformance DATA=DIR: docs/conformance.md says what DIR holds" >&2; exit 2; }
	$(CARGO) run --release -p lockgate-tests --bin conformance -- "$(DATA)" $(SET)
