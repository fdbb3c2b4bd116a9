# Takes an archive from standard input and puts what is in it to the path $2, as seen from directory $1: into it under
# the name $3 if that is a directory. $4 is "directory" or "file". The archive holds "it" and, as the last, "whole"; it is
# wanted when "ready" has been said.
# Exit codes: 67 no such directory, 68 a directory is in the way, 69 a file is in the way.
cd -- "$1" || exit 1
dest=$2
[ ! -d "$dest" ] || dest=$dest/$3
dir=$(dirname -- "$dest")
[ -d "$dir" ] || exit 67
if [ "$4" = directory ]; then
	[ ! -e "$dest" ] || [ -d "$dest" ] || exit 69
else
	[ ! -d "$dest" ] || exit 68
fi
tmp=$(mktemp -d -p "$dir" .cp-XXXXXXXX) || exit 1
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
echo ready
tar -x -p --no-same-owner -C "$tmp" -f - || exit 1
[ -e "$tmp/whole" ] || { echo "the transfer broke off" >&2; exit 1; }
if [ ! -d "$dest" ]; then
	mv -f -T -- "$tmp/it" "$dest"
	exit
fi
# What is there already stays, but for files of the same names.
case $dest in /*) ;; *) dest=$PWD/$dest ;; esac
case $tmp in /*) ;; *) tmp=$PWD/$tmp ;; esac
cd -- "$tmp/it" || exit 1
find . -mindepth 1 -type d -exec sh -c 'for d do
	[ -d "$0/$d" ] || { mkdir -- "$0/$d" && chmod --reference="$d" -- "$0/$d"; } || exit 1
done' "$dest" {} + || exit 1
find . ! -type d -exec sh -c 'for f do mv -f -T -- "$f" "$0/$f" || exit 1; done' "$dest" {} +
