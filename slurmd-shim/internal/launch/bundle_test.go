package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// TestTaskProlog runs the script as Slurm does: in the environment of a job, with its output read line by line.
func TestTaskProlog(t *testing.T) {
	image := []string{
		"PATH=/opt/conda/bin:/usr/bin:/bin", "JAVA_HOME=/opt/it's java", "LANG=C.UTF-8", "MULTI=a\nexport EVIL=1", "a.b=c", "HOSTNAME=pod",
		"KUBERNETES_PORT=1", contract.EnvController + "=a:1", "EMPTY=",
	}
	for name, c := range map[string]struct {
		job  []string
		want []string
	}{
		"from a login shell": {
			[]string{"PATH=/usr/local/bin:/usr/bin", "LANG=de_DE.UTF-8"},
			[]string{
				"export EMPTY=", "export JAVA_HOME=/opt/it's java",
				"export PATH=/opt/conda/bin:/usr/bin:/bin:/usr/local/bin:" + contract.BundlePrograms,
			},
		},
		"a step of a job": {
			[]string{"PATH=/mine:/opt/conda/bin:/usr/bin:" + contract.BundlePrograms, "LANG=C", "JAVA_HOME=/mine", "EMPTY=x"},
			nil,
		},
		"a job without much": {
			[]string{"PATH=/bin"},
			[]string{
				"export EMPTY=", "export JAVA_HOME=/opt/it's java", "export LANG=C.UTF-8",
				"export PATH=/opt/conda/bin:/usr/bin:/bin:" + contract.BundlePrograms,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "prolog")
			require.NoError(t, os.WriteFile(script, []byte(taskProlog(image)), 0o600))
			run := exec.CommandContext(t.Context(), "/bin/sh", script)
			run.Env = c.job
			out, err := run.Output()
			require.NoError(t, err)
			var lines []string
			for line := range strings.Lines(string(out)) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
			assert.Equal(t, c.want, lines)
		})
	}
}

// TestBundled: what slurmd is told.
func TestBundled(t *testing.T) {
	prolog := filepath.Join(t.TempDir(), "prolog")
	arguments, err := Bundled([]string{"PATH=/bin"}, prolog, Sack{})
	require.NoError(t, err)
	assert.Equal(t, []string{"-d", "/opt/slurmcluster/bin/slurmstepd", "--authinfo", "socket=/run/slurmcluster/munge/munge.socket.2"}, arguments)
	info, err := os.Stat(prolog)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())

	arguments, err = Bundled(nil, prolog, Sack{Key: "/key"})
	require.NoError(t, err)
	assert.Equal(t, []string{"-d", "/opt/slurmcluster/bin/slurmstepd"}, arguments)
}
