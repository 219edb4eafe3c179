# What people type and what CI runs; nothing else is needed to work on vufleet.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: demo test test-net lint grammar bench dist tools

# The built-in study on SQLite, with two driving agents and an observer as processes. Under two minutes after the build.
demo:
	$(CARGO) build --release --workspace
	$(CARGO) run --release --quiet --bin vufleet -- demo

# Most tests wait for real programs most of the time: for leases that run out, windows that end, servers that come back.
TEST_THREADS ?= $(shell expr 2 \* `nproc`)

# Everything that CI checks.
test: tools lint grammar
	$(CARGO) build --workspace
	VUFLEET_NET_SEED=$(NET_SEED) RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --workspace

# Of the random faults between hosts: always the same here, so that a red run has to do with a change; `make test-net` draws another each time.
NET_SEED ?= 478798

# Faults between hosts, which are network namespaces: a part of `make test` for which root and iproute2 are needed. Without, its tests say that they
# were left out. VUFLEET_NET_SEED makes the random faults of a seed again, VUFLEET_NET_MINUTES goes on with them for longer.
test-net: tools
	$(CARGO) build --workspace
	RUST_TEST_THREADS=$(NET_THREADS) $(CARGO) test --package vufleet --test net

# They wait nearly all of the time, and their hosts are their own.
NET_THREADS ?= $(shell expr 4 \* `nproc`)

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# Every T-SQL text that workloads, checks and observers of counters send, held against the grammars of sqlfluff and sqlglot. They are installed once,
# into target/, in the versions that requirements.txt pins.
GRAMMAR := scenarios/tests/grammar
GRAMMARS := target/grammar

grammar: $(GRAMMARS)/installed
	$(CARGO) run --quiet --example tsql > $(GRAMMARS)/texts
	$(CARGO) run --quiet --example counters >> $(GRAMMARS)/texts
	$(GRAMMARS)/venv/bin/python $(GRAMMAR)/check.py < $(GRAMMARS)/texts

$(GRAMMARS)/installed: $(GRAMMAR)/requirements.txt
	python3 -m venv --clear $(GRAMMARS)/venv
	$(GRAMMARS)/venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# The intervals against a known truth, for docs/method.md; then what vufleet costs, beside sysbench and by itself, for docs/benchmarks.md.
# About two hours after the build, on an otherwise idle machine. A first look, three minutes: cargo run --release --bin vufleet-bench -- --quick
# Ten minutes of 4,000 sessions beyond it: cargo run --release --bin vufleet-bench -- --only soak
bench:
	./.ci/tools sysbench valgrind
	$(CARGO) build --release --workspace
	$(CARGO) run --release --quiet --bin vufleet-bench

# dist/vufleet-VERSION-ARCH-linux.tar.gz: both programs, manual pages, completions, units, studies, documentation, licences.
dist:
	$(CARGO) build --release --locked --workspace --bin vufleet --bin vufleet-agent
	./deploy/dist target/release dist

# Installs what is missing: a C compiler, MariaDB's server program (no service is started), a browser, rustfmt, clippy.
tools:
	@./.ci/tools
