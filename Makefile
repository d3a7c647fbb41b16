# Lockgate: each target installs what it is missing (Debian packages; cargo's own tools from the crates' registry).
#
#   make run                      a gateway that serves, with commands to try
#   make test                     lint, unit tests, end-to-end tests with real servers and clients
#   make bench                    speed and memory, side by side with other gateways
#   make lint                     rustfmt, clippy, licences and advisories of what is linked
#   make fuzz [SECONDS=120]       each fuzz target that long, from a corpus that is made first
#   make fuzz-coverage            how much of what each target is for its corpus covers, without fuzzing
#   make conformance DATA=DIR [SET=NAME]     what needs data from outside the tree, or one set of it
#   make install [PREFIX=/usr/local] [DESTDIR=]   the program; liblockgate with its header, manual and example

SHELL := /bin/sh
CARGO ?= cargo
SECONDS ?= 120
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
PROFILE ?= release
export DENY_VERSION := 0.20.2

# Postfix, network namespaces and mounts need root; only the end-to-end test programs get it, not the build.
ifneq ($(shell id -u),0)
RUNNER := CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='sudo -E' CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='sudo -E'
endif

.PHONY: help run test unit end-to-end lint deny bench fuzz fuzz-coverage conformance install install-program install-library

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

# Where cargo puts what it builds, and what the profile's directory is called there.
TARGET = $(or $(CARGO_TARGET_DIR),target)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
LIBRARY = crates/library
ABI = $(shell sed -n 's/^\#define LOCKGATE_ABI_VERSION //p' $(LIBRARY)/include/lockgate.h)

install: install-program install-library

install-program:
	@scripts/install.sh build
	$(CARGO) build --profile $(PROFILE) -p lockgate
	install -d $(DESTDIR)$(BINDIR)
	install -m 755 $(TARGET)/lockgate $(DESTDIR)$(BINDIR)/

install-library:
	@scripts/install.sh build
	$(CARGO) build --profile $(PROFILE) -p lockgate-library
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(DATADIR)/man/man3 $(DESTDIR)$(DATADIR)/doc/liblockgate
	install -m 644 $(TARGET)/liblockgate.so $(DESTDIR)$(LIBDIR)/liblockgate.so.$(VERSION)
	ln -sf liblockgate.so.$(VERSION) $(DESTDIR)$(LIBDIR)/liblockgate.so.$(ABI)
	ln -sf liblockgate.so.$(ABI) $(DESTDIR)$(LIBDIR)/liblockgate.so
	install -m 644 $(TARGET)/liblockgate.a $(DESTDIR)$(LIBDIR)/
	install -m 644 $(LIBRARY)/include/lockgate.h $(DESTDIR)$(INCLUDEDIR)/
	sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@INCLUDEDIR@,$(INCLUDEDIR),; s,@VERSION@,$(VERSION),' $(LIBRARY)/lockgate.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/lockgate.pc
	install -m 644 $(LIBRARY)/man/liblockgate.3 $(DESTDIR)$(DATADIR)/man/man3/
	install -m 644 $(LIBRARY)/examples/proxy.c $(DESTDIR)$(DATADIR)/doc/liblockgate/
