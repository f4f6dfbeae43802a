# Few targets. Each sets up what it needs in .venv and does nothing the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOUD    = $(BIN)/python -m pip --disable-pip-version-check
PIP     = $(LOUD) --quiet
STAMP  := $(VENV)/.stamp
# for two cores: some tests wait. Bytecode is written, since the tests start the program dozens of times
TEST   := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder

.PHONY: run serve test test-all check bench docs lock torch flwr dist clean help
.DEFAULT_GOAL := run

run: $(STAMP)-run        ## a short tour on data it generates
	$(BIN)/tacit demo

serve: $(STAMP)-serve    ## the service with the demo dataset, on this machine alone
	$(BIN)/tacit serve --wire 127.0.0.1:8322

test: $(STAMP)-test torch flwr ## every test, long ones in their fast form
	$(TEST)

test-all: $(STAMP)-test torch flwr ## every test in full
	TACIT_TESTS=full $(TEST) -m "slow or not slow"

check: $(STAMP)-test torch ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)-bench    ## measured beside the peers, in one run
	$(BIN)/python -m bench

docs: $(STAMP)-test $(STAMP)-docs ## the site, in build/site, and the pages that are generated
	@mkdir -p build
	$(BIN)/tacit account mechanisms --markdown > docs/reference/mechanisms.md
	$(BIN)/tacit check --reference > docs/reference/policy.md
	$(BIN)/python -m tacit.sql.reference > docs/reference/sql.md
	$(BIN)/tacit survey new --reference > docs/reference/survey-file.md
	$(BIN)/python -m tacit.survey.vectors docs/reference/survey-vectors.json
	$(BIN)/tacit demo --plot docs/images/demo.svg > build/demo.txt
	PYTHONPATH=tests $(BIN)/python -m support.notebook
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "read it: build/site/index.html"

lock: $(STAMP)-test      ## rewrite the pinned, hashed requirement files
	$(PIP) install uv
	cd requirements && for set in run serve test bench docs; do \
		case $$set in run) in="../pyproject.toml --extra plot run.in";; \
			serve) in="../pyproject.toml --extra plot --extra postgres --extra server run.in";; \
			test) in="../pyproject.toml --extra plot --extra postgres --extra spark --extra server run.in test.in";; \
			bench) in="../pyproject.toml --extra plot --extra postgres --extra spark --extra server run.in test.in bench.in";; \
			docs) in="--constraint test.txt docs.in";; esac; \
		../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--custom-compile-command "make lock" $$in -o $$set.txt || exit 1; \
	done

dist: $(STAMP)-test      ## the wheel and the archive of the source, from what is committed
	@rm -rf build/dist && mkdir -p build/dist && git archive HEAD | tar -x -C build/dist
	@cd build/dist && ../../$(BIN)/python -c "from setuptools.build_meta import build_sdist as s, build_wheel as w; print(s('../../dist')); print(w('../../dist'))" | tail -n 1

help:                    ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

clean:                   ## forget the environment
	rm -rf $(VENV)

torch: | $(STAMP)-test   # not pinned by hash, and large: without it the tests that train networks are skipped
	@test -e $(STAMP)-torch || { $(PIP) install torch==2.13.0 && touch $(STAMP)-torch; } \
		|| echo "torch could not be installed: tests that train networks are skipped"

flwr: | $(STAMP)-test    # pins what the rest has newer, so it has an environment of its own
	@test -e $(STAMP)-flwr || { $(PYTHON) -m venv $(VENV)/flwr && \
		$(VENV)/flwr/bin/python -m pip --quiet --disable-pip-version-check install "flwr>=1.41,<2" -e . && touch $(STAMP)-flwr; } \
		|| { rm -rf $(VENV)/flwr; echo "flwr could not be installed: tests of federated training by Flower are skipped"; }

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(STAMP)-%: requirements/%.txt pyproject.toml | $(VENV)/bin/python
	@echo "setting up $(VENV) for '$*': this happens once and takes about a minute"
	@rm -f $@; shown=0; if test -t 1; then shown=1; fi; { $(LOUD) install --require-hashes -r requirements/$*.txt && \
		$(LOUD) install --no-deps --no-build-isolation -e . && touch $@; } 2>&1 | awk -v shown=$$shown \
		'shown && /^Collecting/ { printf "\r\033[K  %d packages, now %s", ++n, $$2 } shown && /^Installing/ { printf "\r\033[K  installing" } \
		/^ERROR/ { bad = 1; if (shown) printf "\r\033[K" } bad { print } { fflush() } END { if (shown) printf "\r\033[K" }'
	@test -e $@
