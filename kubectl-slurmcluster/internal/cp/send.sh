# Writes an archive of the path $2, as seen from directory $1, to standard output: of a directory what is in it, with "./"
# first, of a file only that. Exit code 66: there is no such thing.
cd -- "$1" || exit 1
[ -e "$2" ] || exit 66
if [ -d "$2" ]; then
	tar -c --hard-dereference -C "$2" -f - .
else
	tar -c -h --hard-dereference -C "$(dirname -- "$2")" -f - -- "$(basename -- "$2")"
fi
# 1 is that a file has changed meanwhile, as the output of a running job does.
code=$?
[ $code = 1 ] || exit $code
