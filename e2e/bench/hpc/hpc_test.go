package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const hpccOutput = `rank 1 on CPUs 1
rank 0 on CPUs 0
HPLinpack 2.0
Begin of Summary section.
Success=1
HPL_Tflops=0.0787
PTRANS_GBs=1.6
MPIRandomAccess_GUPs=0.0115
StarSTREAM_Triad=10.9
StarDGEMM_Gflops=55.3
MPIFFT_Gflops=2.5
CommWorldProcs=2
End of Summary section.
`

func TestParseHPCC(t *testing.T) {
	f, err := parseHPCC(hpccOutput)
	require.NoError(t, err)
	require.InDelta(t, 78.7, f["HPL"], 1e-9)
	require.InDelta(t, 55.3, f["DGEMM"], 1e-9)
	for from, to := range map[[2]string]string{
		{"Success=1", "Success=0"}:               "it did not succeed",
		{"HPL_Tflops=0.0787", ""}:                "it says nothing of HPL_Tflops",
		{"CommWorldProcs=2", "CommWorldProcs=1"}: "it had 1 ranks, not 2",
	} {
		_, err = parseHPCC(strings.Replace(hpccOutput, from[0], from[1], 1))
		require.ErrorContains(t, err, to)
	}
}

func allReduceOutput(us float64) string {
	var b strings.Builder
	b.WriteString("rank 0 on CPUs 0\nranks 2\n")
	for i, bytes := range sizes {
		fmt.Fprintf(&b, "%d %.3f\n", bytes, us*float64(i+1))
	}
	return b.String()
}

func TestParseAllReduce(t *testing.T) {
	f, err := parseAllReduce(allReduceOutput(0.5))
	require.NoError(t, err)
	require.Len(t, f, 18)
	require.InDelta(t, 0.5, f["all-reduce 8 B"], 1e-9)
	require.InDelta(t, 9, f["all-reduce 1 MiB"], 1e-9)
	_, err = parseAllReduce(strings.Replace(allReduceOutput(1), "ranks 2", "ranks 1", 1))
	require.ErrorContains(t, err, "it had not 2 ranks")
	_, err = parseAllReduce(strings.Replace(allReduceOutput(1), "1024 8.000", "", 1))
	require.ErrorContains(t, err, "it says nothing of 1024 bytes")
}

func TestBound(t *testing.T) {
	require.NoError(t, bound(hpccOutput))
	require.ErrorContains(t, bound(strings.Replace(hpccOutput, "CPUs 1", "CPUs 0,1", 1)), "bound otherwise")
	require.ErrorContains(t, bound(""), "bound otherwise")
}

func TestInput(t *testing.T) {
	script, err := hpcc(700)
	require.NoError(t, err)
	require.Contains(t, script, "\n700 700 700 700 700 700 700 700 Ns\n")
}

// somewhere is a place that says what it is to say, by a word of the command.
type somewhere map[string]string

func (somewhere) start(context.Context) error { return nil }
func (somewhere) stop(context.Context) error  { return nil }
func (somewhere) nodes() int                  { return 1 }
func (s somewhere) run(_ context.Context, command ...string) (string, error) {
	for word, said := range s {
		if strings.Contains(strings.Join(command, " "), word) {
			return said, nil
		}
	}
	return "", fmt.Errorf("nothing is known of %q", command)
}

func TestSlurm(t *testing.T) {
	timed := "9999999\n" + strings.Repeat("90000\n", 5) + strings.Repeat("110000\n", 4) + "100000\n200000\n"
	f, err := at(somewhere{"sbatch": "20000000 1000\n", "srun": timed}, launches, array(1000))(t.Context())
	require.NoError(t, err)
	require.Equal(t, figures{rowLaunch: 100, rowMPI: 100, rowArray: 50}, f)
	_, err = at(somewhere{"sbatch": "20000000 999\n"}, array(1000))(t.Context())
	require.ErrorContains(t, err, "of 1000 tasks of a job array, 999 are COMPLETED")
	_, err = at(somewhere{"srun": "1\n"}, launches)(t.Context())
	require.ErrorContains(t, err, "timing srun: it says")
}

