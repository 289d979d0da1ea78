# make demo   set up and render and parse with the model that comes with the package
# make test   set up and run linters, type checks and tests
# make help   list all commands

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
SHARED ?= ../shared
NATIVE := $(wildcard src/native/*)
# Real models are unpacked into a cache of this repository.
REAL := env -u HF_HUB_CACHE SHARED=$(SHARED) HF_HOME=$(CURDIR)/.cache/huggingface HF_HUB_OFFLINE=1
PYTHON_TARGETS := 3.11 3.12 3.13 3.14

.PHONY: help demo test lint types unit stress bench test-engine record-engine parity sampled compare inverse parse-table parser-table parser-names bridge-table bad-inputs goldens span-goldens size wheels dist test-incumbent test-consumers format clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(BIN)/python:
ifdef UV
	uv venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
endif

# Removes an older build, which would stay in place if compilation failed.
$(VENV)/.package: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	rm -rf build src/renderers/core/*.so
ifdef UV
	uv pip install --quiet --python $(BIN)/python --editable .
else
	$(BIN)/python -m pip install --quiet --editable .
endif
	@touch $@

$(VENV)/.test: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	rm -rf build src/renderers/core/*.so
ifdef UV
	uv pip install --quiet --python $(BIN)/python --group test --editable .
else
	$(BIN)/python -m pip install --quiet --group test --editable .
endif
	@touch $@ $(VENV)/.package

$(VENV)/.bench: pyproject.toml $(VENV)/.test | $(BIN)/python
ifdef UV
	uv pip install --quiet --python $(BIN)/python --group bench
else
	$(BIN)/python -m pip install --quiet --group bench
endif
	@touch $@

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

# make stress  run the stress tests, which take hours; smaller with CASES=1000, TEXTS=1000, SECONDS=5 and others
stress: $(VENV)/.test
	$(REAL) $(BIN)/python -m tests.stress_loading --seconds $(or $(SECONDS),60)
	$(REAL) $(BIN)/python -m tests.stress_encoding --cases $(or $(TEXTS),5000000)
	$(REAL) $(BIN)/python -m tests.stress_templates --cases $(or $(CHATS),2000000)
	$(REAL) $(BIN)/python -m tests.stress_parsing --cases $(or $(CASES),10000000)
	$(REAL) $(BIN)/python -m tests.stress_bridging --cases $(or $(BRIDGES),1000000)
	$(REAL) $(BIN)/python -m tests.stress_rerender --cases $(or $(RERENDERS),100000)
	$(REAL) $(BIN)/python -m tests.stress_losses --cases $(or $(LOSSES),500000)
	$(REAL) $(BIN)/python -m tests.stress_training --cases $(or $(SAMPLES),1500)
	$(REAL) $(BIN)/python -m tests.stress_declarations --cases $(or $(TOOLS),20000)
	$(REAL) $(BIN)/python -m tests.stress_harmony --cases $(or $(HARMONY),20000)
	$(REAL) $(BIN)/python -m tests.stress_harmony --program harmony-0.1 --cases $(or $(HARMONY),2000)
	$(REAL) $(BIN)/python -m tests.stress_deepseek --cases $(or $(DEEPSEEK),20000)
	$(REAL) $(BIN)/python -m tests.stress_deepseek_r1 --cases $(or $(DEEPSEEK),20000)
	$(REAL) $(BIN)/python -m tests.stress_inkling --cases $(or $(INKLING),20000)
	$(REAL) $(BIN)/python -m tests.stress_kimi_k3 --cases $(or $(KIMI),20000)
	$(REAL) $(BIN)/python -m scripts.training_rows

# make bench   benchmark against peers, and write docs/benchmarks.md, its tables and its plot
bench: $(VENV)/.bench
	$(REAL) $(BIN)/python -m benchmarks

# make test-engine  run rollouts against vLLM (ENGINE_VERSIONS="0.31.0 0.32.0") on the CPU, installed on the first run (6 GB), and write docs/tables/engine.md
test-engine: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.engine_table $(ENGINE_VERSIONS)

# make record-engine  record the responses of vLLM (ENGINE_VERSIONS="0.31.0 0.32.0") and the fields of SGLang in tests/client/recorded
record-engine: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.record_engine $(ENGINE_VERSIONS)
	$(BIN)/python -m scripts.record_sglang

# make parity  compare every available template with transformers, in all combinations
parity: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.parity

# make sampled compare the sampled mask with hand-placed generation tags
sampled: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.sampled

# make compare compare with release 0.1 on a generated corpus, and write docs/tables/differences.md (COMPARE=--quick: a small corpus)
compare: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.compare $(COMPARE)

# make inverse render, parse and render again, and list the losses of each template
inverse: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.inverse

# make parse-table  render and parse turns of several classes with every template, and write docs/tables/parse.md
parse-table: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.parse_table --write

# make parser-table  compare our parsers with vLLM's on recorded completions, and write docs/tables/parsers.md
parser-table: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.parser_agreement --write

# make parser-names  write docs/reference/parser-names.md
parser-names: $(VENV)/.test
	$(BIN)/python -m scripts.parser_names

# make bridge-table  bridge rollouts with every template, and list the reasons of refusals
bridge-table: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.bridge_table

# make goldens write the reference ids of families to tests/goldens (FAMILIES="qwen3 glm-5"; default: all)
goldens: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.goldens $(FAMILIES)

# make bad-inputs  write the table of rejected inputs and their errors to docs/tables/bad-inputs.md
bad-inputs: $(VENV)/.test
	$(BIN)/python -m scripts.bad_inputs

# make span-goldens  write the owners of every character that a template emits to tests/span_goldens
span-goldens: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.span_goldens

# make size    print the lines of the package: in all, of code, and of logic
size: $(VENV)/.test
	$(BIN)/python -m scripts.size

# make wheels  check that every dependency has a wheel for every supported Python
wheels: $(VENV)/.test
	$(BIN)/python scripts/check_wheels.py $(PYTHON_TARGETS)

# make dist    build the sdist, a wheel for this platform and a pure-Python wheel into dist
dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	mkdir dist/source && tar --extract --gzip --file dist/*.tar.gz --directory dist/source --strip-components 1
	RENDERERS_PURE_PYTHON=1 $(BIN)/python -m build --quiet --wheel --outdir dist dist/source
	rm -rf dist/source

# make test-incumbent  run the tests of release 0.1.12 on this package, and write docs/tables/incumbent-tests.md
test-incumbent: $(VENV)/.test
	$(REAL) $(BIN)/python -m scripts.incumbent --write

# make test-consumers  run verifiers, in environments of its own, on the wheel of this package
test-consumers: dist
	$(REAL) $(BIN)/python -m scripts.consumers

# make format  format the code and apply automatic fixes
format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# make clean   remove all generated files
clean:
	rm -rf $(VENV) build src/*.egg-info src/renderers/core/*.so dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
