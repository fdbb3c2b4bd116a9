package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed hpccinf.txt
var input string

// result is what hpcc says in its last part, by name.
type result map[string]float64

// kernel is a benchmark of the suite.
type kernel struct {
	title, name, unit string
	// scale makes the unit of what hpcc says.
	scale float64
	// bar is the least ratio of pod to host, 0 for those that are only shown.
	bar float64
}

var kernels = []kernel{
	{"HPL", "HPL_Tflops", "Gflop/s", 1000, 0.98},
	{"DGEMM", "StarDGEMM_Gflops", "Gflop/s", 1, 0.98},
	{"STREAM triad", "StarSTREAM_Triad", "GB/s", 1, 0.98},
	{"PTRANS", "PTRANS_GBs", "GB/s", 1, 0},
	{"RandomAccess", "MPIRandomAccess_GUPs", "GUP/s", 1, 0},
	{"FFT", "MPIFFT_Gflops", "Gflop/s", 1, 0},
}

// script runs hpcc and prints its results. mpirun starts the ranks itself, each on a core of its own, so that they are
// laid out alike everywhere; the variables of the job would tell it otherwise.
func script() string {
	return `set -e; dir=$(mktemp -d); cd "$dir"; trap 'rm -rf "$dir"' EXIT
cat > hpccinf.txt << 'END'
` + input + `END
env -i PATH="$PATH" HOME="$dir" mpirun -n 2 --bind-to core --mca pml ob1 --mca btl self,sm hpcc
cat hpccoutf.txt`
}

// parse reads hpcc's output file.
func parse(text string) (result, error) {
	r := result{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			if number, err := strconv.ParseFloat(value, 64); err == nil {
				r[name] = number
			}
		}
	}
	if r["Success"] != 1 {
		return nil, errors.New("it did not succeed")
	}
	for _, k := range kernels {
		if r[k.name] <= 0 {
			return nil, fmt.Errorf("it says nothing of %s, but of %v", k.name, slices.Sorted(maps.Keys(r)))
		}
	}
	return r, nil
}

// values are a kernel's, sorted.
func values(results []result, k kernel) []float64 {
	var list []float64
	for _, r := range results {
		list = append(list, r[k.name]*k.scale)
	}
	slices.Sort(list)
	return list
}
