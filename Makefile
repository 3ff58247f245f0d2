VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: setup test
setup: $(VENV)/.installed
$(VENV)/.installed: setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	touch $(VENV)/COLCON_IGNORE
	$(BIN)/pip install --quiet -e '.[ros,test]'
	touch $@
test: setup
	$(BIN)/python -m pytest
