#!/bin/sh
#SBATCH --job-name=threads
export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"
exec srun --cpus-per-task="$SLURM_CPUS_PER_TASK" python3 threads/threads.py
