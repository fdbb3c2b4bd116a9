#!/usr/bin/env bash
# install.sh installs the operator, with the images that were built here, in the Kubernetes in use.
. "$(dirname "$0")/lib.sh"
if [ -z "${KUBECONFIG:-}" ]; then
  build_localkube
  KUBECONFIG=$(local_kubeconfig)
  export KUBECONFIG
fi
from=${REGISTRY:-$PREFIX}
# The tag stays the same when the image changes: its digest on the pod makes Kubernetes start the new one.
digest=$(sha256sum "$(archive operator "$TAG")" | cut -c1-16)
# No CPU is set aside for the operator, so that all of a small machine can be asked for by clusters.
"$BIN/kubectl-slurmcluster" install --set resources.requests.cpu=0 --set podAnnotations.image=$digest --image "$from/operator:$TAG" --slurm-image "$from/slurm:$SUITE" --wait "$@"
