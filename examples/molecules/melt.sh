#!/bin/sh
#SBATCH --job-name=melt
#SBATCH --ntasks=2
set -e
cd molecules
export OMP_NUM_THREADS=1
mpirun lmp -in melt.lammps -log melt.log

# Columns: step, temperature, pressure, energy per atom, mean square of how far atoms are from where they began. A crystal melts when that
# is about 0.03, a fiftieth of the square of the distance between neighbours.
awk '
  $1 == "Step" { table = 1; next }
  $1 == "Loop" { table = 0 }
  table && $1 ~ /^[0-9]+$/ { if (!rows++) first = $4; last = $4; moved = $5 }
  END {
    conserved = rows > 1 && (last - first) ^ 2 < 0.001 ^ 2
    molten = moved > 0.1
    printf "energy per atom: %.3f at first, %.3f at last: %s\n", first, last, conserved ? "conserved" : "NOT CONSERVED"
    printf "atoms have moved by %.2f diameters: %s\n", sqrt(moved), molten ? "molten" : "NOT MOLTEN"
    exit !(conserved && molten)
  }' melt.log
