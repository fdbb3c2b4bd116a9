#!/usr/bin/env bash
# shellcheck disable=SC2016 # What stands in single quotes is expanded by mmdebstrap and dpkg-query.
# Builds the images as docker-archive tars. It needs no registry, no systemd and no container runtime.
# An image whose inputs did not change is not built again; REFRESH=1 builds everything anew, for newer
# Debian packages.
set -euo pipefail

usage() {
	cat <<-'TEXT'
		usage: images/build.sh slurm SUITE OUT.tar     (SUITE: trixie has Slurm 24.11, forky 26.05)
		       images/build.sh hpc SUITE OUT.tar       (the Slurm image, built before, with MPI and hpcc)
		       images/build.sh user SUITE OUT.tar      (a language and MPI, nothing of Slurm: for tests)
		       images/build.sh lammps SUITE OUT.tar    (LAMMPS, nothing of Slurm: for an example)
		       images/build.sh busybox SUITE OUT.tar   (a shell and nothing else: for tests)
		       images/build.sh operator OUT.tar

		IMAGE_PREFIX       where the image names start   (localhost/slurmcluster)
		BASE               base image of slurm           (docker.io/library/debian:SUITE-slim)
		REFRESH=1          use nothing from an earlier build
		SOURCE_DATE_EPOCH  time stamp of the image's files (0)
	TEXT
	exit 64
}

die() {
	echo "images/build.sh: $*" >&2
	exit 1
}

need() { command -v "$1" >/dev/null || die "$1 is missing: $2"; }

