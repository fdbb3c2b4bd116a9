# SlurmCluster. `make help` lists the targets.
SHELL := /bin/bash
.DELETE_ON_ERROR:

# Slurm's versions, by Debian suite: the first is the default image.
SUITES    := trixie forky
SUITE     ?= $(firstword $(SUITES))
PREFIX    ?= localhost/slurmcluster
TAG       ?= dev
BIN       := $(CURDIR)/bin
INSTALL_DIR ?= /usr/local/bin
LDFLAGS   := -s -w
GO_TOOL    = go tool -modfile=tools/go.mod
export PREFIX TAG SUITE BIN
export LOCALKUBE_SOURCE_DIR := $(CURDIR)/e2e/localkube

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## from nothing to a job's output: packages, Kubernetes, images, operator, cluster, sbatch
	@hack/demo.sh

.PHONY: test
test: ## unit tests, then API and end-to-end tests on a real Kubernetes
	@hack/test.sh

.PHONY: unit
unit: packages ## unit tests alone
	@hack/test.sh unit

.PHONY: e2e
e2e: ## API and end-to-end tests alone, on a real Kubernetes
	@hack/test.sh e2e

.PHONY: verify
verify: packages generate lint ## check that generated files are up to date and that linters are content
	go mod tidy -diff
	@test -z "$$(git status --porcelain -- api charts docs)" || { echo "generated files differ: commit what 'make generate' wrote"; exit 1; }

.PHONY: lint
lint: ## run golangci-lint
	$(GO_TOOL) golangci-lint run ./...
	cd e2e/localkube && go tool -modfile=../../tools/go.mod golangci-lint run --config ../../.golangci.yaml . ./internal/...

.PHONY: generate
generate: ## make CRD, deep copies, apply configurations, RBAC and the reference again
	$(GO_TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt applyconfiguration:headerFile=hack/boilerplate.go.txt crd paths=./api/... output:crd:dir=charts/slurmcluster-operator/crds
	$(GO_TOOL) controller-gen rbac:roleName=slurmcluster-operator paths=./operator/... output:rbac:dir=charts/slurmcluster-operator/files
	$(GO_TOOL) crd-ref-docs --log-level=ERROR --config=hack/crd-ref-docs.yaml --source-path=api/v1alpha1 --renderer=markdown --output-path=docs/reference/api.md
	go test ./operator/internal/slurmconf -run Test -update >/dev/null
	go -C tools/seccomp run . >docs/how-to/user-namespaces.json

.PHONY: packages
packages: ## install the Debian packages that building and the local Kubernetes need
	@hack/packages.sh

.PHONY: images
images: packages ## build the Slurm images and the operator's
	@for suite in $(SUITES); do hack/image.sh slurm $$suite || exit 1; done; hack/image.sh operator

.PHONY: cluster-up
cluster-up: packages $(BIN)/localkube ## start the local Kubernetes
	@$(BIN)/localkube up

.PHONY: cluster-down
cluster-down: $(BIN)/localkube ## stop the local Kubernetes and leave nothing of it
	@$(BIN)/localkube down

.PHONY: install
install: plugin ## install the operator in the current Kubernetes (KUBECONFIG, or the local one)
	@hack/install.sh

.PHONY: plugin
plugin: ## build the kubectl plugin into bin/
	@mkdir -p $(BIN)
	@go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./kubectl-slurmcluster/cmd/...
	@install kubectl-slurmcluster/kubectl_complete-slurmcluster $(BIN)

.PHONY: install-plugin
install-plugin: plugin ## build the kubectl plugin and put it into INSTALL_DIR
	@install $(BIN)/kubectl-slurmcluster $(BIN)/kubectl-create-slurmcluster $(BIN)/kubectl_complete-slurmcluster $(INSTALL_DIR)
	@echo "installed kubectl-slurmcluster and kubectl-create-slurmcluster in $(INSTALL_DIR)"

.PHONY: examples
examples: ## run the examples, the long ones as well
	@hack/test.sh examples

.PHONY: chaos
chaos: ## kill and change things while jobs run, and count what they did: make chaos SEED=7 MINUTES=5 CLUSTERS=1
	@SEED=$(SEED) MINUTES=$(MINUTES) CLUSTERS=$(CLUSTERS) hack/test.sh chaos

.PHONY: bench
bench: ## measure how fast a cluster comes and what a pod costs a program, as ratios (an hour)
	@hack/test.sh bench

.PHONY: bench-hpc
bench-hpc: ## measure HPC Challenge, MPI and Slurm on the host and in pods, as ratios: make bench-hpc RUNS=5 PLOT=bench-hpc.svg
	@RUNS=$(RUNS) PLOT=$(PLOT) hack/test.sh bench-hpc

.PHONY: clean
clean: ## stop the local Kubernetes, remove what was built; the build caches stay
	@if [ -x $(BIN)/localkube ]; then $(BIN)/localkube down; fi
	rm -rf $(BIN)

.PHONY: $(BIN)/localkube
$(BIN)/localkube:
	@mkdir -p $(BIN)
	@cd e2e/localkube && go build -trimpath -o $(BIN)/localkube .
