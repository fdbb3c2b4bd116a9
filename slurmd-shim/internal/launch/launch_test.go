package launch

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
)

var node = nodeconf.Node{CPUs: 2, Boards: 1, SocketsPerBoard: 1, CoresPerSocket: 2, ThreadsPerCore: 1, RealMemoryMB: 480}

func TestSlurmdArgs(t *testing.T) {
	argv, err := Slurmd{Controller: "10.0.0.1:6817", Host: "cpu-0", Features: "a,b.c", Node: node, Extra: []string{"-v"}}.Args()
	require.NoError(t, err)
	require.Equal(t, []string{
		"/run/slurm/slurmd", "-D", "-Z", "-N", "cpu-0", "--conf-server", "10.0.0.1:6817", "--conf",
		`CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=480 Feature=a,b.c State=DRAIN Reason="slurmcluster: registering"`,
		"-v",
	}, argv)
}

func TestSlurmdArgsErrors(t *testing.T) {
	for want, s := range map[string]Slurmd{
		"SLURMCLUSTER_CONTROLLER is not set: give it host:port":            {},
		`SLURMCLUSTER_CONTROLLER is "10.0.0.1", expected host:port`:        {Controller: "10.0.0.1"},
		`SLURMCLUSTER_NODE_FEATURES is "a State=IDLE", expected names`:     {Controller: "c:1", Features: "a State=IDLE"},
		`SLURMCLUSTER_NODE_FEATURES is "a\nNodeName=x", expected names of`: {Controller: "c:1", Features: "a\nNodeName=x"},
	} {
		_, err := s.Args()
		require.ErrorContains(t, err, want)
		require.Equal(t, contract.ExitConfig, exit.Code(err))
	}
}

// FuzzFeatures: whatever is accepted stays one value of one key.
func FuzzFeatures(f *testing.F) {
	f.Add("a,b")
	f.Add(`a" State=IDLE`)
	f.Add("a\tReason=x")
	f.Fuzz(func(t *testing.T, list string) {
		argv, err := Slurmd{Controller: "c:1", Host: "h", Features: list, Node: node}.Args()
		if err != nil {
			return
		}
		conf := argv[len(argv)-1]
		if n := strings.Count(conf, "="); list != "" && n != 9 || list == "" && n != 8 {
			t.Errorf("features %q make %q", list, conf)
		}
		if strings.ContainsAny(list, " \t\r\n\"#\\") {
			t.Errorf("features %q were accepted", list)
		}
	})
}

func TestCopyKey(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "secret"), filepath.Join(dir, "own", "key")
	require.ErrorContains(t, CopyKey(from, to), "mount the cluster's Secret at "+dir)
	require.NoError(t, os.WriteFile(from, []byte("short"), 0o440))
	require.ErrorContains(t, CopyKey(from, to), "has 5 bytes and must have at least 32")
	for _, content := range []string{strings.Repeat("a", 32), strings.Repeat("b", 64)} {
		require.NoError(t, os.Chmod(from, 0o640))
		require.NoError(t, os.WriteFile(from, []byte(content), 0o440))
		require.NoError(t, CopyKey(from, to), "a read-only copy of an earlier start is replaced")
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	require.Equal(t, fs.FileMode(0o400), mode(t, to))
	require.Equal(t, fs.FileMode(0o700), mode(t, filepath.Dir(to)))
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestDirectoryInTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, err := range []error{
		OwnDir(filepath.Join(file, "dir"), 0o755), Spool(filepath.Join(file, "spool")), LinkConf("/x", filepath.Join(file, "conf")),
	} {
		require.ErrorContains(t, err, file)
		require.Equal(t, contract.ExitConfig, exit.Code(err))
	}
	require.ErrorContains(t, WriteFile(filepath.Join(file, "x"), nil, 0o600), "write "+file)
	require.Error(t, WriteFile(t.TempDir(), nil, 0o600), "a directory is not replaced by a file")
}

