# Two commands do all the set-up: make demo and make test.
PYTHON ?= python3
BIN := .venv/bin
# Tests that use real scans look here; they skip, saying why, where the folder is missing.
export SOMAMBA_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo pictures site test mutants check format clean

demo: .venv/usable
	$(BIN)/somamba demo

test: .venv/installed
	$(BIN)/python -m pytest -q $(TESTS)

# Deliberate mistakes, one by one: the tests must catch every one of them. Takes about half an hour.
mutants: .venv/installed
	$(BIN)/python tests/mutants/run.py

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Runs the demo and all examples, and keeps their pictures for the site. SOMAMBA_SMALL=1 makes examples small, as in CI.
pictures: .venv/installed
	$(BIN)/somamba demo -o examples/output/demo
	for example in examples/*.py; do SOMAMBA_OUTPUT=examples/output $(BIN)/python $$example || exit 1; done
	$(BIN)/python docs/pictures.py examples/output

# The site, into site/, to be opened from disk; a broken link fails.
site: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml constraints.txt setup.py $(wildcard src/somamba/native/source/*)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# What a user installs; the development set-up above is one too.
.venv/usable: pyproject.toml constraints.txt setup.py $(wildcard src/somamba/native/source/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv; the first time this takes some minutes."
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[report]'
	touch $@

clean:
	rm -rf .venv build src/*.egg-info src/somamba/native/*.so
