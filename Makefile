# Everything runs in ./.venv, built from uv.lock. You need only Python 3.11+, git and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep test-clients check quick chaos bench golden docs site format clean

# The tests start hundreds of short processes; without bytecode, each would compile Whet again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest -q -n auto --maxprocesses 8 --dist worksteal
# Thousands of tests with processes, sockets and clocks share a few cores: what failed is tried again, alone.
AGAIN := (echo "Trying again, alone, what failed:"; $(BIN)/pytest -q --maxfail 1 --last-failed --last-failed-no-failures none)

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s%s\n", $$1, $$2}'

$(STAMP): pyproject.toml uv.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	@VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/uv sync --quiet --frozen --inexact --all-extras
	@touch $@

demo: $(STAMP) ## Run a demonstration in a temporary home
	@$(BIN)/python docs/demo.py

test: $(STAMP) ## Run the linter, the type checker and the quick tests
	@$(MAKE) --no-print-directory -j 2 check quick

test-deep: $(BIN)/zensical ## Run what `make test` skips or shortens: slow tests, long tables, real processes
	$(PYTEST) --deep || $(AGAIN)

test-clients: $(STAMP) ## Test real clients from npm against a scripted model (part of test-deep)
	$(PYTEST) tests/real_clients

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

quick: $(STAMP)
	$(PYTEST) --quick || $(AGAIN)

chaos: $(STAMP) ## Kill, fill and damage a machine thousands of times (docs/reliability.md)
	$(BIN)/python -m tests.chaos $(CHAOS)

bench: $(STAMP) ## Measure speed beside other installed programs
	$(BIN)/python benchmarks/speed.py --sizes 100,1000,10000

golden: $(STAMP) ## Regenerate the golden files: help pages, answers, tools, screens
	GOLDEN=write $(BIN)/pytest -q tests/golden

docs: $(STAMP) ## Regenerate the generated documentation
	$(BIN)/python docs/generate.py

site: $(BIN)/zensical ## Build the documentation as a site, in site/ (opens from disk)
	$(BIN)/zensical build --clean --strict
	@echo "Open site/index.html"

$(BIN)/zensical: $(STAMP)
	@VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/uv sync --quiet --frozen --inexact --all-extras --group site
	@touch $@

format: $(STAMP) ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and caches
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site
