# Two commands matter on a bare machine: `make demo` and `make test`. Both need Go; test installs the rest.
# Tools are pinned here and built from source into ./.tools, so nothing is installed outside the folder.

GOLANGCI_VERSION := v2.15.0

FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s
PKG       ?= ./...
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

SHELL := bash
# Where the Go installer puts it, for shells that have not been told yet.
export PATH := $(PATH):/usr/local/go/bin

LINT    := .tools/golangci-lint-$(GOLANGCI_VERSION)
COMPOSE ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
LOCAL   := TIDEMARK_DOCKERFILE=Dockerfile.prebuilt TIDEMARK_IMAGE=tidemark:local REDIS_IMAGE=tidemark-redis:local

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Not go run, and with set -m, so that Ctrl-C reaches the demo alone and the exit code is the demo's.
.PHONY: demo
demo: ## Run a whole job on real data, with crashes, and check the answer (needs only Go)
	@go build -o bin/coordinator ./cmd/coordinator
	@if [ -t 0 ]; then set -m; fi; bin/coordinator demo $(ARGS); exit $$?

.PHONY: test
test: redis vet lint race ## Install redis-server if missing; then vet, lint and race tests on real Redis

.PHONY: race
race: ## Race tests only; a missing redis-server fails them (PKG=./store/... narrows)
	TIDEMARK_REQUIRE_REDIS=1 go test -race -timeout 10m $(PKG)

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: $(LINT) ## golangci-lint, pinned: the arrows, purity, words, format
	$(LINT) run ./...

.PHONY: lint-check
lint-check: $(LINT) ## Plant one violation per import rule and see that each is reported
	TIDEMARK_LINT=$(abspath $(LINT)) go test -count=1 -run TestLintRulesFire ./internal/arch

.PHONY: fmt
fmt: $(LINT) ## Format every file (gofumpt, import order)
	$(LINT) fmt ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s) each
	hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: redis ## Run the benchmarks (BENCH=regexp, BENCHTIME=1s, PKG=./...)
	TIDEMARK_REQUIRE_REDIS=1 go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PKG)

.PHONY: figures
figures: redis ## Run the benchmarks of docs/benchmarks.md, one after the other
	hack/figures.sh

.PHONY: build
build: ## Build static binaries into ./bin
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X github.com/tidemark-stream/tidemark/internal/cli.Version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: up
up: ## Start Redis, a coordinator and three workers in containers
	VERSION=$(VERSION) $(COMPOSE) up --build --detach

.PHONY: up-local
up-local: build ## The same with images made from this machine alone, no registry needed
	hack/local-redis-image.sh tidemark-redis:local
	$(LOCAL) $(COMPOSE) up --build --detach

.PHONY: down
down: ## Stop the containers and forget their volumes
	$(COMPOSE) down --volumes --remove-orphans

.PHONY: compose-test
compose-test: build ## Run the job in containers, kill some, and check the answer (needs Docker, no registry)
	hack/local-redis-image.sh tidemark-redis:local
	TIDEMARK_COMPOSE=1 go test -count=1 -v -timeout 10m ./test/compose/...

.PHONY: redis
redis:
	@hack/ensure-redis.sh

.PHONY: clean
clean: ## Remove binaries and tools
	rm -rf bin .tools

$(LINT):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once; this takes some minutes"
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .tools/golangci-lint $@
