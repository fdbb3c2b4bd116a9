package launch

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	p := Program{Link: filepath.Join(dir, "slurmd"), Real: filepath.Join(dir, "slurmd.program"), Conf: filepath.Join(dir, "conf")}
	slurmd := filepath.Join(t.TempDir(), "slurmd")
	t.Setenv("PATH", filepath.Dir(slurmd))
	err := p.Prepare()
	require.ErrorContains(t, err, "find slurmd")
	require.Equal(t, contract.ExitConfig, exit.Code(err))
	require.NoError(t, os.WriteFile(slurmd, nil, 0o700))
	for range 2 { // also after a restart of the container
		require.NoError(t, p.Prepare())
	}
	to, err := os.Readlink(p.Real)
	require.NoError(t, err)
	require.Equal(t, slurmd, to)
	self, err := os.Executable()
	require.NoError(t, err)
	to, err = os.Readlink(p.Link)
	require.NoError(t, err)
	require.Equal(t, self, to)

	argv := []string{p.Link, "-D", "--conf", "CPUs=1 State=DRAIN", "-v"}
	require.True(t, p.Started(argv))
	require.True(t, p.Started([]string{self, "slurm_script_launcher", "/x"}))
	require.False(t, p.Started([]string{self, "slurmd"}))
	got, err := p.arguments(argv)
	require.NoError(t, err)
	require.Equal(t, argv, got, "a reconfiguration changes nothing")

	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	require.NoError(t, p.Resize(os.Getpid(), "CPUs=2 State=DRAIN"))
	<-hup
	got, err = p.arguments(argv)
	require.NoError(t, err)
	require.Equal(t, []string{p.Link, "-D", "--conf", "CPUs=2 State=DRAIN", "-v"}, got)
	got, err = p.arguments(argv)
	require.NoError(t, err)
	require.Equal(t, argv, got, "slurmd has kept it")

	ended := exec.Command("/bin/true")
	require.NoError(t, ended.Run())
	require.ErrorContains(t, p.Resize(ended.Process.Pid, "x"), "start slurmd anew")
	require.ErrorContains(t, p.Again([]string{"x"}), "become "+slurmd, "an empty file is no program")
	require.ErrorContains(t, Program{Real: filepath.Join(dir, "none")}.Again([]string{"x"}), "find slurmd")
}
