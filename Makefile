# Every target sets up what it needs first, once. Only Python >= 3.11 and make have to be there.
PYTHON ?= python3
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

H := \#

# Variables of make's command line alone, and only those that the comment of its target names, as `[KAFKA=]`.
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
TAKEN := $(shell awk -F ':.*$(H) ' -v goals=' $(or $(MAKECMDGOALS),help) ' '/^[a-z-]+:.*$(H) / && index(goals, " " $$1 " ") \
    { while (match($$0, /[A-Z][A-Z_]*=/)) { print substr($$0, RSTART, RLENGTH - 1); $$0 = substr($$0, RSTART + RLENGTH) } }' Makefile)
UNKNOWN := $(filter-out $(TAKEN) PYTHON SHELL MAKE%,$(GIVEN))
ifneq ($(UNKNOWN),)
$(error make $(or $(MAKECMDGOALS),help) takes no $(firstword $(UNKNOWN)): $(if $(TAKEN),it takes $(TAKEN); )./kafka-chaos has more options)
endif

# The value of a variable, each of its words as an option, and several variables as the options of their names.
of = $(if $(filter $(1),$(GIVEN)),$($(1)))
quoted = '$(subst ','\'',$(1))'
each = $(foreach word,$(call of,$(1)),--$(2) $(call quoted,$(word)))
options = $(foreach name,$(1),$(if $(call of,$(name)),--$(shell echo $(name) | tr A-Z_ a-z-) $(call quoted,$(call of,$(name)))))
name = $(if $(call of,NAME),$(call quoted,$(call of,NAME)))

# The command, whose messages name make's variables; and the Python of developers or of users, after a set-up where one
# is needed.
HARNESS = KAFKA_CHAOS_MAKE='$(TAKEN)' $(PYTHON) kafka-chaos
ENV = $(PYTHON) -m harness.provision exec --
LEAN = $(PYTHON) -m harness.provision exec --lean --

# The same with what is left for the run after a first verdict.
WHOLE = $(PYTHON) -m harness.provision exec --whole --

# What most commands take; the command line knows the defaults.
RUNS = $(call options,SEED REPEAT CLIENT PROTOCOL CLIENT_VERSION BACKEND KAFKA SECURITY APP IMAGE JOBS) $(call each,LIMIT,limit)

.PHONY: help setup doctor list experiment nightly test test-fast pin check docs bench clean lock lock-kafka

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

experiment: ## play an experiment, judge it and write its report: NAME=broker-kill [APP= IMAGE= LIMIT='standstill_s=10 lost=0' SEED= REPEAT= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) experiment $(name) $(RUNS)

.PHONY: try
try: ## play the usual faults on your own program: APP=consumers/apps/kafkajs, CMD='./consumer --config x' or IMAGE=registry/orders:1.4 [LIMIT= SEED= REPEAT= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) try $(RUNS) $(if $(call of,CMD),-- $(CMD))

.PHONY: soak
soak: ## play one fault after the other, drawn at random, for a given time or until Ctrl-C: [FOR=1h APP= IMAGE= LIMIT= SEED= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) soak $(call options,FOR) $(RUNS)

.PHONY: matrix
matrix: ## play the same faults on several programs, and compare them side by side: [APPS='consumers/apps/kafkajs consumers/apps/sarama' LIMIT= REPEAT=3 SEED= JOBS= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) matrix $(call each,APPS,app) $(RUNS)

.PHONY: sweep
sweep: ## play experiments with several values of a setting, and show what each value buys and costs: NAME=consumer-crash,consumer-freeze OVER='session_timeout_ms=6000,10000,45000' [REPEAT=3 JOBS= LIMIT= SEED= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) sweep $(name) $(call each,OVER,over) $(RUNS)

nightly: ## play all short experiments, for each client and protocol [SHARE=1/2 ONLY= LONG=1 JOBS= LIMIT= SEED= CLIENT= CLIENT_VERSION= PROTOCOL= BACKEND= KAFKA= SECURITY=]
	@$(HARNESS) nightly $(call options,ONLY SHARE) $(if $(call of,LONG),--long) $(RUNS)

.PHONY: explain
explain: ## show who rebalanced a group and why, from the logs of brokers or clients: LOG='server.log*' [GROUP= INTO=folder TIMEZONE=Europe/Berlin]
	@$(HARNESS) explain $(call of,LOG) $(call options,GROUP INTO TIMEZONE)

