#!/bin/sh
#SBATCH --job-name=bag
echo "$SLURM_ARRAY_TASK_ID squared is $((SLURM_ARRAY_TASK_ID * SLURM_ARRAY_TASK_ID))"
