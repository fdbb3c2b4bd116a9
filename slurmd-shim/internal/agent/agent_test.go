package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/watch"
)

// slurmctld is a stand-in that reads its configuration like the real one: at the start and, in place, on
// SIGHUP. A configuration with "Fatal" kills it, "Exit=n" ends it, "Die" ends it when the log has a neighbour .die, "Term" is
// logged when it is terminated.
const slurmctld = `#!/bin/bash
trap 'exec "$0" "$@"' HUP
trap 'echo terminated >> "$LOG"; exit 0' TERM
echo "start $*" >> "$LOG"
conf=$(cat "$3")
echo "read $conf" >> "$LOG"
case "$conf" in
*Wrong=*) echo "slurmctld: fatal: Unable to process configuration file" >&2; exit 1;;
*Fatal=*) echo "slurmctld: error: cannot find plugin wrong/plugin" >&2; echo "slurmctld: fatal: failed to initialize" >&2; exit 1;;
*Exit=*) for i in $(seq 30); do echo "line $i" >&2; done; exit "${conf##*=}";;
*Kill=*) kill -9 $$;;
*Die=*) until [ -e "$LOG.die" ]; do sleep 0.02; done; exit 9;;
*Early=*) if mkdir "$LOG.early"; then trap - HUP; kill -HUP $$; fi;;
esac
while :; do sleep 0.02; done
`

// scontrol is a stand-in for Slurm's parser.
const scontrol = `#!/bin/bash
if grep -q Wrong= "$SLURM_CONF"; then
  echo "scontrol: error: _parse_next_key: Parsing error at unrecognized key: Wrong" >&2
  echo "scontrol: fatal: Unable to process configuration file" >&2
  exit 1
fi
`

// TestMain sees to it that the stand-ins can be told to reconfigure also where the tests run under nohup:
// a signal that is caught here is back at its default in children, one that is ignored stays ignored.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// bench is an agent in directories of the test's own.
type bench struct {
	*Agent
	t     *testing.T
	dir   string
	ended chan error
	stop  context.CancelFunc
}

func newBench(t *testing.T, conf string) *bench {
	dir := t.TempDir()
	for name, script := range map[string]string{"slurmctld": slurmctld, "scontrol": scontrol} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	if os.Getenv("LOG") == "" {
		t.Setenv("LOG", filepath.Join(dir, "log"))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), make([]byte, 32), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "clients"), 0o700))
	socket := filepath.Join(dir, "munge")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	b := &bench{t: t, dir: dir, ended: make(chan error, 1), Agent: &Agent{
		Source: filepath.Join(dir, "mount"), RunDir: filepath.Join(dir, "run"), ClientDir: filepath.Join(dir, "clients"), StateDir: filepath.Join(dir, "state"),
		NodeConf: filepath.Join(dir, "node.conf"), GresConf: filepath.Join(dir, "gres.conf"),
		JWTKey: filepath.Join(dir, "key"), JWTCopy: filepath.Join(dir, "run", "keys", "key"), MungeSocket: socket,
		Munged: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		},
		Listen: "127.0.0.1:0", Slurmctld: []string{filepath.Join(dir, "slurmctld")},
		Scontrol: filepath.Join(dir, "scontrol"), Sinfo: filepath.Join(dir, "sinfo"), Links: []string{filepath.Join(dir, "power")},
		Check: []string{filepath.Join(dir, "scontrol")}, PollEvery: watch.Every, Log: slog.New(slog.DiscardHandler),
	}}
	b.mount(map[string]string{"slurm.conf": conf})
	return b
}

