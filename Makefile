# Bear in Mind: `make run` shows it, `make test` proves it. Both set themselves up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Three times the cores of a small machine: many tests wait for something.
WORKERS ?= 6
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist worksteal
PAGES = README.md $(shell grep -rl '\[\[\[cog' docs benchmarks --include='*.md')
DATA ?= ../shared/data
SETS = $(wildcard $(addprefix $(DATA)/,locomo-facts locomo-turns scifact 2wiki musique musique-openie))
ENCODER = $(shell find packages/encoder -type f ! -name '*.pyc')
PEERS = PYTHONPATH=benchmarks/peers $(BIN)/python benchmarks/peers/measure.py --data benchmarks/data --data "$(DATA)"
CITUS ?= ../shared/citus
CRASH_ROUNDS ?= 50
CRASH_STORES ?= 1000
EXAMPLES ?= 100
MEMORIES ?= 100000
CONCEPTS ?= 20000
PERMISSION_LIVES ?= 4000
MINUTES ?= 60
BEARINMIND_SYNC_SCHEDULES ?= 20000

# Modules stay compiled from one process to the next: the tests start thousands.
unexport PYTHONDONTWRITEBYTECODE

# Node knows the system's certificates, to which an organisation may have added its own, only if it is told.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export NODE_EXTRA_CA_CERTS ?= /etc/ssl/certs/ca-certificates.crt
endif

.DEFAULT_GOAL := help
.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d :)

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: $(READY) ## Set up the virtual environment

$(READY): requirements/dev.lock pyproject.toml packages/bench/pyproject.toml packages/adapters/pyproject.toml scripts/setup $(ENCODER)
	@scripts/setup "$(PYTHON)" "$(VENV)"
	@touch $@

encoder: $(READY) ## Build the wheel of bearinmind-encoder into .encoder, unless it is there
	@$(BIN)/python packages/encoder/build.py .encoder

run: $(READY) ## Serve a coding agent's memories on a temporary file: a page, an API and MCP to try
	@$(BIN)/bearinmind serve --demo

quick: $(READY) ## The unit tests of the rooms: no process, model, Postgres, client, sync or benchmark; half a minute
	$(PYTEST) --quick tests/unit --ignore=tests/unit/client $(foreach part,bench own report hosted sync,--ignore-glob="*/test_$(part)*")

check: static ## The fast part of the tests: format, lint, types, import contracts, sizes, unit tests, docs
	$(PYTEST) tests/unit tests/docs

test: $(READY) ## Everything: also contracts, migrations, surfaces, crashes, a bare install
	@$(MAKE) --no-print-directory --jobs=2 --output-sync test-tools compiled
	@$(MAKE) --no-print-directory --jobs=3 every-test static bare-install

every-test: $(READY) ## All tests, without the other checks of `make test`
	$(PYTEST) tests

compiled: $(READY) ## The modules of the tests and the product, once, before each of the processes compiles all of them
	@$(BIN)/pytest --collect-only -qq -p no:cacheprovider tests >/dev/null || true # what is wrong is told when they run

test-tools: ## What the tests need beside Python: Chromium, etcd, PgBouncer, the MCP inspector, an OpenID provider
	@scripts/need-chromium
	@scripts/need-postgres-tools
	@scripts/need-inspector
	@scripts/need-oidc-provider

static: $(READY) ## What is checked without running it: format, lint, types, import contracts, sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py src/bearinmind --most modules=278 lines=64906 longest=500 lone=0 gerunds=3 repeated=8 median=7 sql=0

bare-install: $(READY) ## The package with its declared dependencies alone
	@scripts/check-install "$(PYTHON)"

fix: $(READY) ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY) ## Write the generated parts of the docs and the terminal pictures anew, and build the site
	$(BIN)/cog -r -P $(PAGES)
	$(BIN)/python docs/casts.py docs/tutorial/tour.md
	@$(MAKE) --no-print-directory site

site: ## The documentation as a site in .cache/site, from the pages as they are; a link to nowhere is an error
	@$(PYTHON) scripts/site.py

