# Every target sets up what it needs first, once. Only Python >= 3.11 and make have to be there.
PYTHON ?= python3
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

# The environment's Python, after a set-up where one is needed.
ENV = $(PYTHON) -m harness.provision exec $(if $(KAFKA),--kafka '$(KAFKA)') --

# The same with what an experiment sets up after its verdict.
WHOLE = $(PYTHON) -m harness.provision exec --whole --

# An option is passed on only when it was given: the command line knows the defaults.
OPTIONS = $(if $(SEED),--seed '$(SEED)') $(if $(REPEAT),--repeat '$(REPEAT)') \
          $(if $(CLIENT),--client '$(CLIENT)') $(if $(PROTOCOL),--protocol '$(PROTOCOL)') \
          $(if $(CLIENT_VERSION),--client-version '$(CLIENT_VERSION)') \
          $(if $(BACKEND),--backend '$(BACKEND)') $(if $(KAFKA),--kafka '$(KAFKA)') \
          $(if $(APP),--app '$(APP)') $(if $(IMAGE),--image '$(IMAGE)')

# For a night: what is played, and where it ends.
NIGHT = $(if $(ONLY),--only '$(ONLY)') $(if $(LONG),--long) $(if $(SHARE),--share '$(SHARE)') $(if $(SEED),--seed '$(SEED)') \
        $(if $(CLIENT),--client '$(CLIENT)') $(if $(PROTOCOL),--protocol '$(PROTOCOL)') \
        $(if $(CLIENT_VERSION),--client-version '$(CLIENT_VERSION)') \
        $(if $(BACKEND),--backend '$(BACKEND)') $(if $(KAFKA),--kafka '$(KAFKA)')
# Another version of the Java client is set up like the brokers' own.
CLIENT_JARS = $(if $(CLIENT_VERSION),$(PYTHON) -m harness.provision exec --kafka '$(CLIENT_VERSION)' -- -c '')

.PHONY: help setup doctor list experiment nightly test test-fast pin check docs bench clean lock lock-kafka

help: ## say what can be typed here
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

experiment: ## run, check and report one: NAME=broker-kill [APP= SEED= REPEAT= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA=]
	@$(CLIENT_JARS)
	@$(ENV) -m harness experiment $(if $(NAME),'$(NAME)') $(OPTIONS)

.PHONY: try
try: ## a program of yours as the members of the group: APP=consumers/apps/kafkajs, CMD='./consumer --config x' or IMAGE=registry/orders:1.4 [SEED= REPEAT= BACKEND= KAFKA=]
	@$(ENV) -m harness try $(OPTIONS) $(if $(CMD),-- $(CMD))

.PHONY: matrix
matrix: ## the same faults for several programs, side by side: [APPS='consumers/apps/kafkajs consumers/apps/sarama' REPEAT=3 SEED= BACKEND= KAFKA=]
	@$(ENV) -m harness matrix $(foreach app,$(APPS),--app '$(app)') $(if $(REPEAT),--repeat '$(REPEAT)') \
	    $(if $(SEED),--seed '$(SEED)') $(if $(BACKEND),--backend '$(BACKEND)') \
	    $(if $(KAFKA),--kafka '$(KAFKA)')

nightly: ## every experiment, and every rule for each client and protocol [SHARE=1/2 ONLY= LONG=1 SEED= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA=]
	@$(CLIENT_JARS)
	@$(ENV) -m harness nightly $(NIGHT)

list: ## the experiments there are
	@$(ENV) -m harness list

.PHONY: compare-protocols
compare-protocols: ## the same fault under each protocol: [NAME=consumer-join CLIENT=librdkafka,java MEMBERS=1,10,30]
	@$(CLIENT_JARS)
	@$(ENV) -m harness compare-protocols $(if $(NAME),'$(NAME)') $(if $(MEMBERS),--members '$(MEMBERS)') \
	    $(if $(SEED),--seed '$(SEED)') $(if $(CLIENT),--client '$(CLIENT)') \
	    $(if $(CLIENT_VERSION),--client-version '$(CLIENT_VERSION)') \
	    $(if $(PROTOCOL),--protocol '$(PROTOCOL)') $(if $(BACKEND),--backend '$(BACKEND)') \
	    $(if $(KAFKA),--kafka '$(KAFKA)')

