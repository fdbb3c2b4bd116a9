// Command hpc measures what parallel programs and Slurm itself lose in pods: the HPC Challenge benchmarks, the latency of
// all-reduce, the launch of jobs and their throughput, for Slurm on the machine itself, in one pod, and in two pods of half the
// size, and what of it makes sense in gVisor where the Kubernetes has it. Same image, same two ranks on the same CPUs, launched by
// the same srun. Figures of machines differ; the ratios say what pods cost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

const (
	// leastRuns is how many runs a median is made from at least.
	leastRuns = 5
	// usualSize takes three seconds for each of HPL's eight tries, and 0.3 GB. The best try counts: where others share the machine, single
	// ones are a quarter apart, and more of them tell more than longer ones.
	usualSize = 6000
)

type options struct {
	image, slurmImage, userImage string
	cpuRequest                   string
	plot, only, parts            string
	runs, size, jobs             int
	seed                         uint64
}

func main() {
	o := options{}
	flag.StringVar(&o.image, "image", "localhost/slurmcluster/hpc:trixie", "Slurm image with hpcc, in buildah's storage and on the Kubernetes in use")
	flag.StringVar(&o.slurmImage, "slurm-image", program.SlurmImage(), "Slurm image whose first job is timed; default: the first of SLURM_IMAGES")
	flag.StringVar(&o.userImage, "user-image", "localhost/slurmcluster/user:trixie", "image without Slurm whose first job is timed")
	flag.StringVar(&o.cpuRequest, "cpu-request", "", "CPUs that Kubernetes sets aside for a pod, where others' pods leave no room for all; default: all")
	flag.StringVar(&o.plot, "plot", "bench-hpc.svg", "file for the plot")
	flag.StringVar(&o.only, "only", "", "names of places, with commas between, to measure and no others; default: all")
	flag.StringVar(&o.parts, "parts", "programs,launches,array", "what to measure in a place")
	flag.IntVar(&o.runs, "runs", leastRuns, "how often each is measured; fewer are for trying")
	flag.IntVar(&o.size, "size", usualSize, "rows of HPL's matrix")
	flag.IntVar(&o.jobs, "jobs", 1000, "tasks of the job array")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "of the order in which places are measured; default: another each time") //nolint:gosec // no secret
	flag.Parse()
	program.Main("bench/hpc", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	if o.runs < 1 {
		return fmt.Errorf("--runs is %d; it must be at least 1", o.runs)
	}
	var undo program.Undo
	defer func() { err = errors.Join(err, undo.All(context.WithoutCancel(ctx))) }()
	visits, err := all(ctx, o, &undo)
	if err != nil {
		return err
	}
	measured, err := measure(ctx, visits, o.runs, o.seed)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s, medians of %d runs, in random order (--seed=%d)\n", time.Now().Format(time.DateOnly), o.runs, o.seed)
	if err := print(os.Stdout, measured); err != nil {
		return err
	}
	return drawTo(o.plot, measured)
}

// figures are what one run of a place showed, by the row of the tables.
type figures map[string]float64

// visit is one place, measured from nothing to nothing.
type visit struct {
	name string
	run  func(context.Context) (figures, error)
}

// measure visits all places again and again, each time in another order, so that none is always the first, or always after the
// same.
func measure(ctx context.Context, visits []visit, runs int, seed uint64) (results, error) {
	measured := results{}
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // to be repeated, not to be secret
	program.Progress("the order is that of --seed=%d", seed)
	for round := range runs {
		for _, i := range dice.Perm(len(visits)) {
			v := visits[i]
			start := time.Now()
			f, err := v.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			measured[v.name] = append(measured[v.name], f)
			program.Progress("run %d of %d: %-14s %3.0f s", round+1, runs, v.name, time.Since(start).Seconds())
		}
	}
	return measured, nil
}
