# Every target makes or renews the environment it needs: python3 and make are enough.
# `make test PYTHON=python3.12` takes another Python; `make test ARGS="-k hypercube"` runs some tests only.

PYTHON ?= python3
DEMO_OUT ?= treecast-demo
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint types soak bench format lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 14

demo: $(READY) ## simulate a topic of 64 nodes with churn and check its journal; DEMO_OUT=folder
	$(BIN)/treecast demo --out $(DEMO_OUT)

test: $(READY) ## all tests but the soak; ARGS=options of pytest
	$(BIN)/python -m pytest -n 2 $(ARGS)

lint: $(READY) ## style, format and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## mypy, strict
	$(BIN)/mypy

soak: $(READY) ## random scenarios for long; SOAK_SECONDS=n or SOAK_SCENARIOS=n for each protocol, SOAK_SEED=n
	$(BIN)/python -m pytest -m soak $(ARGS)

bench: $(READY) ## tables of speed and of published figures; the long ones by name: python benchmarks NAME
	$(BIN)/python benchmarks

format: $(READY) ## put the code into the house's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(READY) ## renew requirements.lock from pyproject.toml
	$(BIN)/python -m pip --disable-pip-version-check --quiet install 'uv>=0.5'
	$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --generate-hashes \
		--extra dev --custom-compile-command 'make lock' -o requirements.lock pyproject.toml

clean: ## remove the environment, caches and the demo's output
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache treecast-demo
	find . -name __pycache__ -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml tools/set_up.py
	$(PYTHON) tools/set_up.py
	@touch $@
