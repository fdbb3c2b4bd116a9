#!/usr/bin/env bash
# image.sh slurm|hpc|user|lammps|busybox SUITE, or image.sh operator: builds an image and brings it to the Kubernetes in use: into the
# local one's containerd, or into the registry that REGISTRY names.
. "$(dirname "$0")/lib.sh"
name=$1 tag=${2:-$TAG}
archive=$(archive "$name" "$tag")
mkdir -p "$(dirname "$archive")"

case $name in
  operator) IMAGE_PREFIX=$PREFIX images/build.sh operator "$archive" ;;
  *) IMAGE_PREFIX=$PREFIX images/build.sh "$name" "$tag" "$archive" ;;
esac

if [ -n "${REGISTRY:-}" ]; then
  echo "pushing $REGISTRY/$name:$tag"
  buildah push --quiet "$PREFIX/$name:$tag" "docker://$REGISTRY/$name:$tag"
elif [ -x "$BIN/localkube" ] && use_local && "$BIN/localkube" status >/dev/null 2>&1; then
  "$BIN/localkube" load "$archive"
else
  echo "no Kubernetes has it yet: make cluster-up starts the local one, REGISTRY=... names the registry of another"
fi
