#!/usr/bin/env bash
# The whole road: packages, a Kubernetes, images, the operator, a SlurmCluster, a job and its output. Safe to
# repeat. Where KUBECONFIG names a cluster, that one is used, with images from the registry REGISTRY names.
. "$(dirname "$0")/lib.sh"
began=$SECONDS
namespace=slurmcluster-demo

step "Packages" hack/packages.sh
step "Tools: localkube and the kubectl plugin" eval 'build_localkube && build_plugin'
kubernetes
if [ -z "$LOCAL" ] && [ -z "${REGISTRY:-}" ]; then
  echo "KUBECONFIG names a cluster; REGISTRY must name a registry that it can pull from, for example REGISTRY=registry.example.org/slurmcluster" >&2
  exit 1
fi
images "$SUITE"
step "Operator" hack/install.sh

kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl label --overwrite namespace "$namespace" pod-security.kubernetes.io/enforce=restricted >/dev/null
kubectl config set-context --current --namespace "$namespace" >/dev/null
kubectl slurmcluster delete demo --ignore-not-found

job=$(mktemp -d)/hello.sh
trap 'rm -rf "$(dirname "$job")"' EXIT
cp examples/hello.sh "$job"
show kubectl create slurmcluster demo --nodes 2 --cpus 1 --memory 512Mi --wait
printf '\n$ cat hello.sh\n%s\n' "$(cat "$job")"
(cd "$(dirname "$job")" && show kubectl slurmcluster sbatch demo hello.sh)
show kubectl slurmcluster logs demo 1 -f
show kubectl slurmcluster srun demo -N2 hostname
show kubectl get slurmclusters
cat <<EOF

Done in $((SECONDS - began))s. The cluster stays; look around with:
  export KUBECONFIG=$KUBECONFIG PATH=$BIN:$(dirname "$(command -v kubectl)"):\$PATH
  kubectl slurmcluster shell demo
EOF
