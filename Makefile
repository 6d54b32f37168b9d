# `make demo` shows the thing, `make test` checks it. Both build in a virtual environment of their own, .venv.

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-peer lint-rust lint-python bench wheel clean check-tools check-test-tools
SHELL := /bin/sh

# The first Python that is new enough; PYTHON=… overrides it.
ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(ENOUGH)' >/dev/null 2>&1 && echo $$p && break; done)

# cargo may be a rustup proxy, which looks for its toolchains under HOME. Where HOME is another than the one Rust was
# installed for, the toolchains still lie beside the directory of the proxy: <home>/.cargo/bin and <home>/.rustup.
ifndef RUSTUP_HOME
ifneq ($(shell cargo -V >/dev/null 2>&1 || echo no),)
BESIDE := $(shell p=$$(command -v cargo) && d=$$(cd "$$(dirname "$$p")/../.." && pwd -P) && test -d "$$d/.rustup" && echo "$$d/.rustup")
ifneq ($(BESIDE),)
export RUSTUP_HOME := $(BESIDE)
endif
endif
endif

BIN := .venv/bin
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# What is tested a second time on the reference kernel, which must be able to run everything.
ON_THE_REFERENCE := $(addprefix tests/,test_records.py test_vectors.py test_signing.py test_memory.py test_recall.py \
	test_consolidate_near.py test_demo.py test_text_terms.py test_text_same.py test_text_slots.py test_upkeep.py \
	test_search_dense.py test_search_hybrid.py)

# What the binary is built from; Python files are used where they lie.
BUILT_FROM := pyproject.toml Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name '*.toml')

help:
	@echo "make demo        build the package and run its demonstration"
	@echo "make test        everything that has to pass: format, lint, types, tests"
	@echo "make test-long   the property tests with twenty thousand examples each"
	@echo "make test-peer   the public test suite of the peer, against this package"
	@echo "make bench       the benchmarks"
	@echo "make wheel       wheel and source distribution, in dist/"
	@echo "make clean       remove what was built"

demo: check-tools .venv/built
	$(BIN)/agent-memory demo

test: check-test-tools lint-rust lint-python
	$(BIN)/python -m pytest -q
	AGENT_MEMORY_KERNEL=python $(BIN)/python -m pytest -q $(ON_THE_REFERENCE)

lint-rust: .venv/dev
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo test --locked --quiet

lint-python: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict python/agent_memory
	$(BIN)/python -m mypy.stubtest agent_memory._native

test-long: check-tools .venv/dev
	AGENT_MEMORY_TEST_PROFILE=long $(BIN)/python -m pytest -q

test-peer: check-tools .venv/dev
	$(BIN)/python tests/peer_suite/run.py

bench: check-tools .venv/bench
	set -e; for b in benches/bench_*.py; do echo "== $$b"; $(BIN)/python $$b; done

wheel: check-tools .venv/dev
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --out dist

clean:
	rm -rf .venv target dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f python/agent_memory/_native*.so python/agent_memory/_native*.pyd
	find python tests benches spec -name __pycache__ -prune -exec rm -rf {} +

# Says at once what is missing, and what to do about it.
check-tools:
	@fail=; say() { fail=1; printf 'missing: %s\n' "$$1" >&2; }; \
	if [ -z "$(PYTHON)" ]; then say "Python 3.11 or newer. Install it, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; \
	elif ! "$(PYTHON)" -c '$(ENOUGH)' 2>/dev/null; then say "Python 3.11 or newer; $(PYTHON) is older or does not run. Name another: make PYTHON=… $(MAKECMDGOALS)"; \
	elif ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then say "the venv module of $(PYTHON). Install it (Debian, Ubuntu: apt install python3-venv)"; fi; \
	for tool in cargo rustc; do $$tool -V >/dev/null 2>&1 || say "$$tool. Install Rust 1.89 or newer, with rustup or from your system's packages"; done; \
	if rustc -V >/dev/null 2>&1 && ! rustc -V | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 89) }'; then say "Rust 1.89 or newer; this is $$(rustc -V). Update it (rustup update)"; fi; \
	command -v cc >/dev/null 2>&1 || say "a C compiler, which Rust links with. Install one (Debian, Ubuntu: apt install gcc libc6-dev)"; \
	test -z "$$fail"

check-test-tools: check-tools
	@fail=; say() { fail=1; printf 'missing: %s\n' "$$1" >&2; }; \
	cargo fmt --version >/dev/null 2>&1 || say "rustfmt. Install it: rustup component add rustfmt"; \
	cargo clippy -V >/dev/null 2>&1 || say "clippy. Install it: rustup component add clippy"; \
	test -z "$$fail"

.venv/made: | check-tools
	"$(PYTHON)" -m venv .venv
	@touch $@

# The package as it lies here, with a release build of the kernel.
.venv/built: .venv/made $(BUILT_FROM)
	$(BIN)/python -m pip install -q -e .
	@touch $@

# The same with what the tests need.
.venv/dev: .venv/made $(BUILT_FROM)
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch .venv/built $@

# The same with what the benchmarks compare with.
.venv/bench: .venv/made $(BUILT_FROM)
	$(BIN)/python -m pip install -q -e '.[dev,bench]'
	@touch .venv/built .venv/dev $@