.PHONY: up fault down
up: ## bring up a cluster behind Toxiproxy for programs of yours, until Ctrl-C: [BROKERS=3 TOPIC='orders:6 payments:3' SET='num.partitions=3' PORT_BASE=29091 DETACH=1 KAFKA= SECURITY=]
	@$(HARNESS) up $(call options,BROKERS PORT_BASE KAFKA SECURITY) $(call each,TOPIC,topic) $(call each,SET,set) $(if $(call of,DETACH),--detach)

fault: ## break something in the cluster of `make up`: KIND=kill-broker TARGET=coordinator [FOR=10s GROUP= LATENCY_MS= BANDWIDTH_KB_PER_S=]; without KIND: list what can be broken
	@$(HARNESS) fault $(if $(call of,KIND),$(call quoted,$(KIND))) $(if $(call of,TARGET),$(call quoted,$(TARGET))) \
	    $(call options,FOR GROUP LATENCY_MS BANDWIDTH_KB_PER_S)

down: ## end the cluster of `make up`, from another terminal
	@$(HARNESS) down

list: ## list all experiments, with their claims and rules
	@$(HARNESS) list

.PHONY: compare-protocols
compare-protocols: # says which sweep plays the same today: NAME= CLIENT= PROTOCOL= MEMBERS=
	@$(HARNESS) compare-protocols $(name) $(call options,MEMBERS CLIENT PROTOCOL)

test: ## check format, lint and types, and run the tests, some of them on real brokers [ALL=1: all of them, with a tenth each day of those marked long; ALL=every: each of them]
	@$(ENV) -m tests.checks --set-up
	@$(if $(call of,ALL),,$(MAKE) test-fast-only)
	@$(WHOLE) -m $(if $(call of,ALL),tests.everything $(filter every,$(ALL)),pytest $(WITH_BROKERS) -m "cluster and not long")

# Where the tests with brokers are.
WITH_BROKERS = tests/cluster tests/docker tests/torture

# Two processes, and no more: each may have a JVM for Spark.
.PHONY: test-fast-only
test-fast-only:
	@$(WHOLE) -m pytest -m "not cluster and not long" --numprocesses 2 --dist worksteal

test-fast: ## do the same without the tests that start brokers
	@$(ENV) -m tests.checks --set-up
	@$(MAKE) test-fast-only

# What any new rule, table, fault or experiment has to satisfy.
FITS = $(wildcard tests/rules/test_*.py) tests/tables/test_queries.py tests/recorded/test_expected_violations.py tests/recorded/test_recorded_runs.py \
    $(addprefix tests/unit/test_,registry.py rule_names.py drawn_faults.py cover.py rooms.py tidy.py)

.PHONY: fits
fits: ## check what any new rule, fault or experiment has to satisfy, in one to two minutes [ONLY=tests/rules/mine.cases]
	@$(ENV) -m tests.checks --set-up
	@$(WHOLE) -m pytest --quiet --numprocesses 2 --dist worksteal $(FITS) $(call of,ONLY)

