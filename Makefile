PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One BLAS thread a process: the test workers already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1

.PHONY: help demo test fuzz mutants lint bench bench-all reproduce docs dist clean

help:
	@echo "make demo | test | fuzz [SEED=n] | mutants | lint | bench [BENCH=--full] | bench-all | reproduce | docs | dist | clean"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.made
	@echo "installing dcprog and what its tests and plots need into $(VENV): a minute or two, once"
	@$(BIN)/python -m pip install --quiet --editable ".[dev,plots]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

demo: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m examples.guides.demo --output demo_output

# Compiled files are kept, whatever the environment says: without them each worker takes 8 s more
# to begin, and each process that a test starts half a second.
test: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal --durations=30

# Five seeds solve some 2,000 problems, 10,000 fits and 1,400 faults.
SEED ?= 0

fuzz: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --seed $(SEED)

# Mistakes put into a copy of the sources, each of which a test must catch: some ten minutes.
mutants: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m tests.mutants

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The table against peers and its plots: make bench BENCH=--full for all sizes.
BENCH ?=

bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(ONE_THREAD) $(BIN)/python -m benchmarks $(BENCH)

# All but `constants`, which asks for the constant that is to be halved and doubled.
bench-all: $(VENV)/.dev
	@for script in $(filter-out %/bench_constants.py,$(wildcard benchmarks/bench_*.py)); do \
		name=$$(basename $${script%.py}); \
		echo "== $$name"; \
		$(ONE_THREAD) $(BIN)/python -m benchmarks $$name || exit 1; \
	done

# What the papers claim, verified and reproduced; docs/claims.md is written. It runs what has
# changed since the last run here, says what that is, and goes on where it was stopped.
# make reproduce HOURS=2 keeps the last rows of what does not fit; FULL=--full takes days; with
# JOBS=2 two scripts run at a time.
# pytest exits with 5 when no test is marked slow, which is no failure here.
HOURS ?= inf
FULL ?=
JOBS ?= 1

reproduce: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow -n $(JOBS) || [ $$? -eq 5 ]
	$(ONE_THREAD) $(BIN)/python -m examples.reproduce --hours $(HOURS) --jobs $(JOBS) $(FULL)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "docs/_build/index.html"

# Wheel and sdist, tried with the lowest and the newest dependencies on every Python found.
dist: $(VENV)/.dev
	$(BIN)/python -m tests.dist

clean:
	rm -rf .venv build dist *.egg-info demo_output docs/_build docs/generated docs/gallery
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
