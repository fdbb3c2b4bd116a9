"""Counts primes in pieces, on whatever workers there are."""

import os
import sys

from distributed import Client


def primes(piece):
    """Returns how many primes are among ten thousand numbers, and where that was found out."""
    found = sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(max(2, piece * 10_000), (piece + 1) * 10_000))
    return found, os.uname().nodename


client = Client(scheduler_file=sys.argv[1])
client.wait_for_workers(int(os.environ["SLURM_JOB_NUM_NODES"]))
results = client.gather(client.map(primes, range(50)))
print(sum(found for found, _ in results), "primes below 500000, counted on", len({where for _, where in results}), "nodes", flush=True)
client.shutdown()
