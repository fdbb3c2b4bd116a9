// Command hpc measures the HPC Challenge benchmarks as a job of Slurm in a pod that has all of a machine's CPUs, beside the
// same job of the same Slurm on the machine itself: same programs, same two ranks on the same cores. Figures of
// machines differ; the ratio says what the pod costs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

// usualRuns is how many pairs of runs medians are made from. Runs of the same side differ by 10 % and more on a machine that
// others use too.
const usualRuns = 11

// place is somewhere a job runs.
type place interface {
	// start makes a Slurm with one node.
	start(context.Context) error
	// run runs a line of shell as a job with all CPUs and returns its output.
	run(ctx context.Context, line string) (string, error)
	stop(context.Context) error
}

func main() {
	runs := flag.Int("runs", usualRuns, "how often each is measured")
	image := flag.String("image", "localhost/slurmcluster/hpc:trixie", "Slurm image with hpcc, in buildah's storage and on the Kubernetes in use")
	flag.Parse()
	program.Main("bench/hpc", func(ctx context.Context) error { return measure(ctx, *image, *runs, os.Stdout) })
}

func measure(ctx context.Context, image string, runs int, out io.Writer) (err error) {
	names := []string{"host", "pod"}
	places := map[string]place{"host": &host{image: image}, "pod": &pod{image: image}}
	results := map[string][]result{}
	for name, p := range places {
		if err := p.start(ctx); err != nil {
			return fmt.Errorf("starting Slurm in the %s: %w", name, err)
		}
		defer func() {
			if errStop := p.stop(context.WithoutCancel(ctx)); err == nil && errStop != nil {
				err = fmt.Errorf("stopping Slurm in the %s: %w", name, errStop)
			}
		}()
	}
	for round := range runs {
		slices.Reverse(names) // so that none is always the first
		for _, name := range names {
			text, err := places[name].run(ctx, script())
			if err != nil {
				return fmt.Errorf("running hpcc in the %s: %w", name, err)
			}
			r, err := parse(text)
			if err != nil {
				return fmt.Errorf("hpcc in the %s: %w", name, err)
			}
			results[name] = append(results[name], r)
			fmt.Fprintf(os.Stderr, "run %d of %d: hpcc in the %-4s HPL %.1f Gflop/s\n", round+1, runs, name, r["HPL_Tflops"]*1000)
		}
	}
	return print(out, results)
}

// print writes a table of medians.
func print(out io.Writer, results map[string][]result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "hpcc, two ranks\thost\tspread\tpod\tspread\tpod/host\tby chance\tat least")
	for _, k := range kernels {
		onHost, inPod := values(results["host"], k), values(results["pod"], k)
		pairs := ratios(results["pod"], results["host"], k)
		low, high := between(pairs)
		least := ""
		if k.bar > 0 {
			least = fmt.Sprintf("%.2f", k.bar)
		}
		fmt.Fprintf(table, "%s\t%.2f %s\t%.1f %%\t%.2f %s\t%.1f %%\t%.3f\t%.3f-%.3f\t%s\n", k.title,
			median(onHost), k.unit, spread(onHost), median(inPod), k.unit, spread(inPod), median(pairs), low, high, least)
	}
	return table.Flush()
}

// ratios are those of the pairs of runs, sorted. A shared machine is faster at one time and slower at another; two runs
// one after the other see the same of that.
func ratios(over, under []result, k kernel) []float64 {
	list := make([]float64, len(over))
	for i := range over {
		list[i] = over[i][k.name] / under[i][k.name]
	}
	slices.Sort(list)
	return list
}

// between are the values between which the median of all possible ones is with a probability of 95 %, as the sign test
// tells it from some of them.
func between(sorted []float64) (low, high float64) {
	n := float64(len(sorted))
	at := max(0, int(n/2-0.98*math.Sqrt(n)))
	return sorted[at], sorted[len(sorted)-1-at]
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// spread is the distance of the extremes, in percent of the median.
func spread(sorted []float64) float64 {
	return 100 * (sorted[len(sorted)-1] - sorted[0]) / median(sorted)
}
