#!/bin/sh
#SBATCH --job-name=dask --ntasks-per-node=1
# A scheduler, a worker on each node, and the program, which gets the scheduler's file as its last argument.
set -eu
meet=$HOME/dask.$SLURM_JOB_ID
python3 -m distributed.cli.dask_scheduler --port 0 --no-dashboard --scheduler-file "$meet" >scheduler.log 2>&1 &
srun python3 -m distributed.cli.dask_worker --scheduler-file "$meet" --nthreads 1 --no-nanny --no-dashboard --local-directory /tmp >workers.log 2>&1 &
python3 "$@" "$meet"
wait # the program has told all of them to end
