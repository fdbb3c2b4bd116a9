#!/bin/bash
#SBATCH --job-name=hello
echo "hello from $(hostname): job $SLURM_JOB_ID has $SLURM_CPUS_ON_NODE CPU and $SLURM_MEM_PER_CPU MB"
