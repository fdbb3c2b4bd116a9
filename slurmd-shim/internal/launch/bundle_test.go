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
	ofImage := TaskProlog{Image: image}
	ofKernel := TaskProlog{Kernel: []string{"PMIX_MCA_gds=hash", "LANG=C"}, Preload: "/lib/a.so"}
	both := ofKernel
	both.Image = []string{"LANG=C.UTF-8", "PATH=/bin"}
	for name, c := range map[string]struct {
		prolog TaskProlog
		job    []string
		want   []string
	}{
		"from a login shell": {
			ofImage,
			[]string{"PATH=/usr/local/bin:/usr/bin", "LANG=de_DE.UTF-8"},
			[]string{
				"export EMPTY=", "export JAVA_HOME=/opt/it's java",
				"export PATH=/opt/conda/bin:/usr/bin:/bin:/usr/local/bin:" + contract.BundlePrograms,
			},
		},
		"a step of a job": {
			ofImage,
			[]string{"PATH=/mine:/opt/conda/bin:/usr/bin:" + contract.BundlePrograms, "LANG=C", "JAVA_HOME=/mine", "EMPTY=x"},
			nil,
		},
		"a job without much": {
			ofImage,
			[]string{"PATH=/bin"},
			[]string{
				"export EMPTY=", "export JAVA_HOME=/opt/it's java", "export LANG=C.UTF-8",
				"export PATH=/opt/conda/bin:/usr/bin:/bin:" + contract.BundlePrograms,
			},
		},
		"a kernel that lacks something": {
			ofKernel, []string{"PATH=/bin"}, []string{"export LANG=C", "export PMIX_MCA_gds=hash", "export LD_PRELOAD=/lib/a.so"},
		},
		"the job preloads": {
			ofKernel, []string{"LANG=C", "PMIX_MCA_gds=ds21", "LD_PRELOAD=/lib/b.so"}, []string{"export LD_PRELOAD=/lib/a.so /lib/b.so"},
		},
		"a step on a kernel that lacks something": {
			ofKernel, []string{"LANG=C", "PMIX_MCA_gds=hash", "LD_PRELOAD=/lib/a.so /lib/b.so"}, nil,
		},
		"the image knows better than the kernel": {
			both, []string{"PATH=/bin", "LD_PRELOAD=/lib/a.so"},
			[]string{"export LANG=C.UTF-8", "export PMIX_MCA_gds=hash", "export PATH=/bin:" + contract.BundlePrograms},
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "prolog")
			require.NoError(t, os.WriteFile(script, []byte(c.prolog.script()), 0o600))
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
	arguments, err := Bundled(Sack{})
	require.NoError(t, err)
	assert.Equal(t, []string{"-d", "/opt/slurmcluster/bin/slurmstepd", "--authinfo", "socket=/run/slurmcluster/munge/munge.socket.2"}, arguments)

	arguments, err = Bundled(Sack{Key: "/key"})
	require.NoError(t, err)
	assert.Equal(t, []string{"-d", "/opt/slurmcluster/bin/slurmstepd"}, arguments)
}

// TestTaskPrologIsAProgram: on Linux only a user's own image needs one.
func TestTaskPrologIsAProgram(t *testing.T) {
	prolog := OnThisKernel()
	assert.False(t, prolog.Needed())
	prolog.Image = []string{}
	assert.True(t, prolog.Needed())
	file := filepath.Join(t.TempDir(), "prolog")
	require.NoError(t, prolog.Write(file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
}
