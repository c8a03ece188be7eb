# make book    the course as a site            make test   everything CI runs
# make lab     the course in JupyterLab        make help   all targets
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
READER := $(VENV)/.installed-requirements
DEV    := $(VENV)/.installed-requirements-dev
PORT   ?= 8000
export SOLUTIONS BANNER CURRENT

.PHONY: help book serve lab test test-full notebooks lint format checks-report bench lighthouse pictures lock clean
.DEFAULT_GOAL := help

help:            ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 16

book: $(READER)  ## build the site; SOLUTIONS=no withholds solutions, BANNER="…" heads every page
	@$(PY) tools/build_site.py

serve: book      ## build the site and serve it on this machine, PORT=8000
	@$(PY) tools/local_server.py $(PORT)

lab: $(READER)   ## open your own copies of the chapters in JupyterLab
	@$(PY) tools/lab.py

test: $(DEV)     ## run everything CI runs
	@$(PY) tools/run_tests.py

test-full: $(DEV)  ## the same with the long versions of the tests
	@$(PY) tools/run_tests.py --full

notebooks: $(DEV)  ## chapters and generated pages from their sources, executed where needed
	@$(PY) tools/notebooks.py
	@$(PY) tools/course_map.py
	@$(PY) tools/exercise_pages.py

lint: $(DEV)     ## style of package, tools, tests and notebooks
	@$(PY) tools/run_tests.py lint

format: $(DEV)   ## let ruff mend what it can
	@$(PY) -m ruff check --fix attnbook tests tools conftest.py
	@$(PY) -m ruff format attnbook tests tools conftest.py

checks-report: $(DEV)  ## how many wrong answers each check catches and names
	@$(PY) tools/checks_report.py

bench: $(DEV)    ## how long imports, checks, chapters and the build take
	@$(PY) tools/bench.py

lighthouse: book  ## judge the site with Lighthouse; needs Node.js and Chromium
	@$(PY) tools/lighthouse.py

pictures: $(DEV) book  ## take the README's pictures anew
	@$(PY) tools/pictures.py

lock: $(DEV)     ## write constraints.txt from what is installed in .venv
	@$(PY) tools/lock.py

clean:           ## remove what was built; .venv and my-work stay
	rm -rf _build build dist attnbook.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# A stamp is younger than the files it stands for when nothing needs installing.
$(PY):
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else "Python 3.11 to 3.13 is needed; this is %d.%d. Choose one: make book PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $(VENV)

$(READER): requirements.txt constraints.txt pyproject.toml | $(PY)
	@echo "Installing what the course needs; the first time takes a few minutes."
	$(PY) -m pip install --disable-pip-version-check -r requirements.txt -c constraints.txt -e .
	@touch $@

$(DEV): requirements-dev.txt $(READER)
	$(PY) -m pip install --disable-pip-version-check -r requirements-dev.txt -c constraints.txt
	@touch $@
