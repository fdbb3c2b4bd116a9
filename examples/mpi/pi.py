"""Pi as the integral of 4/(1+x*x) from 0 to 1, each rank a part of it."""
import numpy
from mpi4py import MPI

INTERVALS = 10_000_000

ranks = MPI.COMM_WORLD
x = (numpy.arange(ranks.rank, INTERVALS, ranks.size) + 0.5) / INTERVALS
part = (4 / (1 + x * x)).sum() / INTERVALS
pi = ranks.reduce(part)
hosts = ranks.gather(MPI.Get_processor_name())
if ranks.rank == 0:
    print(f"pi is {pi:.12f}, by {ranks.size} ranks on {', '.join(sorted(set(hosts)))}")
