"""Computes the vegetation index (NDVI) of a field, tile by tile."""
import numpy
from mpi4py import MPI

TILE = 128

ranks = MPI.COMM_WORLD
field = numpy.load("field.npy", mmap_mode="r")
tiles = [(y, x) for y in range(0, field.shape[1], TILE) for x in range(0, field.shape[2], TILE)]
green = 0
mine = tiles[ranks.rank :: ranks.size]
for y, x in mine:
    red, infrared = field[:, y : y + TILE, x : x + TILE]
    index = (infrared - red) / (infrared + red)
    numpy.save(f"ndvi-{y}-{x}.npy", index)
    green += int((index > 0.3).sum())
green = ranks.reduce(green)
shares = ranks.gather(len(mine))
if ranks.rank == 0:
    print(f"{len(tiles)} tiles by {ranks.size} ranks: {' + '.join(map(str, shares))}")
    print(f"vegetation on {100 * green / field[0].size:.1f} % of the field")
