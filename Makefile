# Two commands on a fresh machine do everything: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One worker per core keeps the suite short; pytest-xdist decides how many that is.
PYTEST_WORKERS ?= auto

.PHONY: run test chaos soak search installed lint clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

run: $(VENV)/.ready
	@$(BIN)/haes demo

test: $(VENV)/.ready
	$(BIN)/pytest -q -n $(PYTEST_WORKERS)

# Status 5 says that no test was selected, which is no failure.
chaos: $(VENV)/.ready
	$(BIN)/pytest -q -m 'chaos or soak or browser' || [ $$? -eq 5 ]

# Ten minutes of random faults; the report says what happened.
soak: $(VENV)/.ready
	HAES_SOAK_SECONDS=600 $(BIN)/pytest -q -s -m soak tests/chaos

# Fresh environments with every Python that is here, from 3.11 to 3.14.
installed: $(VENV)/.ready
	$(BIN)/pytest -q -m install tests/install

# Whole clusters in the simulator, on all cores, for so many simulated hours; seeds that fail are kept in var/.
HOURS ?= 10
SEED ?= 1
search: $(VENV)/.ready
	$(BIN)/python -m tests.cluster_simulator search --hours $(HOURS) --from $(SEED)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) build dist *.egg-info var