// measured are runs as two places without gVisor would show them, of which the first of the pod is another.
func measured(t *testing.T) results {
	r := results{}
	for _, place := range []string{onHost, onHalves, inPod, inPods, ofSlurm, ofUser} {
		for i := range 5 {
			f, err := parseHPCC(hpccOutput)
			require.NoError(t, err)
			latencies, err := parseAllReduce(allReduceOutput(0.5))
			require.NoError(t, err)
			for title, us := range latencies {
				f[title] = us
			}
			f[rowLaunch], f[rowMPI], f[rowArray], f[rowFirst] = 100, 150, 50, 3
			if place == inPod && i == 0 {
				f["HPL"] = 90
			}
			if place == inPods {
				f[rowLaunch], f["STREAM triad"] = 130, 10
			}
			r[place] = append(r[place], f)
		}
	}
	return r
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	require.NoError(t, print(&out, measured(t)))
	for _, line := range []string{
		`two ranks +host +spread +pod +spread +pods +spread`,
		`HPL +Gflop/s +78.7 +0.0 % +78.7 +14.4 % +78.7 +0.0 %`,
		`ratio +pod/host +by chance +bar +pods/pod +by chance +bar`,
		`HPL +1.000 +1.000-1.144 +at least 0.98 +1.000 +0.874-1.000 +at least 0.95`,
		`STREAM triad +1.000 +1.000-1.000 +at least 0.98 +0.917 +0.917-0.917 +at least 0.95: missed`,
		`srun true, 2 tasks +ms +halved host +100 +0.0 % +pods +130 +0.0 % +1.300 +1.300-1.300 +at most 1.20: missed`,
		`job array of true +jobs/s +host +50.0 +0.0 % +pod +50.0 +0.0 % +1.000 +1.000-1.000 +at least 0.95\n`,
	} {
		require.Regexp(t, line, out.String())
	}
}

func TestDraw(t *testing.T) {
	require.NoError(t, drawTo("none.svg", results{onHost: {{rowArray: 2}}}), "nothing to draw")
	require.ErrorContains(t, drawTo("plot.txt", measured(t)), "drawing plot.txt")
	file := filepath.Join(t.TempDir(), "plot.svg")
	require.NoError(t, drawTo(file, measured(t)))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "<svg")
	require.Contains(t, string(text), "STREAM triad")
	require.Contains(t, string(text), "pods")
}

// TestPrintPart: what was not measured has no row.
func TestPrintPart(t *testing.T) {
	var out strings.Builder
	require.NoError(t, print(&out, results{onHost: {{rowArray: 20}}, inPod: {{rowArray: 19}}}))
	require.Regexp(t, `^\nSlurm .*\njob array of true .* 0.950 .* at least 0.95\n$`, out.String())
}

// TestPrintTwo: a ratio stands below what it is a ratio of.
func TestPrintTwo(t *testing.T) {
	r := measured(t)
	delete(r, onHost)
	var out strings.Builder
	require.NoError(t, print(&out, r))
	require.Regexp(t, `(?m)^ratio +pods/pod +by chance +bar$`, out.String())
}

// TestProfile: what is measured is what the documentation names.
func TestProfile(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/how-to/throughput.md")
	require.NoError(t, err)
	for _, parameter := range profile {
		key, value, _ := strings.Cut(parameter, "=")
		require.Regexp(t, "\n    "+key+`: "?`+regexp.QuoteMeta(value)+`"?( |\n)`, string(doc))
	}
}

// TestOrder: places come in another order each time, and in the same with the same seed.
func TestOrder(t *testing.T) {
	order := func(seed uint64) (list []string) {
		var visits []visit
		for _, name := range parallelPlaces {
			visits = append(visits, visit{name, func(context.Context) (figures, error) {
				list = append(list, name)
				return figures{}, nil
			}})
		}
		_, err := measure(t.Context(), visits, 4, seed)
		require.NoError(t, err)
		return list
	}
	require.Len(t, order(1), 16)
	require.Equal(t, order(1), order(1))
	require.NotEqual(t, order(1), order(2))
	require.NotEqual(t, order(1)[:4], order(1)[4:8])
}
