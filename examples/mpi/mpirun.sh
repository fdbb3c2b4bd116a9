#!/bin/sh
#SBATCH --job-name=mpi
#SBATCH --ntasks=2
exec mpirun python3 "$@"
