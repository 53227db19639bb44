# `make help` lists the recipes. Each of them prepares .venv by itself; all they need is Python 3.11 or later, git and make.
# Variables: PYTHON=/path/to/python3.12   PROMPT="what to ask in the demo"   ARGS="-k sse --cov" (more arguments of pytest)

.DEFAULT_GOAL := help
.PHONY: help demo test test-clients test-browser check format lint types layers bounds fmt bench dist clean
.PHONY: programs-clients programs-browser
.DELETE_ON_ERROR:

PYTHON ?= python3.11 python3.12 python3.13 python3.14 python3 python
VENV   := .venv
PY     := $(VENV)/bin/python
CODE   := $(wildcard rxstream tests examples benchmarks)
ARGS   ?=
# Compiled files are kept, whatever a shell says: tests start hundreds of processes that would compile all of it again.
export PYTHONDONTWRITEBYTECODE :=
ifdef PROMPT # taken as it is: a dollar sign in a question is no variable of make
override PROMPT := $(value PROMPT)
export PROMPT
endif

# One stamp for each set of extras: the second call is quick, and a changed pyproject.toml installs again.
DEMO_STAMP    := $(VENV)/.installed-cli-local
DEV_STAMP     := $(VENV)/.installed-all-dev
BENCH_STAMP   := $(VENV)/.installed-all-dev-bench
CLIENTS_STAMP := $(VENV)/.installed-all-dev-clients
BROWSER_STAMP := $(VENV)/.installed-all-dev-browser
INSTALL       := $(PY) -m pip install --quiet --disable-pip-version-check --editable

help: ## List the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(DEMO_STAMP) ## Ask the local model and watch its answer stream (PROMPT="...")
	@$(VENV)/bin/rxstream local install
	@$(VENV)/bin/rxstream demo $(if $(PROMPT),--prompt "$$PROMPT") || { code=$$?; test $$code -eq 130 || exit $$code; }

test: $(DEV_STAMP) ## Run the tests (ARGS="-k sse" for some of them, ARGS=--cov for coverage)
	$(PY) -m pytest -n auto --dist loadfile $(ARGS)

test-clients: $(CLIENTS_STAMP) programs-clients ## Run real clients against a real gateway (minutes; needs Node.js, nginx and curl)
	@$(VENV)/bin/rxstream local install
	cd tests/clients && npm ci --no-audit --no-fund --loglevel=error
	$(PY) -m pytest tests/clients -n 2 --dist loadfile $(ARGS)

test-browser: $(BROWSER_STAMP) programs-browser ## Run the gateway's page in a real browser (minutes; needs Chromium and Node.js)
	cd tests/browser && npm ci --no-audit --no-fund --loglevel=error
	$(PY) -m pytest tests/browser $(ARGS)

# Debian's packages of programs that are not there, where we may install them; else the tests say what is missing.
programs-clients: PROGRAMS = node:nodejs npm:npm nginx:nginx-light curl:curl
programs-browser: PROGRAMS = node:nodejs npm:npm chromium:chromium
programs-clients programs-browser:
	@missing=; for pair in $(PROGRAMS); do \
		PATH="$$PATH:/usr/sbin" command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; \
	done; \
	test -z "$$missing" || { \
		command -v apt-get >/dev/null && test "$$(id -u)" = 0 \
		|| { echo "missing:$$missing (Debian, Ubuntu: apt install$$missing)" >&2; exit 1; }; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends $$missing; \
	}

check: format lint types layers bounds ## Check format, lint, types, the import order and that nothing is unbounded

format: $(DEV_STAMP)
	$(PY) -m ruff format --check $(CODE)

lint: $(DEV_STAMP)
	$(PY) -m ruff check $(CODE)

types: $(DEV_STAMP)
	$(PY) -m mypy $(CODE)

layers: $(DEV_STAMP)
	$(PY) -c 'from importlinter.cli import lint_imports_command as run; run()' --no-logo

bounds: $(DEV_STAMP)
	$(PY) -m tests.checks.queue_check rxstream

fmt: $(DEV_STAMP) ## Format, and fix what the linter can fix
	$(PY) -m ruff format $(CODE)
	$(PY) -m ruff check --fix $(CODE)

bench: $(BENCH_STAMP) ## Measure speed and memory against the floor and the peers
	$(PY) -m benchmarks $(ARGS)

dist: $(DEV_STAMP) ## Build wheel and sdist, and look into both
	@rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) -m tests.checks.dist_check dist

clean: ## Remove what the recipes made, but for .venv
	rm -rf dist build .coverage htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

# Debian's python3 comes without ensurepip and old systems have an old python3: try each candidate before it is taken.
$(PY):
	@for name in $(PYTHON); do \
		if "$$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			echo "Making $(VENV) with $$("$$name" -c 'import sys; print(sys.executable, sys.version.split()[0])')"; \
			exec "$$name" -m venv --clear $(VENV); \
		fi; \
	done; \
	echo "rxstream needs Python 3.11 or later with the modules venv and ensurepip; none found among: $(PYTHON)." >&2; \
	echo "Install one (Debian, Ubuntu: apt install python3-venv) or name it: make PYTHON=/path/to/python3.11" >&2; \
	exit 1

$(DEMO_STAMP): pyproject.toml | $(PY)
	@echo "Installing rxstream with its command line and the local model's server (a minute, the first time) ..."
	@$(INSTALL) ".[cli,local]"
	@touch $@

$(BENCH_STAMP): $(DEV_STAMP)
	@echo "Installing the libraries that the benchmarks compare with ..."
	@$(INSTALL) ".[all,dev,bench]"
	@touch $@

$(CLIENTS_STAMP): $(DEV_STAMP)
	@echo "Installing the clients that the gateway is tested with ..."
	@$(INSTALL) ".[all,dev,clients]"
	@touch $@

$(BROWSER_STAMP): $(DEV_STAMP)
	@echo "Installing what drives the browser ..."
	@$(INSTALL) ".[all,dev,browser]"
	@touch $@

$(DEV_STAMP): pyproject.toml | $(PY)
	@echo "Installing rxstream with all extras and the development tools (a few minutes, the first time) ..."
	@$(INSTALL) ".[all,dev]"
	@touch $@ $(DEMO_STAMP)