dist: ## Wheels, sdists, npm tarball and bill of materials into dist, built twice and compared; without the environment above
	@$(PYTHON) scripts/dist.py dist

test-dist: ## What `make dist` built, installed with pip, pipx, uv and npm from an index on this machine, and measured
	@$(PYTHON) scripts/check_dist.py dist

lint-workflows: ## The workflows of GitHub, by actionlint
	@scripts/lint-workflows

bench: bench-quality bench-writes bench-crash bench-properties bench-embedding bench-latency bench-hybrid bench-graph-speed bench-first-recall bench-postgres bench-server bench-sync bench-hooks bench-changes ## Every published figure again (DATA=FOLDER holds the public sets)

bench-quality: $(READY) ## The published quality figures; fails when one differs
	for sets in quality passages further; do \
	  PYTHONPATH=benchmarks $(BIN)/bearinmind bench check benchmarks/conditions/$$sets.toml --data benchmarks/data --data "$(DATA)" \
	    --missing-ok --results benchmarks/results/$$sets.json || exit 1; done
	$(BIN)/bearinmind bench check benchmarks/conditions/version_2.toml --data benchmarks/data --results benchmarks/results/version_2.json

bench-sweep: $(READY) ## What each ranking setting is worth, on development queries (ADR 0004, 0010, 0015 to 0017)
	$(BIN)/bearinmind bench sweep --arms benchmarks/sweeps/lexical.toml --set embedder=none --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))
	$(BIN)/bearinmind bench sweep --arms benchmarks/sweeps/ranking.toml --set embedder=none --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))
	$(BIN)/bearinmind bench sweep --arms benchmarks/sweeps/semantic.toml --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))
	$(BIN)/bearinmind bench sweep --arms benchmarks/sweeps/embedding.toml --data benchmarks/data/agent-store $(addprefix --data ,$(filter %/locomo-facts %/locomo-turns,$(SETS)))

bench-ablation: $(READY) ## What the fixed parts of the lexical leg are worth (ADR 0004 and 0005)
	$(BIN)/python benchmarks/ablation.py --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))

bench-pairing: $(READY) ## What each share of the two encoders is worth (ADR 0016); embeds every set with both
	$(BIN)/python benchmarks/pairing.py --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))

bench-neighbours: $(READY) ## Whether the neighbours of a memory in its session help to find it
	$(BIN)/python benchmarks/neighbours.py --strata --data benchmarks/data/agent-store $(addprefix --data ,$(filter %/locomo-facts %/locomo-turns,$(SETS)))

bench-canonical: $(READY) ## Which names are one concept: rules and embedder on labelled pairs
	$(BIN)/python benchmarks/canonical.py

bench-learning: $(READY) ## What rules learn from labelled messages
	$(BIN)/python benchmarks/learning.py

bench-curation: $(READY) ## What consolidation merges of planted near-duplicates and near-misses; fails when a near-miss is merged
	$(BIN)/python benchmarks/curation.py

bench-graph: $(READY) ## What the graph is worth: shapes, extractors and weights on development queries, then with and without on test queries (hours)
	$(BIN)/python benchmarks/graph.py shapes --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))
	$(BIN)/python benchmarks/graph.py extractors --data benchmarks/data/agent-store $(addprefix --data ,$(filter %/2wiki %/musique %/musique-openie %/locomo-facts,$(SETS)))
	$(BIN)/python benchmarks/graph.py weights --data benchmarks/data/agent-store $(addprefix --data ,$(filter %/musique,$(SETS)))
	$(BIN)/python benchmarks/graph.py worth --split test --data benchmarks/data/agent-store $(addprefix --data ,$(SETS))

bench-peers: $(READY) ## Other memory systems on the same sets; makes an environment for each (15 GB, two hours)
	benchmarks/peers/setup all
	$(PEERS) --list | while read -r row; do $(PEERS) "$$row" || exit 1; done
	$(PEERS) --join

bench-embedding: $(READY) ## Embedding against the bare ONNX Runtime, and what a first query takes
	$(BIN)/python benchmarks/embedding.py $(KEEP)

