# Everything a checkout needs, set up by itself: `make demo`, `make sim`, `make test` ...
# Python of your own choice: make PYTHON=/path/to/python3.12 demo
# Options of the command line: make sim ARGS='--viewer none'

VENV := .venv
BIN := $(VENV)/bin
# Tests that run at a time: more than processors, since many of them wait for a while.
WORKERS ?= $(shell n=$$(nproc); echo $$(( n < 8 ? n + n / 2 : 12 )))
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# yourdfpy requires what trimesh recommends, and mujoco its second renderer with a program of its
# own; of that nothing here uses these 230 MB.
UNUSED := embreex manifold3d mapbox-earcut mujoco-studio networkx rtree scipy shapely vhacdx
COMMA := ,

# Installs the extras and $(1) without them: what pip would install, each without what it requires.
# Python compiles what it imports, which is half of what pip would compile.
define INSTALL_LEAN
$(INSTALL) --dry-run --report $(VENV)/.report -e '.[$(EXTRAS)$(1)]' \
  && $(BIN)/python -c "$$CHOOSE_PACKAGES" icir-control $(UNUSED) \
    <$(VENV)/.report >$(VENV)/.packages \
  && $(INSTALL) --no-compile --no-deps -r $(VENV)/.packages -e .
endef

# Robots of others, and Pinocchio.
INSTALL_BENCH = $(BIN)/python -c 'from importlib.metadata import version as v; v("pin"), v("example-robot-data")' \
  2>/dev/null || $(INSTALL) -e '.[bench]'

define CHOOSE_PACKAGES
import json, sys
for found in json.load(sys.stdin)['install']:
    name, version = found['metadata']['name'], found['metadata']['version']
    if name.lower().replace('_', '-') not in sys.argv:
        print(f'{name}=={version}')
endef
export CHOOSE_PACKAGES

# Python keeps what it has compiled: our processes start sooner.
unexport PYTHONDONTWRITEBYTECODE

# Where a ROS 2 installation is sourced its rclpy and messages are used, else PyPI's wheels.
ifeq ($(ROS_DISTRO),)
FLAVOUR := wheels
EXTRAS := sim
VENV_OPTIONS :=
else
FLAVOUR := $(ROS_DISTRO)
EXTRAS := panel
VENV_OPTIONS := --system-site-packages
endif

# Only a finished installation leaves its stamp, and the stamp says what was installed where: an
# interrupted one, a moved checkout or another ROS 2 is noticed, and put right, by the next call.
# The demo needs more than the simulation, for its film, and tests and studies twice as much.
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.demo_installed
ALL_STAMP := $(VENV)/.all_installed
PURPOSE := $(FLAVOUR) in $(CURDIR)
ifneq ($(and $(wildcard $(BIN)/python),$(shell cat $(STAMP) 2>/dev/null)),$(PURPOSE))
.PHONY: $(STAMP)
endif

.PHONY: help setup demo sim test test-long bench docs lint format ci clean
help:
	@echo 'make demo       every mode once, by itself, with figures and plots in results/'
	@echo 'make sim        the simulation, with the keyboard in this terminal'
	@echo 'make test       the quick tests, in some minutes (make test-long: all of them)'
	@echo 'make bench      speed, beside named references'
	@echo 'make docs       the documentation as pages, build/docs/index.html'
	@echo 'make lint       style, imports and types (make format: mend the style)'
	@echo 'make setup      all that tests, studies and tools need, in .venv'
	@echo 'make ci         what continuous integration runs'
	@echo 'make clean      delete all that make made'

setup: $(ALL_STAMP)

$(ALL_STAMP): $(STAMP)
	@echo 'Installing what tests, tools and studies need'
	@$(INSTALL) -e '.[$(EXTRAS),record,study,test]'
	@touch $(DEMO_STAMP) $@

$(DEMO_STAMP): $(STAMP)
	@echo 'Installing what film and report need'
	@$(call INSTALL_LEAN,$(COMMA)record)
	@touch $@

$(STAMP): setup.py pyproject.toml
	@rm -f $(STAMP)
	@$(CHOOSE_PYTHON); \
	$(BIN)/python -m pip --version >/dev/null 2>&1 \
	  && test "$$(cat $(VENV)/.purpose 2>/dev/null || echo '$(PURPOSE)')" = '$(PURPOSE)' \
	  || { echo "Creating $(VENV) with $$python"; $(CREATE_VENV); }
	@echo 'Installing icir_control and what it needs (several minutes the first time)'
	@$(INSTALL_LEAN)
	@$(BIN)/python -P -m icir_control.control.precompile
	@echo '$(PURPOSE)' > $@

# The shell commands that set $python, or end with what is missing.
define CHOOSE_PYTHON
recent() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
python=''; \
for name in $(or $(PYTHON),python3 python3.12 python3.11 python3.13 python3.14); do \
  if recent "$$name"; then python=$$name; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo 'icir_control needs Python 3.11 or newer; tried: $(or $(PYTHON),python3 and python3.11 to 3.14).' >&2; \
  echo 'Name one: make PYTHON=/path/to/python3.12 $(or $(MAKECMDGOALS),setup)' >&2; \
  exit 1; \
fi
endef

# Debian's python3 has no ensurepip without python3-venv: its pip can fill the environment, too.
define CREATE_VENV
rm -rf $(VENV); \
"$$python" -m venv $(VENV_OPTIONS) $(VENV) >/dev/null 2>&1 \
  || { "$$python" -m venv --clear --without-pip $(VENV_OPTIONS) $(VENV) \
       && "$$python" -m pip --python $(BIN)/python install --quiet pip; } \
  || { echo "$$python cannot make a virtual environment; on Debian and Ubuntu:" >&2; \
       echo '  sudo apt install python3-venv' >&2; exit 1; }; \
touch $(VENV)/COLCON_IGNORE; \
echo '$(PURPOSE)' > $(VENV)/.purpose
endef

demo: $(DEMO_STAMP)
	$(BIN)/icir_control demo $(ARGS)

sim: $(STAMP)
	$(BIN)/icir_control sim $(ARGS)

test: $(ALL_STAMP)
	$(PYTEST) $(ARGS)

test-long: $(ALL_STAMP)
	@$(INSTALL_BENCH)
	FUZZ_CASES=10000 $(PYTEST) -m '' $(ARGS)

bench: $(ALL_STAMP)
	@$(INSTALL_BENCH)
	@for script in benchmark/[a-z]*.py; do \
	  echo; echo "== $$script"; $(BIN)/python $$script || exit 1; \
	done

docs: $(ALL_STAMP)
	@$(BIN)/python -c 'import furo, myst_parser' 2>/dev/null \
	  || $(INSTALL) -e '.[docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs

lint: $(ALL_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(ALL_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

ci:
	.ci/run

clean:
	rm -rf $(VENV) build install log dist results *.egg-info
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find icir_control test benchmark launch -name __pycache__ -prune -exec rm -rf {} +