// mount changes the files the way the kubelet does: all at once, by a link.
func (b *bench) mount(files map[string]string) string {
	version, err := os.MkdirTemp(b.dir, "..v")
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(b.Source, 0o755))
	for name, content := range files {
		require.NoError(b.t, os.WriteFile(filepath.Join(version, name), []byte(content), 0o644))
		link := filepath.Join(b.Source, name)
		if _, err := os.Lstat(link); err != nil {
			require.NoError(b.t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	require.NoError(b.t, os.Symlink(version, filepath.Join(b.Source, "..tmp")))
	require.NoError(b.t, os.Rename(filepath.Join(b.Source, "..tmp"), filepath.Join(b.Source, "..data")))
	return contract.ConfigHash(files)
}

func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.stop = cancel
	go func() { b.ended <- b.Run(ctx) }()
}

// logged waits until the stand-in has logged text.
func (b *bench) logged(text string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		log, err := os.ReadFile(filepath.Join(b.dir, "log"))
		return err == nil && containsLine(string(log), text)
	}, 10*time.Second, 5*time.Millisecond, "the log never had the line %q", text)
}

// starts counts how often the stand-in was started or reconfigured.
func (b *bench) starts() int {
	log, err := os.ReadFile(filepath.Join(b.dir, "log"))
	require.NoError(b.t, err)
	return strings.Count(string(log), "start ")
}

func (b *bench) reports(want contract.AgentConfig) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.Status() == want }, 10*time.Second, 5*time.Millisecond, "%+v", want)
}

// client is a file as clients beside slurmctld read it.
func (b *bench) client(name string) string {
	content, err := os.ReadFile(filepath.Join(b.ClientDir, name))
	require.NoError(b.t, err)
	return string(content)
}

func TestClientsGetLocalConfiguration(t *testing.T) {
	b := newBench(t, "A=1")
	b.mount(map[string]string{"slurm.conf": "A=1", "slurm-local.conf": "A=1 # local", "cgroup.conf": "C=1"})
	b.start()
	b.logged("read A=1")
	assert.Equal(t, "A=1 # local", b.client("slurm.conf"))
	assert.Equal(t, "C=1", b.client("cgroup.conf"))
	assert.NoFileExists(t, filepath.Join(b.ClientDir, "slurm-local.conf"))
}

func TestRunReloadAndStop(t *testing.T) {
	b := newBench(t, "A=1")
	b.start()
	b.logged("read A=1")
	first := contract.ConfigHash(map[string]string{"slurm.conf": "A=1"})
	b.reports(contract.AgentConfig{RunningHash: first, AppliedBy: contract.AppliedByStart})

	rejected := b.mount(map[string]string{"slurm.conf": "A=1\nWrong=2"})
	b.reports(contract.AgentConfig{
		RunningHash: first, AppliedBy: contract.AppliedByStart, RejectedHash: rejected,
		Reason: "slurm.conf line 2 (Wrong=2): Parsing error at unrecognized key: Wrong. Correct or remove that line",
	})

	assert.Equal(t, "A=1", b.client("slurm.conf"), "clients keep the configuration that runs")

	b.mount(map[string]string{"slurm.conf": "A=1"})
	b.reports(contract.AgentConfig{RunningHash: first, AppliedBy: contract.AppliedByStart})

	second := b.mount(map[string]string{"slurm.conf": "A=2", "gres.conf": "x"})
	b.logged("read A=2")
	b.reports(contract.AgentConfig{RunningHash: second, AppliedBy: contract.AppliedByReconfigure})
	require.FileExists(t, filepath.Join(b.RunDir, "served", "gres.conf"))

	b.stop()
	require.NoError(t, <-b.ended)
	b.logged("terminated")
}

