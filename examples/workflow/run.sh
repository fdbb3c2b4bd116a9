#!/bin/sh
# Submits the workflow and prints the number of its last job.
set -e
cd "$(dirname "$0")"
split=$(sbatch --parsable --job-name=split --output=split.out --wrap 'seq 1000 | split -l 100 -d -a 1 - part-')
sums=$(sbatch --parsable --job-name=sum --output=sum-%a.out --array=0-9 --dependency=afterok:"$split" \
  --wrap 's=0; while read n; do s=$((s + n)); done <part-$SLURM_ARRAY_TASK_ID; echo $s')
sbatch --parsable --job-name=total --dependency=afterok:"$sums" \
  --wrap 's=0; for f in sum-*.out; do s=$((s + $(cat $f))); done; echo "$(ls sum-*.out | wc -l) parts of 100 numbers: $s"'