bench-latency: $(READY) ## Recall against the bare FTS5 statement at 5,452 and 100,000 memories
	$(BIN)/python benchmarks/latency.py $(KEEP)

bench-hybrid: $(READY) ## Recall by words and meaning against its bare parts, and what 100,000 memories take
	$(BIN)/python benchmarks/hybrid.py $(KEEP)

bench-graph-speed: $(READY) ## Building, adding to and recalling with the graph, at 1,000 to 100,000 memories
	$(BIN)/python benchmarks/graph_speed.py --data benchmarks/data/agent-store $(addprefix --data ,$(filter %/2wiki %/musique,$(SETS))) $(KEEP)

bench-first-recall: $(READY) ## The first recall of a new process, with its own model and with a borrowed one
	$(BIN)/python benchmarks/first_recall.py $(KEEP)

bench-writes: $(READY) ## Storing and importing against bare SQLite
	$(BIN)/python benchmarks/writes.py $(KEEP)

bench-crash: $(READY) ## kill -9 at random moments of 1,000 stores, 50 times
	BEARINMIND_CRASH_ROUNDS=$(CRASH_ROUNDS) BEARINMIND_CRASH_STORES=$(CRASH_STORES) \
	  $(BIN)/pytest tests/acceptance tests/surfaces/test_graph_building.py -k kill

bench-properties: $(READY) ## What holds for any input, tried with more of it than in `make test`
	BEARINMIND_EXAMPLES=$(EXAMPLES) $(PYTEST) tests/unit tests/contract

bench-postgres: bench-postgres-vectors bench-postgres-lexical bench-postgres-quality bench-postgres-scale ## Everything about the store on Postgres

bench-postgres-quality: $(READY) ## The same recall on SQLite and on Postgres: words alone and all legs, every set
	$(BIN)/python benchmarks/postgres/quality.py --split test --data benchmarks/data/agent-store $(addprefix --data ,$(SETS)) $(KEEP)

bench-postgres-lexical: $(READY) ## Ways to rank by words in Postgres, beside SQLite's (ADR 0023)
	$(BIN)/python benchmarks/postgres_lexical.py --data benchmarks/data/agent-store $(addprefix --data ,$(SETS)) $(KEEP)

bench-postgres-vectors: $(READY) ## Exact search and HNSW: recall and speed at 10,000 and 100,000, with filters (ADR 0024)
	$(BIN)/python benchmarks/postgres_vectors.py $(addprefix --data ,$(SETS)) $(KEEP)

bench-postgres-scale: $(READY) ## A thousand tenants with up to a million memories, 1 to 32 clients, import
	$(BIN)/python benchmarks/postgres/scale.py $(KEEP)

bench-citus: $(READY) ## A store on a real Citus cluster (CITUS=FOLDER or its tarball) against plain Postgres, and 50 kills of its machines
	PYTHONPATH=benchmarks:tests scripts/with-citus "$(CITUS)" sh -c '$(BIN)/python benchmarks/citus.py ratios && \
	  $(BIN)/python benchmarks/citus.py kills'

bench-hooks: $(READY) ## The hook before a prompt: how certain a memory must be, what a run costs, 1,000 runs against servers that are broken
	$(BIN)/python benchmarks/hooks.py floors
	$(BIN)/python benchmarks/hooks.py speed $(KEEP)
	BEARINMIND_HOOK_RUNS=1000 $(BIN)/pytest tests/surfaces/test_hooks_trouble.py

bench-changes: $(READY) ## Things that change: current before stale, what is found and offered, an agent that answers, hooks, costs
	$(BIN)/bearinmind bench check benchmarks/conditions/changes.toml --data benchmarks/data --results benchmarks/results/changes.json
	for what in pairs offers agent hooks; do $(BIN)/python benchmarks/changes.py $$what --split test || exit 1; done
	$(BIN)/python benchmarks/changes.py cost $(KEEP)