// TestRecount: after each start and reconfiguration, nodes that are not drained tell what they run, also when slurmctld
// did not answer at first.
func TestRecount(t *testing.T) {
	b := newBench(t, "A=1")
	require.Equal(t, 25*time.Second, b.patience())
	b.RecountAfter = 50 * time.Millisecond
	require.NoError(t, os.Mkdir(b.StateDir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(b.StateDir, "job_state"), nil, 0o600))
	write := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(b.dir, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	write("sinfo", "[ -e \"$LOG.asked\" ] || { touch \"$LOG.asked\"; echo unable to contact slurmctld >&2; exit 1; }\n"+
		"printf 'idle|cpu-9|none\\nallocated|cpu-[0-2]|none\\nidle~|burst-0|none\\nmixed|gpu-0|none\\nallocated*|cpu-5|none\\ndrained|cpu-3|bad disk\\ndraining|cpu-4|no|good\\n'\n")
	write("scontrol", `[ "$1" = show ] || echo "told $*" >> "$LOG"`)
	b.Squeue = filepath.Join(b.dir, "squeue")
	write("squeue", "echo '7 cpu-0'; [ -e \"$LOG.twice\" ] || echo '8 '; touch \"$LOG.twice\"")
	b.Check = []string{"true"}
	b.start()
	b.logged("told update NodeName=cpu-4 State=UNDRAIN")
	b.logged("told update NodeName=cpu-4 State=DRAIN Reason=no|good")
	b.logged("told update NodeName=cpu-[0-2],gpu-0 State=UNDRAIN")
	require.Eventually(t, func() bool { return b.starts() == 2 }, 10*time.Second, 5*time.Millisecond, "it reads its configuration again for job 8")
	require.NoError(t, os.Remove(filepath.Join(b.dir, "log")))
	b.mount(map[string]string{"slurm.conf": "A=2\nbatchstarttimeout=60"})
	b.logged("read A=2")
	b.logged("told update NodeName=cpu-[0-2],gpu-0 State=UNDRAIN")
	b.stop()
	require.NoError(t, <-b.ended)
	require.Equal(t, 75*time.Second, b.patience())
}

// TestFatalConfigurationIsTakenBack: what Slurm's parser lets pass and slurmctld dies of.
func TestFatalConfigurationIsTakenBack(t *testing.T) {
	b := newBench(t, "A=1")
	b.start()
	b.logged("read A=1")
	good := b.Status().RunningHash
	bad := b.mount(map[string]string{"slurm.conf": "Fatal=wrong/plugin"})
	b.reports(contract.AgentConfig{
		RunningHash: good, AppliedBy: contract.AppliedByRestart, RejectedHash: bad,
		Reason: "slurmctld ended with status 1, and the previous configuration was brought back: slurm.conf line 1 (Fatal=wrong/plugin): " +
			"cannot find plugin wrong/plugin; failed to initialize. Correct or remove that line",
	})
	b.mount(map[string]string{"slurm.conf": "A=3"})
	b.logged("read A=3")
	b.stop()
	require.NoError(t, <-b.ended)
}

func TestDeathEndsTheAgent(t *testing.T) {
	for conf, code := range map[string]int{"Exit=0": 1, "Exit=9": 9, "Kill=9": 137} {
		t.Run(conf, func(t *testing.T) {
			b := newBench(t, conf)
			err := b.Run(t.Context())
			require.ErrorContains(t, err, "slurmctld ended by itself")
			require.Equal(t, code, exit.Code(err))
			if conf == "Exit=9" {
				require.Contains(t, b.LastLog(), "line 30")
				require.NotContains(t, b.LastLog(), "line 10\n")
			}
		})
	}
}

// TestDeadIsNotReady: while the agent looks for what slurmctld died of, nobody is sent to it.
func TestDeadIsNotReady(t *testing.T) {
	b := newBench(t, "Die=1")
	looking := filepath.Join(b.dir, "looking")
	b.Check = []string{"bash", "-c", fmt.Sprintf("touch %[1]s; while [ -e %[1]s ]; do sleep 0.02; done", looking)}
	b.start()
	b.logged("read Die=1")
	b.listening.Store(true)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "log.die"), nil, 0o600))
	require.Eventually(t, func() bool {
		_, err := os.Stat(looking)
		return err == nil
	}, 10*time.Second, 5*time.Millisecond)
	require.False(t, b.listening.Load())
	require.NoError(t, os.Remove(looking))
	require.Equal(t, 9, exit.Code(<-b.ended))
}

// TestKilledAfterReload: SIGKILL says nothing about the configuration.
func TestKilledAfterReload(t *testing.T) {
	b := newBench(t, "A=1")
	b.start()
	b.logged("read A=1")
	b.mount(map[string]string{"slurm.conf": "Kill=9"})
	require.Equal(t, 137, exit.Code(<-b.ended))
	require.Empty(t, b.Status().RejectedHash)
}

