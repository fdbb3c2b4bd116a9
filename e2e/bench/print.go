package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// bars are the ratios to stay below.
var bars = []struct {
	over, under string
	most        float64
}{{"a", "b", 1.3}, {"a", "c", 3}, {"d", "e", 1.05}, {"f", "c", 1.5}, {"i", "c", 2.5}, {"j", "k", 1.5}, {"m", "k", 1.5}}

// limits are the times to stay below, in seconds, less those of another way where that is not ours.
var limits = []struct {
	what, less string
	most       float64
}{{"g", "", 5}, {"g", "c", 2}, {"h", "", 10}, {"l", "", 3}}

// print writes the figures, their ratios and what they were measured on.
func (b *bench) print(ctx context.Context, out io.Writer, runs int) error {
	nodes := &corev1.NodeList{}
	if err := b.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	info := nodes.Items[0].Status.NodeInfo
	fmt.Fprintf(out, "\n%s, %d node(s) of %s CPUs, kernel %s, Kubernetes %s, %s\nimage %s, medians of %d runs\n\n",
		time.Now().Format(time.DateOnly), len(nodes.Items), nodes.Items[0].Status.Capacity.Cpu(), info.KernelVersion,
		info.KubeletVersion, info.ContainerRuntimeVersion, b.image, runs)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	medians := map[string]float64{}
	fmt.Fprintln(table, "\twhat\tmedian\tleast\tmost")
	for _, w := range b.ways {
		slices.Sort(w.took)
		medians[w.name] = median(w.took)
		fmt.Fprintf(table, "%s\t%s\t%.2f s\t%.2f s\t%.2f s\n", w.name, w.title, medians[w.name],
			w.took[0].Seconds(), w.took[len(w.took)-1].Seconds())
	}
	fmt.Fprintln(table, "\nratio\t\tmeasured\tat most")
	for _, bar := range bars {
		if medians[bar.over] == 0 || medians[bar.under] == 0 {
			continue // not measured
		}
		fmt.Fprintf(table, "%s/%s\t\t%.2f\t%.2f\n", bar.over, bar.under, medians[bar.over]/medians[bar.under], bar.most)
	}
	fmt.Fprintln(table, "\ntime\t\tmeasured\tat most")
	for _, limit := range limits {
		if medians[limit.what] == 0 || limit.less != "" && medians[limit.less] == 0 {
			continue
		}
		name := limit.what
		if limit.less != "" {
			name += " - " + limit.less
		}
		fmt.Fprintf(table, "%s\t\t%.2f s\t%.0f s\n", name, medians[limit.what]-medians[limit.less], limit.most)
	}
	return table.Flush()
}

// median of sorted values, in seconds.
func median(sorted []time.Duration) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]).Seconds() / 2
}
