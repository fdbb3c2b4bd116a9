/* What the files for gVisor have in common; docs/how-to/runtimes.md tells why there are any. */
#include <stdbool.h>
#include <string.h>

/* The file name of munged's socket. */
static const char munge_socket[] = "munge.socket.2";

/* is_munges tells whether a path, which may end at length without a 0, is that of munged's socket. */
static inline bool is_munges(const char *path, size_t length)
{
	const size_t name = sizeof munge_socket - 1;
	size_t end = 0;

	while (end < length && path[end])
		end++;
	return end > name && path[end - name - 1] == '/' && memcmp(path + end - name, munge_socket, name) == 0;
}
