// Command share measures what docs/how-to/share-machines.md promises: how much of a machine is used that an online service
// owns, with Slurm nodes of a low priority in what the service leaves and without, and what the service pays for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

type options struct {
	image string
	step  time.Duration
}

func main() {
	o := options{}
	flag.StringVar(&o.image, "image", program.SlurmImage(), "Slurm image; default: the first of SLURM_IMAGES")
	flag.DurationVar(&o.step, "step", 20*time.Second, "how long the service has the same number of pods")
	flag.Parse()
	program.Main("bench/share", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	s, err := newStage(ctx, o)
	defer func() { err = errors.Join(err, s.undo.All(context.WithoutCancel(ctx))) }()
	if err != nil {
		return err
	}
	program.Progress("the service's day, alone on the machine")
	alone, err := s.day(ctx)
	if err != nil {
		return err
	}
	if err := s.fill(ctx); err != nil {
		return err
	}
	program.Progress("the same day, with Slurm in what it leaves")
	shared, err := s.day(ctx)
	if err != nil {
		return err
	}
	done, again, err := s.jobs(ctx)
	if err != nil {
		return err
	}
	return print(os.Stdout, alone, shared, done, again)
}

// figures are what a day showed.
type figures struct {
	// used is how much of the machine's CPU time was not idle, and served how much of its own the service got; 1 is all.
	used, served float64
	// starts is how long the service's pods took to run when it scaled up.
	starts []time.Duration
}

func print(out io.Writer, alone, shared figures, done, again int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "a machine that an online service owns\tservice alone\twith Slurm nodes")
	fmt.Fprintf(table, "CPU time of the machine that is used\t%.0f %%\t%.0f %%\n", 100*alone.used, 100*shared.used)
	fmt.Fprintf(table, "CPU time that the service gets of its own\t%.0f %%\t%.0f %%\n", 100*alone.served, 100*shared.served)
	fmt.Fprintf(table, "more pods of the service run after, at most\t%.1f s\t%.1f s\n", slices.Max(alone.starts).Seconds(), slices.Max(shared.starts).Seconds())
	fmt.Fprintf(table, "jobs of %d s done, and run again\t\t%d, %d\n", jobSeconds, done, again)
	return table.Flush()
}
