#!/bin/sh
#SBATCH --job-name=als
#SBATCH --ntasks=2
export OMP_NUM_THREADS=1
exec mpirun python3 factorise/als.py
