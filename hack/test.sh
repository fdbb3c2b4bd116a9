#!/usr/bin/env bash
# test.sh [unit|e2e|exclusive|examples|chaos|bench|bench-hpc]...: unit tests, then API and end-to-end tests on a real Kubernetes; the
# first three if none is named.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- unit e2e exclusive
step "Packages" hack/packages.sh

all_images() {
  images trixie forky
  step "Images without Slurm" eval 'hack/image.sh user trixie && hack/image.sh busybox trixie'
}

prepared=
prepare() {
  [ -z "$prepared" ] || return 0
  prepared=1
  step "Tools: localkube and the kubectl plugin" eval 'build_localkube && build_plugin'
  kubernetes
  all_images
  step "Operator" hack/install.sh
  # The demo's cluster asks for whole CPUs, which the tests' clusters then could not have.
  [ -z "$LOCAL" ] || kubectl slurmcluster delete demo --namespace slurmcluster-demo --ignore-not-found
  if [ -n "$LOCAL" ]; then
    install -D -m 0644 docs/how-to/user-namespaces.json "${LOCALKUBE_STATE_DIR:-/var/lib/localkube}/kubelet/seccomp/user-namespaces.json"
    export SECCOMP_PROFILE=user-namespaces.json
  fi
  export SLURM_IMAGES=${REGISTRY:-$PREFIX}/slurm:trixie,${REGISTRY:-$PREFIX}/slurm:forky
  export USER_IMAGES=${REGISTRY:-$PREFIX}/user:trixie,${REGISTRY:-$PREFIX}/busybox:trixie
}

for part in "$@"; do
  case $part in
    unit)
      step "Unit tests" go test ./...
      # Not ./...: its cmd/node is all of Kubernetes, which is built once for use, without what tests would add.
      step "Unit tests of localkube" go -C e2e/localkube test . ./internal/...
      ;;
    e2e)
      prepare
      [ -z "$LOCAL" ] || step "gVisor: build what is missing, run a pod in it" "$BIN/localkube" up --gvisor
      step "API and end-to-end tests" go test -tags e2e -count=1 -timeout 30m -parallel "${E2E_PARALLEL:-6}" ./e2e/suite/...
      ;;
    exclusive)
      # The kubelet's static CPU manager cannot be switched on while it runs, and other tests share CPUs. What would
      # disturb other tests is tested here, too.
      prepare
      [ -n "$LOCAL" ] || { echo "exclusive CPUs are tested on the local Kubernetes only"; continue; }
      # No later run could go on with it.
      trap '"$BIN/localkube" down' EXIT
      step "Kubernetes with exclusive CPUs" eval '"$BIN/localkube" down && "$BIN/localkube" up --cpu-manager-policy static'
      all_images
      step "Operator, as for a Kubernetes without image volumes" hack/install.sh --set imageVolumes=never
      step "End-to-end tests that need a Kubernetes for themselves" go test -tags e2e -count=1 -timeout 10m -parallel 1 -run 'TestBinding|TestCordon|TestYield|TestOwnImage$/slurm:trixie/Munge' ./e2e/suite
      step "Kill and change things while jobs run" env CHAOS_SEED=7 CHAOS_MINUTES=1 go test -tags e2e -count=1 -timeout 15m -run TestChaos ./e2e/suite
      trap - EXIT
      step "Stop the Kubernetes with exclusive CPUs" "$BIN/localkube" down
      ;;
    examples)
      prepare
      step "Image: LAMMPS" hack/image.sh lammps trixie
      USER_IMAGES+=,${REGISTRY:-$PREFIX}/lammps:trixie
      step "All examples, the long ones as well" env EXAMPLES=all go test -tags e2e -count=1 -timeout 30m -v -run TestExamples ./e2e/suite
      ;;
    chaos)
      prepare
      export CHAOS_SEED=${SEED:-} CHAOS_MINUTES=${MINUTES:-5} CHAOS_CLUSTERS=${CLUSTERS:-1}
      step "Kill and change things while jobs run, for $CHAOS_MINUTES minutes" go test -tags e2e -count=1 -timeout 0 -v -parallel "$CHAOS_CLUSTERS" -run TestChaos ./e2e/suite
      ;;
    bench)
      prepare
      step "Benchmarks: how fast clusters and nodes come, what the shim costs" go run ./e2e/bench
      if [ -n "$LOCAL" ]; then
        step "Benchmarks: a machine that an online service shares with Slurm nodes" go run ./e2e/bench/share
        step "Tools: kwok and the operator's program" eval 'go -C tools/kwok build -o "$BIN/kwok" sigs.k8s.io/kwok/cmd/kwok && go build -o "$BIN/operator" ./operator'
        step "Benchmarks: many clusters, and a large one, without machines" go run ./e2e/bench/scale --operator="$BIN/operator" --kwok="$BIN/kwok" --kwok-stages="$(go -C tools/kwok list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage"
      fi
      ;;
    bench-hpc)
      prepare
      [ -n "$LOCAL" ] || { echo "bench-hpc compares pods with the machine that it runs on: it needs the local Kubernetes"; continue; }
      step "Image: MPI, HPC Challenge and all-reduce" hack/image.sh hpc trixie
      step "Benchmarks: parallel programs and Slurm itself, on the host and in pods" go run ./e2e/bench/hpc --runs="${RUNS:-5}" --plot="${PLOT:-bench-hpc.svg}"
      ;;
    *)
      echo "test.sh: $part is none of unit, e2e, exclusive, examples, chaos, bench, bench-hpc" >&2
      exit 2
      ;;
  esac
done
