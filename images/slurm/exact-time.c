/*
 * A time() for slurmctld that is exact. Once a second its main loop waits until time() + 1, as a point in time, and when that has come the
 * kernel's time() says the second before for up to one more tick (4 ms at 250 Hz): the loop runs again and again until the tick, about a
 * hundred times, which is most of what an idle slurmctld does. (Slurm 24.11 and 26.05, _slurmctld_background.)
 */
#include <time.h>

time_t time(time_t *to)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}
