package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/testtree"
)

func TestParseGres(t *testing.T) {
	for value, want := range map[string]nodeconf.GresRequest{
		"gpu":                   {Name: "gpu"},
		"gpu:2":                 {Name: "gpu", Count: 2},
		"fpga:1=/dev/a*,/dev/b": {Name: "fpga", Count: 1, Wanted: "/dev/a*,/dev/b"},
	} {
		got, err := parseGres(value)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for value, want := range map[string]string{
		"":                 "expected a GRES such as gpu",
		"gpu:0":            "expected a GRES such as gpu",
		"Gpu":              "expected a GRES such as gpu",
		"gpu:1 State=IDLE": "expected a GRES such as gpu",
		"fpga=dev/a":       "dev/a is not an absolute path",
		"fpga=/dev/[":      "pattern /dev/[: syntax error in pattern",
	} {
		_, err := parseGres(value)
		require.ErrorContains(t, err, want)
	}
}

func TestInspectDeviceFiles(t *testing.T) {
	root := testtree.Load(t, "testdata/v2-pod.txtar")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "dev", "x"), 0o700))
	for _, name := range []string{"x0", "x1", "x,2", "x[3]"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "dev", name), nil, 0o600))
	}
	out, err := run(t, "inspect", "--root", root, "-o", "json", "--gres", "fpga:2=/dev/x?,/dev/x??*")
	require.NoError(t, err)
	require.Contains(t, out, `"gres": "fpga:2"`)
	require.Contains(t, out, `"Name=fpga File=/dev/x0"`)
	require.NotContains(t, out, "x,2", "Slurm would take it for two files")
}
