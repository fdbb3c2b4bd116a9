"""How long an all-reduce takes for messages of several sizes, and whether its sums are right."""
import time

import numpy
from mpi4py import MPI

ROUNDS = 50

ranks = MPI.COMM_WORLD
if ranks.rank == 0:
    print(f"all-reduce over {ranks.size} ranks")
for count in 1, 1024, 131072:
    mine = numpy.full(count, ranks.rank + 1.0)
    total = numpy.empty(count)
    ranks.Barrier()
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        ranks.Allreduce(mine, total)
    took = (time.perf_counter() - begin) / ROUNDS
    assert (total == ranks.size * (ranks.size + 1) / 2).all(), total
    if ranks.rank == 0:
        print(f"{mine.nbytes:6} bytes {took * 1e6:8.1f} us")
if ranks.rank == 0:
    print("all sums are right")
