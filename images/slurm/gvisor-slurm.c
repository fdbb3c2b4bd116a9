/*
 * What Slurm and munge need of Linux and gVisor does not give, but for sockets. Their programs have this library before libc; where the
 * kernel is Linux it only passes calls on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "gvisor.h"

static struct {
	int (*clock_gettime)(clockid_t, struct timespec *);
	int (*timer_create)(clockid_t, struct sigevent *, timer_t *);
	int (*stat)(const char *, struct stat *);
	bool found;
} libc;

static bool gvisor;

/* Constructors of other libraries may call in before this one, threads at the same time: all find the same. */
__attribute__((constructor)) static void find(void)
{
	struct timespec now;
	int was = errno;

	if (__atomic_load_n(&libc.found, __ATOMIC_ACQUIRE))
		return;
	libc.timer_create = dlsym(RTLD_NEXT, "timer_create");
	libc.stat = dlsym(RTLD_NEXT, "stat");
	libc.clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	gvisor = libc.clock_gettime(CLOCK_TAI, &now) != 0; /* Linux has it since 3.10 */
	errno = was;
	__atomic_store_n(&libc.found, true, __ATOMIC_RELEASE);
}

/* slurmd, slurmstepd and srun end where they cannot have a timer of CLOCK_TAI. Both functions change together: Slurm sets its timers
 * to points in time. */
static clockid_t there(clockid_t clock)
{
	return gvisor && clock == CLOCK_TAI ? CLOCK_REALTIME : clock;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	find();
	return libc.clock_gettime(there(clock), now);
}

int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	find();
	return libc.timer_create(there(clock), event, timer);
}

/* munge's clients look for munged's socket before they connect; gvisor-sockets.c says where it is. */
int stat(const char *path, struct stat *info)
{
	int result;

	find();
	result = libc.stat(path, info);
	if (result != 0 && gvisor && is_munges(path, SIZE_MAX)) {
		*info = (struct stat){.st_mode = S_IFSOCK | 0777};
		result = 0;
	}
	return result;
}
