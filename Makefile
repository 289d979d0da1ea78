# make demo   sets everything up and runs the main job on the model that comes with the package
# make test   sets everything up and runs linters, type checks and tests
# make help   lists the rest

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
SHARED ?= ../shared
# Real models are laid out in a cache of the project's own.
REAL := env -u HF_HUB_CACHE SHARED=$(SHARED) HF_HOME=$(CURDIR)/.cache/huggingface HF_HUB_OFFLINE=1
PYTHON_TARGETS := 3.11 3.12 3.13 3.14

.PHONY: help demo test lint types unit stress bench parity sampled ledger inverse bridge-table goldens size wheels dist format clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(BIN)/python:
ifdef UV
	uv venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
endif

# What was compiled before is removed: where compiling fails, it would stay in place.
$(VENV)/.package: pyproject.toml setup.py src/renderers/parse/_join.c | $(BIN)/python
	rm -rf build src/renderers/parse/*.so
ifdef UV
	uv pip install --quiet --python $(BIN)/python --editable .
else
	$(BIN)/python -m pip install --quiet --editable .
endif
	@touch $@

$(VENV)/.test: pyproject.toml setup.py src/renderers/parse/_join.c | $(BIN)/python
	rm -rf build src/renderers/parse/*.so
ifdef UV
	uv pip install --quiet --python $(BIN)/python --group test --editable .
else
	$(BIN)/python -m pip install --quiet --group test --editable .
endif
	@touch $@ $(VENV)/.package

demo: $(VENV)/.package
	$(BIN)/renderers demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.test
	printf '%s\n' $(PYTHON_TARGETS) | xargs -n 1 -P 2 $(BIN)/mypy --python-version

unit: $(VENV)/.test
	SHARED=$(SHARED) $(BIN)/pytest

# make stress  loading while files break (SECONDS=60), reading and extending anything (CASES=10000000, BRIDGES=1000000)
stress: $(VENV)/.test
	$(REAL) $(BIN)/python -m tests.stress_loading --seconds $(or $(SECONDS),60)
	$(REAL) $(BIN)/python -m tests.stress_parsing --cases $(or $(CASES),10000000)
	$(REAL) $(BIN)/python -m tests.stress_bridging --cases $(or $(BRIDGES),1000000)

# make bench   loading, rendering, parsing and bridging against transformers and peers, in one run each
bench: $(VENV)/.test
	$(REAL) $(BIN)/python -m benchmarks.load
	$(REAL) $(BIN)/python -m benchmarks.render
	$(REAL) $(BIN)/python -m benchmarks.parse
	$(REAL) $(BIN)/python -m benchmarks.bridge

# make parity  every template at hand against transformers, in all combinations, as a table
parity: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.parity

# make sampled what is sampled against tags that were placed by hand, as a table
sampled: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.sampled

# make ledger  attribution against the incumbent's, every difference explained, as tables
ledger: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.ledger

# make inverse what is rendered, read and rendered again, and what each template loses, as a table
inverse: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.inverse

# make bridge-table  how rollouts of every template are extended, and why not, as a table
bridge-table: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.bridge_table

# make goldens the ids of every family as its reference gives them, to tests/goldens (FAMILIES="qwen3 glm-5"; all)
goldens: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.goldens $(FAMILIES)

# make size    print the lines of the package: in all, of code, and of logic
size: $(VENV)/.test
	$(BIN)/python -m scripts.size

# make wheels  does every dependency have a wheel for every Python that we support?
wheels: $(VENV)/.test
	$(BIN)/python scripts/check_wheels.py $(PYTHON_TARGETS)

# make dist    what is published, to dist: the source, a wheel for this platform, and one for all others, without C
dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	mkdir dist/source && tar --extract --gzip --file dist/*.tar.gz --directory dist/source --strip-components 1
	RENDERERS_PURE_PYTHON=1 $(BIN)/python -m build --quiet --wheel --outdir dist dist/source
	rm -rf dist/source

# make format  puts the code into the form that make lint asks for
format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# make clean   removes what the other commands made
clean:
	rm -rf $(VENV) build src/*.egg-info src/renderers/parse/*.so dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
