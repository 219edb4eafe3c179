# What people type and what CI runs; nothing else is needed to work on vufleet.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: demo test lint bench tools

# The built-in study on SQLite, with two driving agents and an observer as processes. Under two minutes after the build.
demo:
	$(CARGO) build --release --workspace
	$(CARGO) run --release --quiet --bin vufleet -- demo

# Everything that CI checks.
test: tools lint
	$(CARGO) build --workspace
	$(CARGO) test --workspace

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# Against sysbench on one MariaDB, and TPROC-C; writes the tables of docs/benchmarks.md. Under half an hour after the build, on an otherwise
# idle machine. A first look: cargo run --release --bin vufleet-bench -- --quick
bench:
	./.ci/tools sysbench
	$(CARGO) build --release --workspace
	$(CARGO) run --release --quiet --bin vufleet-bench

# Installs what is missing: a C compiler, MariaDB's server program (no service is started), rustfmt, clippy.
tools:
	@./.ci/tools
