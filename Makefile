# Every entry point of the project. Each target makes the environment it needs by itself:
# python3 (3.11 or newer), make and git are enough.
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# One more than two cores: much of what the tests do is to wait for leases, deadlines and pauses to end
PYTEST_WORKERS ?= 3
REFERENCES := association weat trial_fit sampler

.PHONY: help setup setup-dev pictures docs test-lowest ngram recipes demo scaled-demo test test-all coverage fix chaos soak costs sbom fuzz check lint types contracts openapi client bench calibrate papers mutate lock clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

CLIENT := clients/python

# pip repeats for every package that an index of its configuration is not there: that line alone is left out.
pip_install = ( $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1) 2>$(VENV)/pip.log; status=$$?; \
  grep -v "^WARNING: Location .* is ignored" $(VENV)/pip.log >&2; exit $$status )
install = if command -v uv >/dev/null 2>&1; \
  then uv pip install --quiet --compile-bytecode --python $(BIN)/python $(1); else $(call pip_install,$(1)); fi

$(READY): requirements-runtime.lock requirements-build.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "Assay needs Python 3.11 or newer: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing what Assay runs on in $(VENV), once: $$(cat requirements-runtime.lock requirements-build.lock | grep -c ==) packages, about a minute (seconds with uv)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call install,--require-hashes --requirement $< --requirement requirements-build.lock)
	@$(call install,--no-deps --no-build-isolation --editable .)
	@touch $@

$(READY_DEV): $(READY) requirements.lock $(CLIENT)/pyproject.toml $(CLIENT)/build_operations.py $(CLIENT)/openapi.json \
  $(CLIENT)/src/assay_client/async_client.py
	@echo "Adding what tests and checks need, once: $$(grep -c == requirements.lock) packages in all, about a minute (seconds with uv)"
	@$(call install,--require-hashes --requirement requirements.lock)
	@$(call install,--no-deps --no-build-isolation --editable $(CLIENT))
	@$(BIN)/python $(CLIENT)/build_operations.py
	@touch $@

setup: $(READY) ## Install what Assay runs on in .venv (other targets do so by themselves)

setup-dev: $(READY_DEV) ## Add what tests and checks need: pytest, linters, Postgres, Redis and others

ngram: $(READY_DEV) ## Add kenlm, which is built from source here (needs cmake and a C++ compiler)
	@$(BIN)/python -c "import kenlm" 2>/dev/null || \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-ngram.lock

recipes: $(READY_DEV) ## Add the tracking packages of docs/experiment-tracking.md, in .venv-recipes
	@test -x .venv-recipes/bin/mlflow || { $(PYTHON) -m venv .venv-recipes && \
	  $(BIN)/uv pip install --quiet --python .venv-recipes/bin/python --require-hashes -r requirements-recipes.lock; }

demo: $(READY) ## Start the agency, rate services of known behaviour, show the ratings (ARGS=--keep leaves it up)
	@$(BIN)/assay demo $(ARGS)

BROKER ?= redis

scaled-demo: $(READY_DEV) ## The same with Postgres, Redis, two APIs and two workers, killing one of each (BROKER=rabbitmq: over RabbitMQ)
	@$(BIN)/python -m tools.scaled_demo --broker $(BROKER)

test: $(READY_DEV) ## Run the tests but for slow ones, which CI runs too (about 10 minutes; ARGS="FILE or options": any others)
	@echo "Tests of more than about a second, and all of tests/browser, tests/chaos, tests/e2e and tests/fuzz, are left to make test-all."
	@$(MAKE) --no-print-directory test-all ARGS='$(or $(ARGS),-m "not slow")'

test-all: $(READY_DEV) ## Run every test (about 35 minutes)
	@if command -v npm >/dev/null 2>&1; then $(MAKE) --no-print-directory .ci/browser/node_modules .ci/formats/node_modules clients/typescript/node_modules; fi
	@PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

coverage: $(READY_DEV) ## Measure which lines and branches the unit and integration tests reach; fails below the floor in pyproject.toml
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile -m "not slow" tests/unit tests/integration \
	  --cov --cov-report=term $(ARGS)

chaos: $(READY_DEV) ## Break everything at length: 150 faults over 1,000 jobs, and more (1.5 h; ARGS="--chaos-scale night": 10,000)
	@$(BIN)/python -m pytest tests/chaos tests/fuzz tests/hostile/test_hostile_pages.py --chaos-scale long -s $(ARGS)

costs: $(READY_DEV) ## Attack a running agency: what does one request or job cost at most? (docs/reliability.md)
	@$(BIN)/python -m tools.costs $(ARGS)

pictures: $(READY_DEV) ## Take a picture of every page, wide and narrow, light and dark (needs chromium; ARGS="--folder DIR")
	@$(BIN)/python -m tools.pictures --folder pictures $(ARGS)

docs: $(READY_DEV) ## Build the documentation site from docs/ and the code: site/index.html (offline, no warnings)
	@$(BIN)/python -m tools.docs_site $(ARGS)

test-lowest: $(READY_DEV) ## Run the unit tests with the oldest versions that pyproject.toml allows (.venv-lowest)
	@$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --no-annotate --no-header \
	  --no-emit-index-url --extra dev --extra real --extra s3 --group build pyproject.toml --output-file $(VENV)/lowest.txt
	@test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	@$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --requirement $(VENV)/lowest.txt
	@$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --no-deps --no-build-isolation --editable . --editable $(CLIENT)
	@OPENBLAS_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile tests/unit tests/integration $(ARGS)