bench-questions: $(READY) ## What docs/explanation/open-questions.md adds: earlier lexical paths, encoders, precisions, rerankers, added terms, embeddings of concepts, links, a reader
	PYTHONPATH=benchmarks $(BIN)/bearinmind bench check benchmarks/conditions/earlier.toml --data benchmarks/data --data "$(DATA)" \
	  --missing-ok --results benchmarks/results/earlier.json
	for part in encoders precision rerankers asking concepts links reader; do \
	  $(BIN)/python benchmarks/open_questions.py $$part --data benchmarks/data/agent-store $(KEEP) || exit 1; done

bench-token-vectors: $(READY) ## Whether token vectors of memories, or a small listwise ranker, could stand for the reader (ADR 0067)
	$(BIN)/python benchmarks/token_vectors.py record $(addprefix --data benchmarks/data/,agent-store changes notes) \
	  $(addprefix --data $(DATA)/,locomo-facts locomo-turns strategyqa fiqa adversarialqa beam scifact 2wiki musique)
	$(BIN)/python benchmarks/token_vectors.py report $(KEEP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/token_vectors.py speed --data benchmarks/data/agent-store --data $(DATA)/fiqa $(KEEP)

bench-page: $(READY) ## The page in a real Chromium: how soon each view can be used with 100,000 memories, axe at every width (MEMORIES, CONCEPTS)
	@scripts/need-chromium
	PYTHONPATH=benchmarks:tests $(BIN)/python benchmarks/page.py --memories $(MEMORIES) --concepts $(CONCEPTS)

bench-server: $(READY) ## The server: 64 clients for a minute, thousands of lives of users and shares, every request that its OpenAPI allows
	$(BIN)/python benchmarks/server/load.py $(KEEP)
	BEARINMIND_PERMISSION_LIVES=$(PERMISSION_LIVES) $(PYTEST) tests/acceptance/test_http_permissions.py
	$(BIN)/python benchmarks/server/schema.py

bench-soak: $(READY) ## The server for an hour (MINUTES) with 64 clients: kills, a fail-over, a full disk, a restore; needs root
	$(BIN)/python benchmarks/server/soak.py --minutes $(MINUTES)

bench-sync: $(READY) ## Replicas and a server through 20,000 schedules of work and trouble, 1,000 more on Postgres; nothing lost, nothing twice
	$(BIN)/python benchmarks/sync/simulate.py --schedules $(BEARINMIND_SYNC_SCHEDULES)
	$(BIN)/python benchmarks/sync/simulate.py --server postgres --schedules 1000

gate: $(READY) ## Store the present run as what the gate in `make test` compares with
	$(BIN)/bearinmind bench run --data benchmarks/data/agent-store --json benchmarks/results/gate.json.gz
	BEARINMIND_KEEP_READINGS=1 $(BIN)/pytest tests/acceptance/test_ranking_gate.py

lock: $(READY) ## Pin the newest development dependencies
	scripts/lock --upgrade

typescript: $(READY) ## Make the types and methods of the TypeScript client again
	$(BIN)/python packages/typescript/generate.py

test-citus: $(READY) ## The contract of a store on a real Citus cluster (CITUS=FOLDER or its tarball), and what a dead machine does to it; ten minutes
	scripts/with-citus "$(CITUS)" sh -c '$(PYTEST) tests/contract && $(BIN)/pytest tests/citus'

test-integrations: $(READY) ## The adapters with their real frameworks, from their own locks, and the TypeScript client (5 GB, Node 20)
	PYTHON="$(PYTHON)" packages/adapters/test
	cd packages/typescript && npm ci --silent --no-audit --no-fund && npm test

image: encoder ## Build the container image with docker, or with what BUILDER names
	scripts/build-image

test-deploy: encoder ## What deploy/ holds: container, compose, Helm chart, systemd unit, alerts; as root on Debian the image is built and run
	scripts/test-deploy

clean: ## Remove everything that can be made again
	rm -rf $(VENV) .encoder .wheel .integrations dist .cache/site* .cache/mkdocs.yml .cache/actionlint packages/typescript/node_modules packages/typescript/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

test-agents: $(READY) ## Claude Code, Codex and Gemini CLI with our hooks and tools; installs them into .cache (900 MB, Node 20)
	@scripts/need-agents
	$(BIN)/pytest tests/agents