test: ## what must hold before a change goes in: format, lint, types, tests, some on real brokers [ALL=1: all of them]
	@$(MAKE) check
	@$(if $(ALL),$(WHOLE) -m tests.everything,$(MAKE) test-fast-only && $(WHOLE) -m pytest -m "cluster and not long")

# Two processes, and no more: each may have a JVM for Spark.
.PHONY: test-fast-only
test-fast-only:
	@$(WHOLE) -m pytest -m "not cluster" --numprocesses 2 --dist worksteal

test-fast: ## the same without the tests that start Kafka brokers
	@$(MAKE) check
	@$(MAKE) test-fast-only

.PHONY: recorded
recorded: ## play the runs that the tests play, and keep their histories for tests/recorded [RESULTS=folder: keep those]
	@$(WHOLE) -m tests.recorded $(if $(RESULTS),'$(RESULTS)')

pin: ## write anew what hand-written and recorded histories are judged to be, after a change of a rule [ONLY=tests/rules/test_joining.py]
	@$(ENV) -m pytest $(if $(ONLY),'$(ONLY)',tests/rules tests/recorded) --snapshot-update

.PHONY: agreed
agreed: ## have Spark judge what it has not yet, and keep on record that DuckDB agrees (tests/agreed.txt)
	@$(WHOLE) -m pytest tests/rules tests/check tests/recorded --engine both -m spark --keep-agreed --numprocesses 2 --dist worksteal

check: ## format, lint and types only
	@$(ENV) -m ruff format --check .
	@$(ENV) -m ruff check .
	@$(ENV) -m mypy

docs: ## write docs/rules.md and the table of ARCHITECTURE.md anew, from the code
	@$(ENV) -m harness.catalogue.rules_page tests/rules/__snapshots__ > docs/.rules.md && mv docs/.rules.md docs/rules.md
	@$(ENV) -m tests.rooms

bench: ## measure the harness itself
	@$(WHOLE) -m harness.bench

.PHONY: watch
watch: ## judge every edit by the tests that it concerns, within seconds: RULE=R01 or FILE=tests/rules/test_joining.py
	@$(ENV) -m tests.watch $(if $(RULE),--rule '$(RULE)') $(if $(FILE),--file '$(FILE)')

.PHONY: mutants
mutants: ## change the rules' SQL in small ways, and show which changes no test notices [SAMPLE=400 ONLY=joining]
	@$(ENV) -m tests.mutation $(if $(SAMPLE),--sample '$(SAMPLE)') $(if $(SEED),--seed '$(SEED)') \
	    $(if $(ONLY),--only '$(ONLY)')

clean: ## stop and remove what earlier runs left [CACHE=1 offers unused environments, YES=1 removes them]
	@$(ENV) -m harness clean $(if $(CACHE),--cache) $(if $(YES),--yes)

setup: ## set up everything a run needs, ahead of the first one [KAFKA=4.2.1]
	@$(PYTHON) -m harness.provision setup $(if $(KAFKA),--kafka '$(KAFKA)')

doctor: ## what is there, what is missing, what to do
	@$(PYTHON) -m harness.provision doctor

lock-kafka: ## for maintainers: pin the jars of another Kafka version: KAFKA=4.3.1
	@$(PYTHON) -m harness.provision lock-kafka '$(KAFKA)'

# uv comes and goes in an environment of its own; no header and no index go into
# the locks, so they name neither this machine nor its mirror.
UV_COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
             --no-header --no-emit-index-url --no-emit-find-links
lock: ## for maintainers: renew requirements.lock from requirements.in [UPGRADE=--upgrade]
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && \
	$(PYTHON) -m venv "$$work/uv" && "$$work/uv/bin/pip" install --quiet uv && \
	PATH="$$work/uv/bin:$$PATH" && \
	$(UV_COMPILE) $(UPGRADE) requirements.in -o requirements.lock && \
	for name in build go; do \
	    $(UV_COMPILE) $(UPGRADE) harness/provision/locks/$$name.in \
	        -o harness/provision/locks/$$name.lock; \
	done
