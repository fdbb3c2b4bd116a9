#!/usr/bin/env bash
# Installs the Debian packages that builds, images and the local Kubernetes need; nothing if all are there.
set -euo pipefail

packages=(buildah ca-certificates conntrack containernetworking-plugins gcc git iproute2 iptables
  libc6-dev libseccomp-dev make mmdebstrap nftables)

missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "these Debian packages are missing: ${missing[*]}; install them, or run this as root" >&2
  exit 1
fi
echo "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install ${missing[*]}; its last lines stand above" >&2
  exit 1
fi
