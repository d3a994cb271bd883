# Everything runs in .venv, which the first target makes. Needs Python >= 3.11, pip, make and git.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-lowest stress check lint bench coverage wheel-check clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	@touch $@

demo: .venv/installed ## the main job: an agent works on a copy of a project
	$(BIN)/toolhaft demo

test: .venv/installed ## every test that needs only Python, pip, make and git
	$(PYTEST) -n auto -m 'not stress and not needs'

test-all: .venv/installed ## installs what the other tests need (Debian), then runs every test
	command -v strace gcc setpriv >/dev/null || apt-get install -y strace gcc util-linux
	$(PYTEST) -m 'not stress'

test-lowest: .venv/installed ## the tests on the lowest pydantic-ai that is supported, in .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev 'pydantic-ai-slim==2.62.0'
	.venv-lowest/bin/python -m pytest -n auto -m 'not stress and not needs'

stress: .venv/installed ## the heavy counts in full
	TOOLHAFT_STRESS=1 $(PYTEST)

lint: .venv/installed ## ruff, ruff format, pyright strict, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

check: lint test ## lint and test

bench: .venv/installed ## the goals as ratios, measured in one run
	$(BIN)/python -m tests.benchmarks

coverage: .venv/installed ## statements of src reached by the tests
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n auto -m 'not stress'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --show-missing --skip-covered --fail-under=100

wheel-check: .venv/installed ## build the wheel from the sdist, install it elsewhere, look for every prompt
	rm -rf dist && $(BIN)/python -m build --quiet
	set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	$(PYTHON) -m venv "$$dir/venv"; \
	"$$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$$(ls $(CURDIR)/dist/*.whl)[cli]"; \
	cd "$$dir" && "$$dir/venv/bin/toolhaft" list --prompts

clean: ## remove what the targets made
	rm -rf .venv .venv-lowest dist build .coverage .coverage.*
