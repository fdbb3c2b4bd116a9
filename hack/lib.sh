# Shared by the scripts beside it: steps with their times, and the Kubernetes to use. To be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
BIN=${BIN:-$PWD/bin}
PREFIX=${PREFIX:-localhost/slurmcluster}
TAG=${TAG:-dev}
SUITE=${SUITE:-trixie}
LOCALKUBE_SOURCE_DIR=$PWD/e2e/localkube
export BIN PREFIX TAG SUITE LOCALKUBE_SOURCE_DIR

# step SENTENCE COMMAND... runs a command under a heading and tells how long it took.
step() {
  local title=$1 start=$SECONDS
  shift
  printf '\n==> %s\n' "$title"
  if ! "$@"; then
    printf '\n==> FAILED: %s (after %ds). What went wrong stands above.\n' "$title" $((SECONDS - start)) >&2
    exit 1
  fi
  printf '    done in %ds\n' $((SECONDS - start))
}

# show COMMAND... prints a command as a user would type it, and runs it.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# use_local tells whether the local Kubernetes is the one to use: KUBECONFIG names no other.
use_local() {
  [ -z "${KUBECONFIG:-}" ] || [ "$KUBECONFIG" = "$(local_kubeconfig)" ]
}

local_kubeconfig() { "$BIN/localkube" kubeconfig; }

build_localkube() { make --no-print-directory "$BIN/localkube"; }
build_plugin() { make --no-print-directory plugin; }

# kubernetes makes sure that there is one, and puts it and our plugin on the path.
kubernetes() {
  if use_local; then
    step "Kubernetes: build what is missing, start, wait until a pod runs" "$BIN/localkube" up
    eval "$("$BIN/localkube" env)"
    LOCAL=1
  else
    step "Kubernetes: the one that KUBECONFIG names" kubectl version
    LOCAL=
  fi
  export PATH=$BIN:$PATH
}

# archive NAME TAG is where the archive of an image lies.
archive() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/slurmcluster/archives/$1-$2.tar"; }

# images SUITE... builds the operator's image and a Slurm image of each suite, and brings them to Kubernetes.
images() {
  local suite
  for suite in "$@"; do
    step "Image: Slurm of Debian $suite" hack/image.sh slurm "$suite"
  done
  step "Image: operator" hack/image.sh operator
}
