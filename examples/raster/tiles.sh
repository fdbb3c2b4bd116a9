#!/bin/sh
#SBATCH --job-name=tiles
#SBATCH --ntasks=2
set -e
cd raster
srun --nodes=1 --ntasks=1 python3 make.py
mpirun python3 tiles.py
