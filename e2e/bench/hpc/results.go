package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// results are the runs of places, by name: the runs of one round have the same index.
type results map[string][]figures

// row is a line of a table.
type row struct{ title, unit string }

// rows are those of the parallel programs.
var rows = func() (list []row) {
	for _, k := range kernels {
		list = append(list, row{k.title, k.unit})
	}
	for _, bytes := range sizes {
		list = append(list, row{allReduce(bytes), "µs"})
	}
	return list
}()

// parallelPlaces are where the parallel programs may have run.
var parallelPlaces = []string{onHost, inPod, inPods, inGvisor}

// comparisons of these: what pods cost, and then what it costs that they are two.
var comparisons = []struct{ over, under string }{{inPod, onHost}, {inPods, inPod}, {inGvisor, onHost}}

// bar is the least ratio of a row, 0 if it is only shown.
func bar(title, over string) float64 {
	for _, k := range kernels {
		switch {
		case k.title != title:
		case over == inPod:
			return k.host
		case over == inPods:
			return k.half
		}
	}
	return 0
}

// slurmRows compare what Slurm itself does, in two places each. Places have equally many nodes: with two tasks on one node
// Slurm's own launch takes a tenth of a second more than with one on each of two.
var slurmRows = []struct {
	row
	under, over string
	least, most float64
}{
	{row{rowLaunch, "ms"}, onHalves, inPods, 0, 1.2},
	{row{rowMPI, "ms"}, onHalves, inPods, 0, 1.2},
	{row{rowLaunch, "ms"}, onHost, inPod, 0, 0},
	{row{rowMPI, "ms"}, onHost, inPod, 0, 0},
	{row{rowLaunch, "ms"}, onHalves, inGvisorPods, 0, 0},
	{row{rowMPI, "ms"}, onHalves, inGvisorPods, 0, 0},
	{row{rowArray, "jobs/s"}, onHost, inPod, 0.95, 0},
	{row{rowArray, "jobs/s"}, inPod, inTuned, 0, 0},
	{row{rowFirst, "s"}, ofSlurm, ofUser, 0, 1.3},
}

// values are those of a row in a place, sorted.
func (r results) values(place, title string) []float64 {
	var list []float64
	for _, f := range r[place] {
		if v, ok := f[title]; ok {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// ratios are those of the pairs of runs of the same round, sorted. A shared machine is faster at one time and slower at another;
// runs of one round see more of the same than others do.
func (r results) ratios(over, under, title string) []float64 {
	var list []float64
	for i := range min(len(r[over]), len(r[under])) {
		v, ok := r[over][i][title]
		w, also := r[under][i][title]
		if ok && also {
			list = append(list, v/w)
		}
	}
	slices.Sort(list)
	return list
}

// rows are those of the parallel programs that were measured.
func (r results) rows() (list []row) {
	for _, row := range rows {
		if slices.ContainsFunc(parallelPlaces, func(place string) bool { return len(r.values(place, row.title)) > 0 }) {
			list = append(list, row)
		}
	}
	return list
}

// print writes the tables.
func print(out io.Writer, r results) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.rows()) > 0 {
		printPrograms(table, r)
		printRatios(table, r)
	}
	fmt.Fprintln(table, "\nSlurm\t\t\tmedian\tspread\t\tmedian\tspread\tratio\tby chance\tbar")
	for _, row := range slurmRows {
		list := r.ratios(row.over, row.under, row.title)
		if len(list) == 0 {
			continue
		}
		under, over := r.values(row.under, row.title), r.values(row.over, row.title)
		low, high := between(list)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f %%\t%s\t%s\t%.1f %%\t%.3f\t%.3f-%.3f\t%s\n", row.title, row.unit,
			row.under, number(median(under)), spread(under), row.over, number(median(over)), spread(over),
			median(list), low, high, limits(median(list), row.least, row.most))
	}
	return table.Flush()
}

func printPrograms(table io.Writer, r results) {
	fmt.Fprint(table, "\ntwo ranks\t")
	for _, place := range parallelPlaces {
		if len(r[place]) > 0 {
			fmt.Fprintf(table, "\t%s\tspread", place)
		}
	}
	fmt.Fprintln(table)
	for _, row := range r.rows() {
		fmt.Fprintf(table, "%s\t%s", row.title, row.unit)
		for _, place := range parallelPlaces {
			if list := r.values(place, row.title); len(list) > 0 {
				fmt.Fprintf(table, "\t%s\t%.1f %%", number(median(list)), spread(list))
			}
		}
		fmt.Fprintln(table)
	}
}

func printRatios(table io.Writer, r results) {
	fmt.Fprint(table, "\nratio")
	for _, c := range comparisons {
		if len(r[c.over]) > 0 && len(r[c.under]) > 0 {
			fmt.Fprintf(table, "\t%s/%s\tby chance\tbar", c.over, c.under)
		}
	}
	fmt.Fprintln(table)
	for _, row := range r.rows() {
		fmt.Fprint(table, row.title)
		for _, c := range comparisons {
			if list := r.ratios(c.over, c.under, row.title); len(list) > 0 {
				low, high := between(list)
				fmt.Fprintf(table, "\t%.3f\t%.3f-%.3f\t%s", median(list), low, high, limits(median(list), bar(row.title, c.over), 0))
			}
		}
		fmt.Fprintln(table)
	}
}

// limits says what bar there is, and whether it is met.
func limits(ratio, least, most float64) string {
	var said string
	switch {
	case least > 0:
		said = fmt.Sprintf("at least %.2f", least)
	case most > 0:
		said = fmt.Sprintf("at most %.2f", most)
	default:
		return ""
	}
	if ratio < least || most > 0 && ratio > most {
		said += ": missed"
	}
	return said
}

// number is a figure with three digits that count.
func number(v float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(v)))), v)
}

// between are the values between which the median of all possible ones is with a probability of 95 %, as the sign test
// tells it from some of them.
func between(sorted []float64) (low, high float64) {
	n := float64(len(sorted))
	at := max(0, int(n/2-0.98*math.Sqrt(n)))
	return sorted[at], sorted[len(sorted)-1-at]
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread is the distance of the extremes, in percent of the median.
func spread(sorted []float64) float64 {
	return 100 * (sorted[len(sorted)-1] - sorted[0]) / median(sorted)
}
