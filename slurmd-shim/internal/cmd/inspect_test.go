package cmd

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/testtree"
)

var update = flag.Bool("update", false, "write the golden files")

// run runs slurmd-shim with args and returns its standard output.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := New("v1.2.3", slog.New(slog.DiscardHandler), func(string) {})
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestInspectGolden compares what inspect prints about each captured machine with testdata/<machine>.<format>.
func TestInspectGolden(t *testing.T) {
	machines, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, machines)
	for _, file := range machines {
		for _, format := range []string{"json", "text"} {
			name := strings.TrimSuffix(file, ".txtar") + "." + format
			t.Run(filepath.Base(name), func(t *testing.T) {
				got, err := run(t, "inspect", "--root", testtree.Load(t, file), "-o", format)
				if err != nil {
					require.Equal(t, contract.ExitUnusable, exit.Code(err))
					got = err.Error() + "\n"
				}
				compareGolden(t, name, got)
			})
		}
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it:\n%s", file, diff)
	}
}

func TestInspectRoundUp(t *testing.T) {
	out, err := run(t, "inspect", "--round-up", "--root", testtree.Load(t, "testdata/v2-fraction.txtar"))
	require.NoError(t, err)
	require.Contains(t, out, "the CPU limit of 0.1 is rounded up: jobs see 1 CPU and get 10% of it")
}

func TestInspectNamedCgroup(t *testing.T) {
	root := testtree.Load(t, "testdata/v2-cpuset.txtar")
	for _, path := range []string{"kubepods.slice/kubepods-pod1f2e.slice", "/sys/fs/cgroup/kubepods.slice/kubepods-pod1f2e.slice"} {
		out, err := run(t, "inspect", "--root", root, "--cgroup", path)
		require.NoError(t, err)
		require.Contains(t, out, "8192 MiB")
		require.Contains(t, out, "4 CPUs")
	}
}

func TestInspectErrors(t *testing.T) {
	root := testtree.Load(t, "testdata/v2-cpuset.txtar")
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"-o", "xml"}, `output format "xml": expected text or json`, contract.ExitConfig},
		{[]string{"--root", t.TempDir()}, "reading the machine: find the online CPUs: read /sys/devices/system/cpu/online", contract.ExitUnusable},
		{[]string{"--root", root, "--cgroup", "nothing"}, "there is no cgroup /nothing below /sys/fs/cgroup", contract.ExitUnusable},
		{[]string{"--nonsense"}, "unknown flag: --nonsense", contract.ExitConfig},
	} {
		_, err := run(t, append([]string{"inspect"}, c.args...)...)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.code, exit.Code(err), c.want)
	}
}

func TestVersion(t *testing.T) {
	out, err := run(t, "version")
	require.NoError(t, err)
	require.Equal(t, "v1.2.3\n", out)
}