// TestTooEarlyReconfiguration: SIGHUP kills a slurmctld that has only just begun.
func TestTooEarlyReconfiguration(t *testing.T) {
	b := newBench(t, "A=1")
	b.start()
	b.logged("read A=1")
	hash := b.mount(map[string]string{"slurm.conf": "Early=1"})
	require.Eventually(t, func() bool { return b.starts() == 3 }, 10*time.Second, 5*time.Millisecond)
	b.reports(contract.AgentConfig{RunningHash: hash, AppliedBy: contract.AppliedByReconfigure})
	b.stop()
	require.NoError(t, <-b.ended)
}

func TestPollFindsWhatNoEventTells(t *testing.T) {
	b := newBench(t, "A=1")
	b.PollEvery = 10 * time.Millisecond
	elsewhere := b.Source
	b.Source = filepath.Join(b.dir, "link")
	require.NoError(t, os.Symlink(elsewhere, b.Source))
	b.start()
	b.logged("read A=1")
	require.NoError(t, os.Remove(b.Source))
	require.Equal(t, contract.ConfigHash(map[string]string{"slurm.conf": "A=1"}), b.Status().RunningHash)
	other := newBench(t, "A=5")
	require.NoError(t, os.Symlink(other.Source, b.Source))
	b.logged("read A=5")
	b.stop()
	require.NoError(t, <-b.ended)
}

func TestStartErrors(t *testing.T) {
	for want, prepare := range map[string]func(*bench){
		"slurm.conf line 1 (Wrong=1): Parsing error": func(b *bench) { b.mount(map[string]string{"slurm.conf": "Wrong=1"}) },
		"there is no slurm.conf in":                  func(b *bench) { b.mount(map[string]string{"gres.conf": "x"}) },
		"mount the cluster's ConfigMap at":           func(b *bench) { b.Source = filepath.Join(b.dir, "none") },
		"mount the cluster's Secret at":              func(b *bench) { b.JWTKey = filepath.Join(b.dir, "none") },
		"make directory":                             func(b *bench) { b.StateDir = filepath.Join(b.JWTKey, "state") },
	} {
		t.Run(want, func(t *testing.T) {
			b := newBench(t, "A=1")
			prepare(b)
			err := b.Run(t.Context())
			require.ErrorContains(t, err, want)
			require.Equal(t, contract.ExitConfig, exit.Code(err))
		})
	}
}

func TestRunNeedsItsPort(t *testing.T) {
	b := newBench(t, "A=1")
	b.Listen = "256.0.0.1:0"
	require.ErrorContains(t, b.Run(t.Context()), "listen for questions about the configuration")
}

// TestMunged: a munged that ends is run again, while slurmctld goes on; one that cannot run ends the agent with its reason.
func TestMunged(t *testing.T) {
	b := newBench(t, "a")
	runs := make(chan int)
	n := 0
	b.Munged = func(ctx context.Context) error {
		n++
		select {
		case runs <- n:
		case <-ctx.Done():
			return nil
		}
		if n == 3 {
			return exit.Configf("the key is too short")
		}
		return &exit.Error{Code: 137, Err: errors.New("killed")}
	}
	b.start()
	require.Equal(t, 1, <-runs)
	b.logged("read a")
	require.Equal(t, 2, <-runs)
	require.Equal(t, 3, <-runs)
	require.ErrorContains(t, <-b.ended, "the key is too short")
	require.Equal(t, 1, b.starts(), "slurmctld was not started anew")
}

func TestHandler(t *testing.T) {
	a := &Agent{ReadyWait: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	a.setStatus(contract.AgentConfig{RunningHash: "r", RejectedHash: "x", Reason: "y"})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	var got contract.AgentConfig
	require.NoError(t, json.Unmarshal(get(contract.AgentPathConfig).Body.Bytes(), &got))
	require.Equal(t, a.Status(), got)
	require.Equal(t, http.StatusNotFound, get("/").Code)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a.Address = l.Addr().String()
	require.Equal(t, http.StatusOK, get("/readyz").Code)
	require.NoError(t, l.Close())
	require.Equal(t, http.StatusOK, get("/readyz").Code, "the same slurmctld")
	a.listening.Store(false)
	require.Equal(t, http.StatusServiceUnavailable, get("/readyz").Code)
}
