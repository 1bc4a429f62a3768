PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One BLAS thread a process: the test workers already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1

.PHONY: help demo test fuzz lint bench bench-all reproduce docs clean

help:
	@echo "make demo | test | fuzz [SEED=n] | lint | bench [BENCH=--full] | bench-all | reproduce | docs | clean"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable ".[dev,plots]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

demo: $(VENV)/.dev
	$(BIN)/python -m examples.guides.demo --output demo_output

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2

# Five seeds solve some 2,000 problems, 10,000 fits and 1,400 faults.
SEED ?= 0

fuzz: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --seed $(SEED)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The table against peers and its plots: make bench BENCH=--full for all sizes.
BENCH ?=

bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(ONE_THREAD) $(BIN)/python -m benchmarks $(BENCH)

bench-all: $(VENV)/.dev
	@for script in $(wildcard benchmarks/bench_*.py); do \
		module=$$(echo $${script%.py} | tr / .); \
		echo "== $$module"; \
		$(BIN)/python -m $$module || exit 1; \
	done

# pytest exits with 5 when no test is marked slow, which is no failure here.
# --full goes to the scripts that know it.
reproduce: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow || [ $$? -eq 5 ]
	@for script in $(wildcard examples/*/verify_*.py examples/*/reproduce*.py); do \
		module=$$(echo $${script%.py} | tr / .); \
		full=; if grep -q -e '--full' $$script; then full=--full; fi; \
		echo "== $$module $$full"; \
		$(BIN)/python -m $$module $$full || exit 1; \
	done

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "docs/_build/index.html"

clean:
	rm -rf .venv build dist *.egg-info demo_output docs/_build docs/generated docs/gallery
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
