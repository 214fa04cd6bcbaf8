# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
DEMO := $(VENV)/.installed-demo
DEV := $(VENV)/.installed-dev

.PHONY: demo test lint types unit quick explore interpreted oldest coverage docs docs-quick reproduce bench faults fuzz soak dist clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "grnf needs Python 3.11 or newer; say which one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(DEMO)

demo: $(DEMO)
	$(BIN)/grnf demo --output grnf-demo

test: lint types unit  # with a quick build of the site, opened in a browser (tests/test_site.py)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

unit: $(DEV)
	GRNF_HYPOTHESIS=fixed $(BIN)/python -m pytest -n auto

# While working: the tests that take less than a few seconds each.
quick: $(DEV)
	$(BIN)/python -m pytest -n auto -m "not slow"

# Property tests with new seeds and more examples.
explore: $(DEV)
	GRNF_HYPOTHESIS=explore $(BIN)/python -m pytest -n auto -m hypothesis tests

# The kernels as plain Python, against the definition.
interpreted: $(DEV)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto -m "not slow" -W "ignore:overflow encountered:RuntimeWarning" tests/engine

docs: $(DEV)
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-quick: $(DEV)
	$(BIN)/sphinx-build -W --keep-going -q -D plot_gallery=0 docs docs/_build/quick

# The report of the paper's experiments: make reproduce DATA=folder; one of them: make reproduce NAME=table1.
reproduce: $(DEV)
	$(BIN)/python -m experiments $(or $(NAME),all) --output grnf-reproduce $(if $(DATA),--data $(DATA))

bench: $(DEV)
	$(BIN)/python benchmarks/run.py

# Every file operation of every command that writes, failing once; counts go to benchmarks/results/faults.json.
faults: $(DEV)
	$(BIN)/python tests/faults/enumeration.py

# Damaged files and random options for some minutes: make fuzz MINUTES=10; counts go to benchmarks/results/fuzz.json.
fuzz: $(DEV)
	$(BIN)/python tests/fuzz/fuzz.py --minutes $(or $(MINUTES),10)

# Long runs, about 15 minutes of CPU time: memory flat, results equal; sizes go to benchmarks/results/soak.json.
soak: $(DEV)
	$(BIN)/python benchmarks/soak.py

# The quick tests with the oldest versions that pyproject.toml allows.
oldest:
	$(PYTHON) -m venv build/oldest
	$(PYTHON) -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		lists = [project["dependencies"], *map(project["optional-dependencies"].get, ("chem", "io", "plot"))]; \
		print(*(each.replace(">=", "==") for each in sum(lists, [])), sep="\n")' > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --editable ".[chem,io,plot]" --constraint build/oldest/constraints.txt \
		pytest hypothesis pytest-xdist
	build/oldest/bin/python -m pytest -n auto -m "not slow" tests

# Lines that the tests run, kernels as plain Python included; a report in build/coverage.
coverage: $(DEV)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto -m "not slow" -W "ignore:overflow encountered:RuntimeWarning" \
		--cov grnf --cov-report html:build/coverage --cov-report term:skip-covered tests/engine tests/features tests/metric

# A wheel and an sdist; the wheel goes into an empty environment, without extras, and passes the tests of the sdist.
dist:
	rm -rf dist build/dist
	$(PYTHON) -m venv build/dist/tools && build/dist/tools/bin/python -m pip install --quiet build twine
	build/dist/tools/bin/python -m build --outdir dist .
	build/dist/tools/bin/twine check --strict dist/*
	$(PYTHON) -m venv build/dist/empty
	build/dist/empty/bin/python -m pip install --quiet dist/*.whl pytest hypothesis
	build/dist/empty/bin/grnf --version
	tar --extract --file dist/*.tar.gz --directory build/dist
	cd build/dist/grnf-*/ && ../empty/bin/python -m pytest -q tests

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist grnf-demo docs/_build docs/gallery docs/reference
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
