package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The rows of what Slurm itself does.
const (
	rowLaunch = "srun true, 2 tasks"
	rowMPI    = "srun --mpi=pmix true, 2 tasks"
	rowArray  = "job array of true"
	rowFirst  = "kubectl create slurmcluster, srun true"
)

// launchTimes is how often a launch is timed in a visit. The times between let a job's end be over before the next begins.
const launchTimes = 11

// launches times srun where the user types it, in milliseconds.
func launches(ctx context.Context, p place) (figures, error) {
	f := figures{}
	for row, option := range map[string]string{rowLaunch: "--mpi=none", rowMPI: "--mpi=pmix"} {
		out, err := p.run(ctx, "bash", "-c", fmt.Sprintf(`set -e; for i in {0..%d}; do
sleep 0.3; start=${EPOCHREALTIME/./}; srun --nodes=%d --ntasks=%d %s true; echo $((${EPOCHREALTIME/./} - start))
done`, launchTimes, p.nodes(), ranks, option))
		if err != nil {
			return nil, err
		}
		var took []float64
		for _, word := range strings.Fields(out) {
			us, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, fmt.Errorf("timing srun: %w", err)
			}
			took = append(took, us/1000)
		}
		if len(took) != launchTimes+1 {
			return nil, fmt.Errorf("timing srun: it says %q", out)
		}
		took = took[1:] // the first one is about what is not in memory yet
		slices.Sort(took)
		f[row] = median(took)
	}
	return f, nil
}

// array counts a job array's tasks by the second, from its submission to the end of the last.
func array(jobs int) part {
	return func(ctx context.Context, p place) (figures, error) {
		out, err := p.run(ctx, "bash", "-c", fmt.Sprintf(`set -e; start=${EPOCHREALTIME/./}
id=$(sbatch --parsable --array=1-%d --output=/dev/null --wrap=true)
while :; do left=$(squeue --noheader --jobs=$id --states=PENDING,RUNNING,COMPLETING --format=%%i); [ -n "$left" ] || break; sleep 0.1; done
echo $((${EPOCHREALTIME/./} - start)) $(squeue --noheader --array --jobs=$id --states=COMPLETED --format=%%i | wc -l)`, jobs))
		if err != nil {
			return nil, err
		}
		var us float64
		var done int
		if _, err := fmt.Sscan(out, &us, &done); err != nil {
			return nil, fmt.Errorf("timing a job array: %w: it says %q", err, out)
		}
		if done != jobs {
			return nil, fmt.Errorf("of %d tasks of a job array, %d are COMPLETED", jobs, done)
		}
		return figures{rowArray: float64(jobs) / us * 1e6}, nil
	}
}

// firstJob times a cluster from the command that makes it to the end of its first job.
func firstJob(c *cluster) func(context.Context) (figures, error) {
	return func(ctx context.Context) (f figures, err error) {
		defer func() { err = errors.Join(err, c.stop(context.WithoutCancel(ctx))) }()
		ctx, cancel := context.WithTimeout(ctx, visitLimit)
		defer cancel()
		start := time.Now()
		if err := c.start(ctx); err != nil {
			return nil, err
		}
		if _, err := c.run(ctx, "srun", "true"); err != nil {
			return nil, err
		}
		return figures{rowFirst: time.Since(start).Seconds()}, nil
	}
}
