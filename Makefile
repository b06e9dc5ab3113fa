# make crawl                          the demonstration Web, or SEEDS="https://example.org" CONTACT="you@example.org"
# make test                           everything that CI runs
# make quick                          tests that need no whole crawl, for the inner loop: two minutes at most
# make install                        .venv/bin/gossamer, with what crawl, sql, explain and export need
# make dist                           wheel and source archive, in dist/
# make bounds                         the bounds and figures, measured on this machine (two hours)
# make bench                          Gossamer beside Scrapy, Crawlee and wget2, and how its cost grows: docs/benchmarks.md
#                                     (40 minutes; QUICK=1: ten)
# make audit                          known vulnerabilities of the pinned versions, by pip-audit: docs/vulnerabilities.md
# make fuzz                           inputs that break what reads them, looked for (10 minutes a target, or MINUTES=1)

PYTHON  ?= python3
VENV    := .venv
OTHERS  := .venv-bench
BIN     := $(VENV)/bin
DIR     ?= $(if $(SEEDS),my-crawl,demo-crawl)
BENCHES := page_cost quiet citizen shortest scheduling hostile soak bandwidth takers scale plan rank links simulate table site_queue robots gather costs large_pages archive fetch disk_sizes sql answers verify log progress demo_speed starts revisits week signals report freshness observable page_memory library plugins dashboard sessions
MINUTES ?= 10
PIP     := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
# Python keeps its compiled modules, whatever the machine says: a crawl starts six processes, a test run thousands.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: crawl install dist test quick bounds bench audit fuzz clean

crawl: install
ifeq ($(strip $(SEEDS)),)
	$(BIN)/gossamer crawl $(DIR) --demo $(ARGS)
else
	$(BIN)/gossamer crawl $(DIR) $(foreach seed,$(SEEDS),--seed '$(seed)') $(if $(CONTACT),--contact '$(CONTACT)') $(ARGS)
endif

install: $(VENV)/installed

# The wheel is made from the source archive, so that the archive is known to be complete.
dist: $(VENV)/installed-dev
	@rm -rf build dist
	@$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' >/dev/null
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist dist/gossamer-*.tar.gz
	@ls -l dist

# Kernels are compiled while types are checked. Most of the longest tests wait for servers:
# four processes keep two cores busy.
test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy & types=$$!; $(BIN)/python -m gossamer.tools.compile --laboratory; compiled=$$?; wait $$types && exit $$compiled
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

quick: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	@$(BIN)/python -m gossamer.tools.compile --laboratory
	$(BIN)/python -m pytest -n 3 --dist loadfile -m "not slow and not nginx" --quick

bounds: $(VENV)/installed-dev $(VENV)/installed
	for name in $(BENCHES); do echo "== $$name"; $(BIN)/python -m bench.$$name || exit 1; done

# All traffic stays on 127.0.0.0/8. The real pages are downloaded once, to .bench-pages; nothing of them is installed.
bench: $(VENV)/installed-dev $(VENV)/installed $(OTHERS)/installed
	PATH="$$PATH:/usr/sbin" $(BIN)/python -m bench.beside $(if $(QUICK),--quick)
	$(BIN)/python -m bench.beside.growth $(if $(QUICK),--quick)
	$(BIN)/python -m bench.beside.write
	$(BIN)/python -m bench.beside.bound

$(OTHERS)/installed: requirements-bench.lock
	@echo "Installing other crawlers into $(OTHERS) (once) ..."
	@$(PYTHON) -m venv $(OTHERS)
	@$(OTHERS)/bin/python -m pip --disable-pip-version-check --no-input --quiet install -r requirements-bench.lock
	@command -v wget2 >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && (apt-get update && apt-get install -y --no-install-recommends wget2) >/dev/null 2>&1; } \
	  || echo "no wget2: it is left out (on Debian: apt-get install wget2)"
	@touch $@

audit:
	@command -v pip-audit >/dev/null || { echo "pip-audit is missing; install it: pipx install pip-audit"; exit 1; }
	@found=0; for lock in requirements*.lock; do \
	  echo "== $$lock"; pip-audit --no-deps --disable-pip -r $$lock || found=1; done; exit $$found

fuzz: $(VENV)/installed-dev $(VENV)/installed
	$(BIN)/python -m fuzz all --minutes $(MINUTES)

clean:
	rm -rf $(VENV) $(OTHERS) .bench-pages build dist demo-crawl

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Gossamer needs Python 3.11 or later; name one: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "No virtual environment could be made; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/packages: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "Installing into $(VENV) (once) ..."
	@$(PIP) install --no-compile -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(PIP) uninstall --yes setuptools
	@touch $@

# The compiled kernels are made once here, so that the first crawl starts at once.
$(VENV)/installed: $(VENV)/packages
	@echo "Compiling the kernels (once) ..."
	@$(BIN)/python -m gossamer.tools.compile
	@touch $@

# The tests replay a crawl with pywb. Its own list of needs names a package that would hide the `brotli` of Gossamer, so
# the pins are installed as they are. What cannot be installed is noted as .venv/without-NAME: its tests are then skipped,
# which CI takes for a failure without that note (tests/support/needed.py).
$(VENV)/installed-dev: requirements-lab.lock requirements-serve.lock requirements-dev.lock requirements-replay.lock $(VENV)/packages
	@echo "Installing what the tests need ..."
	@rm -f $(VENV)/without-*
	@$(PIP) install --no-compile -r requirements-lab.lock -r requirements-serve.lock -r requirements-dev.lock
	@$(PIP) install --no-deps -r requirements-replay.lock \
	  || { echo "no pywb: the tests that replay a crawl are skipped"; touch $(VENV)/without-pywb; }
	@for each in nginx:nginx-light dnsmasq:dnsmasq-base zsh:zsh fish:fish chromium:chromium; do \
	  name=$${each%:*}; PATH="$$PATH:/usr/sbin" command -v $$name >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && (apt-get update && apt-get install -y --no-install-recommends $${each#*:}) >/dev/null 2>&1; } \
	  || { echo "no $$name: the tests that need it are skipped"; touch $(VENV)/without-$$name; }; \
	done
	@touch $@
