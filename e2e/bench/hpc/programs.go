package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed hpccinf.txt.tmpl
var inputText string

var inputTemplate = template.Must(template.New("hpccinf.txt").Parse(inputText))

// kernel is a benchmark of the suite.
type kernel struct {
	title, unit string
	// name is hpcc's, and scale makes the unit of what it says.
	name  string
	scale float64
	// host and half are the least ratios of one pod to the host and of two pods of half the size to one, 0 for those that
	// are only shown.
	host, half float64
}

var kernels = []kernel{
	{"HPL", "Gflop/s", "HPL_Tflops", 1000, 0.98, 0.95},
	{"DGEMM", "Gflop/s", "StarDGEMM_Gflops", 1, 0.98, 0},
	{"STREAM triad", "GB/s", "StarSTREAM_Triad", 1, 0.98, 0.95},
	{"PTRANS", "GB/s", "PTRANS_GBs", 1, 0, 0},
	{"RandomAccess", "GUP/s", "MPIRandomAccess_GUPs", 1, 0, 0},
	{"FFT", "Gflop/s", "MPIFFT_Gflops", 1, 0, 0},
}

// sizes are the all-reduce program's, in bytes.
var sizes = func() (list []int) {
	for bytes := 8; bytes <= 1<<20; bytes *= 2 {
		list = append(list, bytes)
	}
	return list
}()

// allReduce is the row of a size.
func allReduce(bytes int) string {
	for _, unit := range []struct {
		name  string
		bytes int
	}{{"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("all-reduce %d %s", bytes/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("all-reduce %d B", bytes)
}

// programs runs the parallel programs, each as a job.
func programs(size int) part {
	return func(ctx context.Context, p place) (figures, error) {
		script, err := hpcc(size)
		if err != nil {
			return nil, err
		}
		out, err := parallel(ctx, p, script)
		if err != nil {
			return nil, fmt.Errorf("hpcc: %w", err)
		}
		f, err := parseHPCC(out)
		if err != nil {
			return nil, fmt.Errorf("hpcc: %w", err)
		}
		if out, err = parallel(ctx, p, "allreduce"); err != nil {
			return nil, fmt.Errorf("allreduce: %w", err)
		}
		latencies, err := parseAllReduce(out)
		if err != nil {
			return nil, fmt.Errorf("allreduce: %w", err)
		}
		maps.Copy(f, latencies)
		return f, nil
	}
}

// hpcc is what a rank does for the HPC Challenge: the first one reads the input and writes the results.
func hpcc(size int) (string, error) {
	var input strings.Builder
	if err := inputTemplate.Execute(&input, size); err != nil {
		return "", fmt.Errorf("filling in hpcc's input: %w", err)
	}
	return `dir=$(mktemp -d); cd "$dir"; trap 'rm -rf "$dir"' EXIT
cat > hpccinf.txt << 'END'
` + input.String() + `END
hpcc
[ "$SLURM_PROCID" != 0 ] || cat hpccoutf.txt`, nil
}

// prelude makes ranks alike everywhere. Slurm does not bind them, because a node that shares CPUs must not be bound; each binds
// itself to the CPU of its number, tells so, and has one thread. MPI's way from rank to rank is memory where they share it, and
// TCP where not.
const prelude = `set -e; export OMP_NUM_THREADS=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp
taskset --cpu-list --pid "$SLURM_PROCID" $$ > /dev/null
cpus=$(taskset --cpu-list --pid $$); echo "rank $SLURM_PROCID on CPUs ${cpus##*: }"
`

// parallel runs a line of shell as all ranks of a job, and makes sure that they were bound as they should.
func parallel(ctx context.Context, p place, script string) (string, error) {
	out, err := p.run(ctx, "srun", "--mpi=pmix", fmt.Sprintf("--nodes=%d", p.nodes()), fmt.Sprintf("--ntasks=%d", ranks),
		"--cpus-per-task=1", "--mem=0", "--cpu-bind=none", "bash", "-c", prelude+script)
	if err != nil {
		return "", err
	}
	return out, bound(out)
}

func bound(out string) error {
	var got, want []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "rank ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for rank := range ranks {
		want = append(want, fmt.Sprintf("rank %d on CPUs %d", rank, rank))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("its ranks are bound otherwise than elsewhere: %q, not %q", got, want)
	}
	return nil
}

// parseHPCC reads hpcc's output file.
func parseHPCC(text string) (figures, error) {
	said := map[string]float64{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			if number, err := strconv.ParseFloat(value, 64); err == nil {
				said[name] = number
			}
		}
	}
	if said["Success"] != 1 {
		return nil, errors.New("it did not succeed")
	}
	if said["CommWorldProcs"] != ranks {
		return nil, fmt.Errorf("it had %v ranks, not %d", said["CommWorldProcs"], ranks)
	}
	f := figures{}
	for _, k := range kernels {
		if said[k.name] <= 0 {
			return nil, fmt.Errorf("it says nothing of %s, but of %v", k.name, slices.Sorted(maps.Keys(said)))
		}
		f[k.title] = said[k.name] * k.scale
	}
	return f, nil
}

// parseAllReduce reads lines of bytes and microseconds.
func parseAllReduce(text string) (figures, error) {
	if !strings.Contains(text, fmt.Sprintf("ranks %d\n", ranks)) {
		return nil, fmt.Errorf("it had not %d ranks: %q", ranks, text)
	}
	f := figures{}
	for line := range strings.Lines(text) {
		var bytes int
		var us float64
		if n, _ := fmt.Sscanf(line, "%d %f", &bytes, &us); n == 2 {
			f[allReduce(bytes)] = us
		}
	}
	for _, bytes := range sizes {
		if f[allReduce(bytes)] <= 0 {
			return nil, fmt.Errorf("it says nothing of %d bytes: %q", bytes, text)
		}
	}
	return f, nil
}