.PHONY: wheel
wheel: ## make the source archive and, from it, the wheel of the command `kafka-chaos`, in dist/
	@rm -rf dist kafka_chaos.egg-info
	@$(LEAN) -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")' > /dev/null
	@$(LEAN) -m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz
	@rm -rf kafka_chaos.egg-info && ls dist/*

.PHONY: recorded
recorded: ## play the runs that the tests play, and keep their histories for tests/recorded [RESULTS=folder: keep these runs, or this run of a program]
	@$(WHOLE) -m tests.recorded $(if $(call of,RESULTS),$(call quoted,$(RESULTS)))

.PHONY: diff-recorded
diff-recorded: ## show which rows of recorded runs are not those of an old commit [SINCE=HEAD RUN=bad-day]
	@$(ENV) -m tests.recorded.diff $(call options,SINCE RUN)

pin: ## renew the pinned judgements of hand-written and recorded histories, after a change of a rule [ONLY=tests/rules/joining.cases]
	@$(ENV) -m pytest $(if $(call of,ONLY),$(call quoted,$(ONLY)),tests/rules tests/recorded) --snapshot-update

check: ## check format, lint and types
	@$(ENV) -m tests.checks

docs: ## write docs/rules.md, docs/clients.md and the table of ARCHITECTURE.md
	@$(ENV) -m harness.rules.list_of_rules > docs/.rules.md && mv docs/.rules.md docs/rules.md
	@$(ENV) -m harness.report.many.matrix_text docs
	@$(ENV) -m tests.rooms

bench: ## measure what the harness itself costs [ONLY='check recording']
	@$(WHOLE) -m harness.bench $(call of,ONLY)

.PHONY: watch
watch: ## run the tests of one rule or file within seconds of each save: RULE=R01 or FILE=tests/rules/joining.cases
	@$(ENV) -m tests.watch $(call options,RULE FILE)

.PHONY: mutants
mutants: ## change the SQL of rules and tables in small ways, and show which changes no test notices [SAMPLE=400 ONLY=rules or ONLY='static has-a-known-cause' SEED= KNOWN=changes.json]
	@$(ENV) -m tests.mutation $(call options,SAMPLE SEED KNOWN) $(if $(call of,ONLY),--only $(ONLY))

.PHONY: tampered
tampered: ## change histories of kept runs at random, and show which wrong change no rule notices [SEED=1 COUNT=100 FIRST=0]
	@$(ENV) -m tests.tampered $(call options,SEED COUNT FIRST)

.PHONY: torture
torture: ## kill runs, damage records and fill the disk, and show what is left or judged wrongly [ROUNDS='kills=20 nights=2 commands=20 damage=2000 shortages=10 clocks=5 memory=5' SEED=1 ROUND=damage-17]
	@$(ENV) -m tests.torture $(call options,ROUNDS SEED ROUND)

.PHONY: loaded
loaded: ## play experiments beside a load that it makes, and show whether it makes a verdict wrong; goes on where it stopped [BAND=15-30 ROUNDS=15 MINUTES=30]
	@$(ENV) -m tests.loaded $(call options,BAND ROUNDS MINUTES)

clean: ## end and remove what killed runs left [DRY=1 only lists it, CACHE=1 offers to remove unused environments, YES=1 does so without asking]
	@$(HARNESS) clean $(if $(call of,DRY),--dry-run) $(if $(call of,CACHE),--cache) $(if $(call of,YES),--yes)

setup: ## set up everything that a run needs, ahead of the first run [KAFKA=4.2.1]
	@$(PYTHON) -m harness.provision setup $(call options,KAFKA)

doctor: ## show what a run needs: what is there, what is missing, what to do
	@$(PYTHON) -m harness.provision doctor

.PHONY: bom
bom: ## print the bill of materials of everything that set-up fetches, as CycloneDX in JSON [KAFKA=4.2.1]
	@$(PYTHON) -m harness.provision bom $(call options,KAFKA)

lock-kafka: ## for maintainers: pin the jars of another Kafka version: KAFKA=4.4.0
	@$(PYTHON) -m harness.provision lock-kafka $(call quoted,$(call of,KAFKA))

.PHONY: coordinator-words
coordinator-words: ## for maintainers: list what the coordinators of Kafka's versions log, from their jars
	@$(ENV) -m tests.coordinator_words

# uv comes and goes in an environment of its own; no header and no index go into
# the locks, so they name neither this machine nor its mirror.
UV_COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
             --no-header --no-emit-index-url --no-emit-find-links
lock: ## for maintainers: renew the locks of Python packages from the lists beside them [UPGRADE=--upgrade]
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && \
	$(PYTHON) -m venv "$$work/uv" && "$$work/uv/bin/pip" install --quiet uv && \
	PATH="$$work/uv/bin:$$PATH" && \
	$(UV_COMPILE) $(call of,UPGRADE) requirements.in -o requirements.lock && \
	there=$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements.lock) && \
	for wanted in harness/provision/locks/*.in .ci/*.in; do \
	    case $$wanted in */developers.in) without="-c requirements.lock $$there";; *) without=;; esac; \
	    $(UV_COMPILE) $(call of,UPGRADE) $$without "$$wanted" -o "$${wanted%.in}.lock"; \
	done && \
	$(UV_COMPILE) $(call of,UPGRADE) --no-generate-hashes --no-annotate --extra mcp pyproject.toml -o tests/machine/mcp.txt
