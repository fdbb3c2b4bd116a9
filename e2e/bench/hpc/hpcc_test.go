package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const output = `HPLinpack 2.0
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

func TestParse(t *testing.T) {
	r, err := parse(output)
	require.NoError(t, err)
	require.Equal(t, []float64{78.7}, values([]result{r}, kernels[0]))
	_, err = parse(strings.Replace(output, "Success=1", "Success=0", 1))
	require.EqualError(t, err, "it did not succeed")
	_, err = parse(strings.Replace(output, "HPL_Tflops=0.0787", "", 1))
	require.ErrorContains(t, err, "it says nothing of HPL_Tflops")
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	results := map[string][]result{}
	for _, place := range []string{"host", "pod"} {
		for range 5 {
			r, err := parse(output)
			require.NoError(t, err)
			results[place] = append(results[place], r)
		}
	}
	results["pod"][0]["HPL_Tflops"] = 0.09
	require.NoError(t, print(&out, results))
	require.Regexp(t, `HPL +78.70 Gflop/s +0.0 % +78.70 Gflop/s +14.4 % +1.000 +1.000-1.144 +0.98`, out.String())
}
