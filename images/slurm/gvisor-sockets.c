/*
 * What Slurm, munge and MPI programs need of Linux' sockets and gVisor does not give. Slurm's and munge's programs have this library
 * before libc; other programs in tasks have it preloaded, where the kernel is gVisor only. What libc that is does not matter: it has
 * syscall and errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "gvisor.h"

/* Every Linux since 3.10 has CLOCK_TAI. */
static bool gvisor(void)
{
	static signed char known; /* 1: it is gVisor, -1: it is not. All threads find the same. */
	struct timespec now;
	int was = errno;

	if (!known) {
		known = syscall(SYS_clock_gettime, CLOCK_TAI, &now) == 0 ? -1 : 1;
		errno = was;
	}
	return known == 1;
}

/*
 * Each container of a pod has mounts of its own in gVisor, and a socket in a volume is in one of them only. Sockets without a file belong
 * to the network, which is the pod's: munged listens on one of those, and its clients find it there. instead_of returns the address to
 * use, and its length.
 */
static const struct sockaddr *instead_of(const struct sockaddr *address, socklen_t *length, struct sockaddr_un *other)
{
	const size_t path = offsetof(struct sockaddr_un, sun_path);

	if (*length <= path || address->sa_family != AF_UNIX ||
	    !is_munges(((const struct sockaddr_un *)address)->sun_path, *length - path))
		return address;
	other->sun_family = AF_UNIX;
	other->sun_path[0] = 0; /* the name of no file */
	memcpy(other->sun_path + 1, munge_socket, sizeof munge_socket - 1);
	*length = path + sizeof munge_socket;
	return (const struct sockaddr *)other;
}

/*
 * A program that connects to its own pod's address makes gVisor lend that address to its loopback device until the connection is
 * forgotten, a minute after its end. A socket that is bound to the address meanwhile may get the loopback device, and the network is
 * unreachable from it: OpenMPI binds its sockets so, after its processes have connected to PMIx's server in their own pod. gVisor lends
 * nothing for a socket that is bound to the address before it connects; to bind to the address of another pod fails, and changes
 * nothing.
 */
static void bind_to_own(int fd, const struct sockaddr *to, socklen_t length)
{
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from;
	int was = errno;

	if (length >= sizeof from.v4 && to->sa_family == AF_INET) {
		from.v4 = *(const struct sockaddr_in *)to;
		from.v4.sin_port = 0;
		length = sizeof from.v4;
	} else if (length >= sizeof from.v6 && to->sa_family == AF_INET6) {
		from.v6 = *(const struct sockaddr_in6 *)to;
		from.v6.sin6_port = 0;
		length = sizeof from.v6;
	} else {
		return;
	}
	syscall(SYS_bind, fd, &from, length);
	errno = was;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	struct sockaddr_un other;

	if (address && gvisor())
		address = instead_of(address, &length, &other);
	return syscall(SYS_bind, fd, address, length);
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	struct sockaddr_un other;

	if (to && gvisor()) {
		bind_to_own(fd, to, length);
		to = instead_of(to, &length, &other);
	}
	return syscall(SYS_connect, fd, to, length);
}
