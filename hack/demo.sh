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
kubectl slurmcluster delete demo --namespace "$namespace" --ignore-not-found

# The commands below work in the demo's namespace by a kubeconfig of their own: the user's stays as it is.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lasting=$KUBECONFIG
kubectl config view --raw --flatten >"$work/kubeconfig"
export KUBECONFIG=$work/kubeconfig
kubectl config set-context --current --namespace "$namespace" >/dev/null
cp examples/hello.sh "$work"
cd "$work"

show kubectl create slurmcluster demo --nodes 2 --cpus 1 --memory 512Mi --wait
show cat hello.sh
show kubectl slurmcluster sbatch demo hello.sh
show kubectl slurmcluster logs demo 1 -f
show kubectl slurmcluster srun demo -N2 hostname
show kubectl get slurmclusters
cat <<EOF

Done in $((SECONDS - began))s. The cluster stays; look around with:
  export KUBECONFIG=$lasting PATH=$BIN:$(dirname "$(command -v kubectl)"):\$PATH
  kubectl slurmcluster -n $namespace shell demo
EOF
