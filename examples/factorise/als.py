"""Factorises a sparse matrix of ratings by alternating least squares."""
import numpy
from mpi4py import MPI

USERS, FILMS, RANK, SEEN, NOISE, ROUNDS = 600, 400, 5, 0.1, 0.1, 5

ranks = MPI.COMM_WORLD
random = numpy.random.default_rng(1)  # the same on all ranks, and so the data
ratings = random.normal(size=(USERS, RANK)) @ random.normal(size=(RANK, FILMS)) + NOISE * random.normal(size=(USERS, FILMS))
seen = random.random((USERS, FILMS)) < SEEN


def solve(ratings, seen, other):
    """Solves for this rank's share of the rows, given the other factor, and returns the rows of all ranks."""
    mine = range(ranks.rank, len(ratings), ranks.size)
    rows = []
    for row in mine:
        known = other[seen[row]]
        rows.append(numpy.linalg.solve(known.T @ known + 0.01 * numpy.eye(RANK), known.T @ ratings[row, seen[row]]))
    result = numpy.empty((len(ratings), RANK))
    for rank, part in enumerate(ranks.allgather(numpy.array(rows))):
        result[rank :: ranks.size] = part
    return result


if ranks.rank == 0:
    print(f"{USERS} users x {FILMS} films, {seen.sum()} ratings, {ranks.size} ranks", flush=True)
films = random.normal(size=(FILMS, RANK))
for i in range(ROUNDS):
    users = solve(ratings, seen, films)
    films = solve(ratings.T, seen.T, users)
    if ranks.rank == 0:
        error = numpy.sqrt(((users @ films.T - ratings)[seen] ** 2).mean())
        print(f"round {i + 1}: error {error:.4f}", flush=True)