sbom: $(READY_DEV) ## Write sbom.cdx.json: what the image is made of (CycloneDX, validated)
	@$(BIN)/cyclonedx-py requirements requirements-runtime.lock --pyproject pyproject.toml --output-reproducible \
	  --output-file sbom.cdx.json 2>/dev/null || { echo "sbom.cdx.json was not written" >&2; exit 1; }

soak: $(READY_DEV) ## An hour of jobs, polls, reports and uploads: does any process grow? (ARGS="--soak-minutes 10")
	@$(BIN)/python -m pytest tests/chaos/test_soak.py --soak-minutes 60 -s $(ARGS)

fuzz: $(READY_DEV) ## Send each boundary of each value to every operation, and follow links (some minutes; make chaos does so too)
	@$(BIN)/python -m pytest tests/fuzz/test_schemathesis.py --chaos-scale long -n 2 $(ARGS)

fix: $(READY_DEV) ## ruff: mend what it can mend by itself, and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lint: $(READY_DEV) ## ruff: format and rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY_DEV) ## mypy --strict
	@$(BIN)/mypy

contracts: $(READY_DEV) ## import-linter: who may import whom; deptry: what is declared
	@$(BIN)/lint-imports
	@$(BIN)/deptry .
	@$(BIN)/deptry $(CLIENT)/src --config $(CLIENT)/pyproject.toml

check: lint types contracts test-all ## Everything CI checks, but for openapi

openapi: $(READY) .ci/openapi/node_modules ## Hold the OpenAPI document against spectral and redocly (needs npm)
	@$(BIN)/python -m tools.openapi_document .ci/openapi/openapi.json
	@cd .ci/openapi && npx --no-install spectral lint --ruleset spectral.yaml --fail-severity=hint openapi.json
	@cd .ci/openapi && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --no-install redocly lint --config redocly.yaml openapi.json

%/node_modules: %/package-lock.json
	@cd $(@D) && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

client: $(READY_DEV) ## Write the client's openapi.json from the service, generate its types and methods, copy its gate to cli/
	@cp $(CLIENT)/src/assay_client/gate.py cli/gate.py
	@$(BIN)/python -m tools.openapi_document $(CLIENT)/openapi.json
	@$(BIN)/python $(CLIENT)/build_operations.py
	@touch $(READY_DEV)

bench: $(READY_DEV) $(REFERENCES:%=.venv-bench/%/.ready) ## Measure speed against references, side by side
	@for each in $(basename $(notdir $(wildcard benchmarks/bench_*.py))); do \
	  own=.venv-bench/$${each#bench_}/bin/python; test -x $$own || own=$(BIN)/python; \
	  $$own -m benchmarks.$$each || exit 1; \
	done

# The references of these benchmarks cannot be installed together, and nothing else needs them.
.venv-bench/%/.ready: pyproject.toml
	@echo "Setting up the reference of bench_$* in .venv-bench (once; about a minute)"
	@test -x .venv-bench/$*/bin/python || $(PYTHON) -m venv .venv-bench/$*
	@$(PYTHON) -m benchmarks.references $* | .venv-bench/$*/bin/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	@.venv-bench/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv-bench/mutation/.ready: pyproject.toml
	@echo "Setting up what mutates the science in .venv-bench (once; about a minute)"
	@test -x .venv-bench/mutation/bin/python || $(PYTHON) -m venv .venv-bench/mutation
	@.venv-bench/mutation/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench-mutation]"
	@touch $@

calibrate: $(READY) ## Rate simulated services of known bias: are letters right, do intervals hold? (docs/calibration.md)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tools.calibrate $(ARGS)

papers: $(READY_DEV) ## Compute the tables and figures of the five papers beside the printed ones: papers.html (ARGS="--data DIR")
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tools.papers $(ARGS)

mutate: .venv-bench/mutation/.ready ## Change the science on purpose: does a test fail each time? (docs/mutation.md; ARGS="--sample 600")
	@OPENBLAS_NUM_THREADS=1 .venv-bench/mutation/bin/python -m tools.mutate $(ARGS)

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-annotate --no-header

lock: $(READY_DEV) ## Resolve the dependencies anew: what is tested, what runs, what builds (hashes, no addresses)
	@$(LOCK) --extra dev --extra real --extra s3 --group build pyproject.toml --output-file requirements.lock
	@$(LOCK) --constraint requirements.lock pyproject.toml --output-file requirements-runtime.lock
	@$(LOCK) --constraint requirements.lock --group build --output-file requirements-build.lock
	@echo 'kenlm>=0.2' | $(LOCK) - --output-file requirements-ngram.lock
	@printf 'mlflow-skinny>=3.17\nsqlalchemy>=2\nalembic>=1.16\nwandb>=0.31\nhttpx>=0.28\n' | $(LOCK) - --output-file requirements-recipes.lock

clean: ## Remove the environment and caches
	@rm -rf $(VENV) .venv-bench .venv-lowest .venv-recipes site .ci/*/node_modules clients/typescript/node_modules clients/typescript/dist clients/typescript/src/schema.d.ts .ci/openapi/openapi.json .pytest_cache .mypy_cache .ruff_cache .hypothesis