# run WHAT HINT COMMAND... reports one step: its duration, or on failure its last words and the hint.
run() {
	local what=$1 hint=$2 started=${EPOCHREALTIME//[!0-9]/} tenths
	shift 2
	if ! "$@" >"$work/log" 2>&1; then
		tail -n 30 "$work/log" >&2
		die "failed: $what. $hint"
	fi
	tenths=$(((${EPOCHREALTIME//[!0-9]/} - started) / 100000))
	printf '%4d.%ds  %s\n' $((tenths / 10)) $((tenths % 10)) "$what"
}

# Without stamps of the version control a binary changes only when its source does. The shim speaks plain HTTP with its own kind only,
# and half a megabyte less of it is resident without HTTP/2; the operator's client of Kubernetes brings an HTTP/2 of its own.
compile() {
	need go 'install Go (https://go.dev/dl), the version that go.mod names, or newer'
	run "compile $1" "Try: go build ./$1" \
		env CGO_ENABLED=0 go -C "$repo" build -tags nethttpomithttp2 -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/context/$1" "./$1"
	chmod 0755 "$work/context/$1"
}

# The host's way to Debian (proxies, validity of dates) serves the build and does not enter the image.
apt_settings() {
	: >"$work/apt.conf"
	if command -v apt-config >/dev/null; then
		apt-config dump | grep -iE '^Acquire::(Check-|Max-|Retries|https?::|[^ ]*proxy)' >"$work/apt.conf" || true
	fi
}

# Neither a user session nor cgroups are there for certain; in a container overlay may not be either.
prepare_buildah() {
	need buildah 'apt-get install buildah'
	export BUILDAH_ISOLATION=chroot
	buildah info >/dev/null 2>&1 || export STORAGE_DRIVER=vfs
}

bud() {
	local options=(--layers --pull=false --network host --timestamp "$epoch")
	[[ -z ${REFRESH:-} ]] || options+=(--no-cache)
	buildah bud "${options[@]}" --file "$containerfile" "$@" "$work/context"
}

have() { buildah inspect --type image "$1" >/dev/null 2>&1; }

import_base() {
	local container
	container=$(buildah from scratch)
	buildah add "$container" "$1" / && buildah commit --timestamp "$epoch" "$container" "$base"
	buildah rm "$container"
	buildah tag "$base" "$2"
}

# Where no registry answers, an image that is like Debian's own slim one is made under its name; the
# second name says what it was made from. Nothing of the host (settings, resolver) stays in it.
ensure_base() {
	local key made tar
	key=$(cat "$0" "$work/apt.conf" | sha256sum | cut -c1-16)
	made=$prefix/slurm-base:$suite-$key
	tar=$cache/base-$suite-$key.tar
	if [[ -z ${REFRESH:-} ]] && have "$made"; then return; fi
	if timeout 120 buildah pull --policy always "$base" >"$work/log" 2>&1; then
		echo "        pulled $base"
		return
	fi
	if [[ $base != */debian:"$suite"-slim ]]; then
		have "$base" || die "cannot pull BASE=$base: $(tail -n 1 "$work/log")"
		return
	fi
	echo "        no registry has $base here: making it"
	need mmdebstrap 'apt-get install mmdebstrap'
	if [[ ! -e $tar || -n ${REFRESH:-} ]]; then
		run "mmdebstrap $suite" 'Can apt reach Debian from this machine? Try: apt-get update' \
			env SOURCE_DATE_EPOCH="$epoch" mmdebstrap --variant=minbase --skip=output/dev --aptopt="$work/apt.conf" \
			--customize-hook='cd "$1"/etc && rm -f apt/apt.conf.d/99mmdebstrap resolv.conf hostname' \
			--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
			--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
			"$suite" "$work/base.tar"
		rm -f "$cache/base-$suite"-*.tar
		mv "$work/base.tar" "$tar"
	fi
	run "import $base" "Is there room on the disk of buildah's storage?" import_base "$tar" "$made"
}

slurm_version() {
	local container
	container=$(buildah from --pull-never "$packages")
	buildah run "$container" -- dpkg-query -W -f '${source:Upstream-Version}' slurmctld
	buildah rm "$container" >/dev/null
}

build_slurm() {
	local packages=$prefix/slurm-packages:$suite
	local args=(--build-arg "SUITE=$suite" --build-arg "BASE=$base" --secret "id=apt.conf,src=$work/apt.conf")
	apt_settings
	ensure_base
	run "packages of $suite" 'Can apt reach Debian from this machine? Try: apt-get update' \
		bud "${args[@]}" --target packages --tag "$packages"
	args+=(--build-arg "SLURM_VERSION=$(slurm_version)")
	# The packages are anew by now; the second build takes them as they are.
	REFRESH='' run "image $image" "Try: buildah bud -f $containerfile" bud "${args[@]}" --tag "$image"
}

build_hpc() {
	apt_settings
	run "image $image" 'Can apt reach Debian from this machine? Try: apt-get update' \
		bud --build-arg "SLURM=$slurm" --secret "id=apt.conf,src=$work/apt.conf" --tag "$image"
}

build_plain() {
	apt_settings
	ensure_base
	run "image $image" 'Can apt reach Debian from this machine? Try: apt-get update' \
		bud --build-arg "BASE=$base" --secret "id=apt.conf,src=$work/apt.conf" --tag "$image"
}

# slurm_archive is the archive of the Slurm image, by which the key of images made from it changes.
slurm_archive() {
	local found=("$cache/slurm-$suite"-*.tar)
	[[ -e ${found[0]} ]] || die "there is no Slurm image of $suite: run images/build.sh slurm $suite OUT.tar first"
	have "$slurm" || run "import $slurm" "Try: REFRESH=1 images/build.sh slurm $suite OUT.tar" buildah pull "docker-archive:${found[0]}"
	echo "${found[0]}"
}

build_operator() {
	run "image $image" "Try: buildah bud -f $containerfile" bud --tag "$image"
}

# deliver gives the cached tar its wanted name, by a link where one file system holds both.
deliver() {
	[[ $tar -ef $out ]] || ln -f "$tar" "$out" 2>/dev/null || cp -f "$tar" "$out"
	echo "        $image in $out"
}

case ${1:-}/$# in
slurm/3) kind=slurm suite=$2 out=$3 binary=slurmd-shim ;;
hpc/3) kind=hpc suite=$2 out=$3 binary= ;;
user/3 | lammps/3 | busybox/3) kind=$1 suite=$2 out=$3 binary= ;;
operator/2) kind=operator suite=dev out=$2 binary=operator ;;
*) usage ;;
esac

repo=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/slurmcluster/images
prefix=${IMAGE_PREFIX:-localhost/slurmcluster}
epoch=${SOURCE_DATE_EPOCH:-0}
base=${BASE:-docker.io/library/debian:$suite-slim}
image=$prefix/$kind:$suite
slurm=$prefix/slurm:$suite
containerfile=$repo/images/$kind/Containerfile

mkdir -p "$cache"
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/context"
find "$repo/images/$kind" -type f ! -name Containerfile -exec cp {} "$work/context/" \;

if [[ -n $binary ]]; then
	compile "$binary"
	made_from=$work/context/$binary
elif [[ $kind != hpc ]]; then
	made_from=/dev/null
else
	prepare_buildah
	slurm_archive >"$work/made-from"
	made_from=$work/made-from
fi
key=$( (echo "$image $base $epoch" && cat "$0" "$repo/images/$kind"/* "$made_from") | sha256sum | cut -c1-16)
tar=$cache/$kind-$suite-$key.tar
if [[ -e $tar && -z ${REFRESH:-} ]]; then
	echo '        nothing changed'
	deliver
	exit
fi

prepare_buildah
case $kind in
user | lammps | busybox) build_plain ;;
*) "build_$kind" ;;
esac
run "write $out" "Is there room in $cache?" buildah push "$image" "docker-archive:$work/image.tar:$image"
rm -f "$cache/$kind-$suite"-*.tar
mv "$work/image.tar" "$tar"
deliver