func TestSpool(t *testing.T) {
	volume := t.TempDir()
	spool := filepath.Join(volume, "cpu-0")
	require.NoError(t, os.Mkdir(spool, 0o700))
	for _, f := range []string{"hwloc_topo_whole.xml", "cpu-0/hwloc_topo_whole.xml", "cpu-0/cred_state"} {
		require.NoError(t, os.WriteFile(filepath.Join(volume, f), nil, 0o600))
	}
	require.NoError(t, Spool(spool))
	require.Equal(t, fs.FileMode(0o755), mode(t, spool))
	left, err := filepath.Glob(filepath.Join(volume, "*", "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(spool, "cred_state")}, left)
	require.NoFileExists(t, filepath.Join(volume, "hwloc_topo_whole.xml"))

	require.NoError(t, os.MkdirAll(filepath.Join(spool, "hwloc.xml", "x"), 0o700))
	require.ErrorContains(t, Spool(spool), "remove the stale machine description")
}

func TestLinkConf(t *testing.T) {
	link := filepath.Join(t.TempDir(), "conf")
	for _, spool := range []string{"/var/spool/slurmd/a", "/var/spool/slurmd/b"} {
		require.NoError(t, LinkConf(spool, link))
		to, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, spool+"/conf-cache", to)
	}
}

func TestMungedPrepare(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	m := Munged{Key: filepath.Join(dir, contract.KeyMunge), Socket: filepath.Join(dir, "shared", "munge", "s"), Private: []string{blocked, dir}}
	require.NoError(t, os.WriteFile(m.Key, make([]byte, 32), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(m.Socket), 0o700))
	for _, stale := range []string{m.Socket, m.Socket + ".lock"} {
		require.NoError(t, os.WriteFile(stale, nil, 0o200))
	}
	argv, err := m.Prepare(t.Context())
	require.NoError(t, err)
	require.Subset(t, argv, []string{"munged", "--foreground", "--socket=" + m.Socket, "--key-file=" + dir + "/munged/munge.key"})
	require.NotContains(t, argv, "--force")
	require.NoFileExists(t, m.Socket)
	require.NoFileExists(t, m.Socket+".lock")
	require.Equal(t, fs.FileMode(0o755), mode(t, filepath.Dir(m.Socket)))

	require.NoError(t, os.Chmod(filepath.Join(dir, "shared"), 0o777))
	argv, err = m.Prepare(t.Context())
	require.NoError(t, err)
	require.Contains(t, argv, "--force", "an emptyDir is writable by all")

	l, err := net.Listen("unix", m.Socket)
	require.NoError(t, err)
	defer l.Close()
	_, err = m.Prepare(t.Context())
	require.NoError(t, err)
	require.FileExists(t, m.Socket, "the socket of a munged that answers stays")
}

func TestMungedPrepareErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, make([]byte, 32), 0o600))
	for want, m := range map[string]Munged{
		"find a directory for munged's copy of the key": {Key: file, Socket: dir + "/m/s", Private: []string{file}},
		"read the key " + dir + "/none":                 {Key: dir + "/none", Socket: dir + "/m/s", Private: []string{dir}},
		"make directory " + file + "/m":                 {Key: file, Socket: file + "/m/s", Private: []string{dir}},
	} {
		_, err := m.Prepare(t.Context())
		require.ErrorContains(t, err, want)
		require.Equal(t, contract.ExitConfig, exit.Code(err))
	}
	require.NoError(t, os.MkdirAll(dir+"/m/s/x", 0o700))
	_, err := Munged{Key: file, Socket: dir + "/m/s", Private: []string{dir}}.Prepare(t.Context())
	require.ErrorContains(t, err, "remove what a killed munged left behind")
}

func TestWaitFor(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	done := make(chan error, 1)
	go func() { done <- WaitFor(t.Context(), log, "munged", "unix", socket) }()
	time.Sleep(2 * knockEvery)
	require.Empty(t, done)
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, <-done)
	require.Contains(t, out.String(), "found munged")
}

func TestWaitForStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := WaitFor(ctx, slog.New(slog.DiscardHandler), "slurmctld", "tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "stopped while waiting for slurmctld at 127.0.0.1:1")
	require.Equal(t, 143, exit.Code(err))
}

func TestEnv(t *testing.T) {
	t.Setenv("RES_OPTIONS", "timeout:3")
	require.NotContains(t, Env(), "RES_OPTIONS=timeout:1 attempts:1")
	require.NoError(t, os.Unsetenv("RES_OPTIONS"))
	require.Subset(t, Env("A_NAME=b"), []string{"RES_OPTIONS=timeout:1 attempts:1", "A_NAME=b"})
}

func TestExecErrors(t *testing.T) {
	err := Exec([]string{"no-such-daemon"}, nil)
	require.ErrorContains(t, err, "find no-such-daemon")
	require.Equal(t, contract.ExitConfig, exit.Code(err))
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("\x7fELF not"), 0o700))
	require.ErrorContains(t, Exec([]string{script}, nil), "become "+script)
}
