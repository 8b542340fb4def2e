# Everything runs in ./.venv, made from uv.lock; only Python 3.11+, git and make are needed beforehand.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep test-clients check quick chaos bench golden docs format clean

# Hundreds of short processes import Whet: without its bytecode each of them would compile it again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest -q -n auto --maxprocesses 8 --dist worksteal

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml uv.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	@VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/uv sync --quiet --frozen --inexact --all-extras
	@touch $@

demo: $(STAMP) ## Watch Whet at work, in a temporary home
	@$(BIN)/python docs/demo.py

test: $(STAMP) ## Lint, types and the quick tests, in a few minutes: after every change
	@$(MAKE) --no-print-directory -j 2 check quick

test-deep: $(STAMP) ## Every test: kills in loops, many processes, megabytes, all examples
	$(PYTEST)

test-clients: $(STAMP) ## Real clients from npm with a scripted model on loopback; part of test-deep
	$(PYTEST) tests/real_clients

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

quick: $(STAMP)
	$(PYTEST) --quick

chaos: $(STAMP) ## Kill, fill, damage and crowd a machine thousands of times; the numbers of docs/reliability.md
	$(BIN)/python -m tests.chaos $(CHAOS)

bench: $(STAMP) ## Measure speed side by side with the peers that are installed
	$(BIN)/python benchmarks/speed.py --sizes 100,1000,10000

golden: $(STAMP) ## Write what others build on again: help pages, shapes of answers, tools for models
	GOLDEN=write $(BIN)/pytest -q tests/golden

docs: $(STAMP) ## Write the generated parts of the documentation again
	$(BIN)/python docs/generate.py

format: $(STAMP) ## Format and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
