"""A product of matrices by as many threads as the job has CPUs."""
import os
import time

import numpy

SIZE = 1000

a = numpy.random.default_rng(1).random((SIZE, SIZE))
begin = time.perf_counter()
b = a @ a
took = time.perf_counter() - begin
cpus = int(os.environ["SLURM_CPUS_PER_TASK"])
threads = len(os.listdir("/proc/self/task"))
plural = lambda n, what: f"{n} {what}" + ("" if n == 1 else "s")
print(f"{plural(cpus, 'CPU')} of Slurm's, {plural(threads, 'thread')}: {2 * SIZE**3 / took / 1e9:.1f} Gflop/s")
