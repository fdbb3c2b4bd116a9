// Command bench measures, on the Kubernetes that KUBECONFIG names, how long a Slurm cluster takes from the
// command that creates it to its first finished job, beside the same cluster from manifests written by hand
// and beside a bare pod. Figures of machines differ; their ratios say what the operator costs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

// leastRuns is how many runs a median is made from at least.
const leastRuns = 5

type options struct {
	runs        int
	image, only string
}

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", leastRuns, "how often each is measured")
	flag.StringVar(&o.image, "image", program.SlurmImage(), "Slurm image; default: the first of SLURM_IMAGES")
	flag.StringVar(&o.only, "only", "", "letters of the ways to measure, and M for the memory of an idle cluster, and nothing else; default: everything")
	flag.Parse()
	program.Main("bench", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	if o.runs < 1 {
		return fmt.Errorf("--runs is %d; it must be at least 1", o.runs)
	}
	b, err := newBench(ctx, o.image, o.only)
	if err != nil {
		return err
	}
	err = b.measure(ctx, o.runs)
	if err == nil && o.only == "" {
		err = b.scaleOften(ctx, os.Stdout)
	}
	if err == nil && (o.only == "" || strings.Contains(o.only, "M")) {
		err = b.memory(ctx, os.Stdout)
	}
	if removeErr := b.remove(context.WithoutCancel(ctx)); err == nil {
		err = removeErr
	}
	if err != nil {
		return err
	}
	if err := b.print(ctx, os.Stdout, o.runs); err != nil {
		return err
	}
	if o.only != "" {
		return nil
	}
	return shim(ctx, os.Stdout, o.runs)
}
