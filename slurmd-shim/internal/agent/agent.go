// Package agent is the parent of slurmctld: it prepares what slurmctld needs, keeps an eye on its mounted
// configuration, hands over a changed one only when Slurm's own parser takes it, and tells over HTTP which
// configuration runs.
package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/watch"
)

// Agent runs one slurmctld. The exported fields are its inputs.
type Agent struct {
	// Source is the directory where the ConfigMap is mounted.
	Source string
	// RunDir is a writable directory for the copy that slurmctld reads: RunDir/served.
	RunDir string
	// ClientDir is where clients in this pod look for their configuration: a copy of the running one, with
	// contract.FileSlurmConfLocal as slurm.conf.
	ClientDir string
	// StateDir is slurmctld's StateSaveLocation, made with mode 0700.
	StateDir string
	// NodeConf and GresConf are the files that slurm.conf and gres.conf include for this pod.
	NodeConf, GresConf string
	// JWTKey and JWTCopy are the mounted key and where slurmctld finds its own copy.
	JWTKey, JWTCopy string
	// Sack is slurmctld's own authentication. Where there is none, Munged runs munged until its context ends, and MungeSocket is
	// waited for before slurmctld starts.
	Sack        launch.Sack
	Munged      func(context.Context) error
	MungeSocket string
	// Listen is the address of the HTTP server.
	Listen string
	// ReadyWait is how long who asks whether slurmctld listens waits at most for a good answer.
	ReadyWait time.Duration
	// Address is where slurmctld listens (host:port).
	Address string
	// Terminals is where the kernel lists open pseudo-terminals.
	Terminals string
	// Slurmctld is the command to run; "-D -f <file>" is added.
	Slurmctld []string
	// Threads is how many threads of slurmctld answer requests, unless slurm.conf says it.
	Threads int
	// Scontrol, Sinfo and Squeue are Slurm's commands.
	Scontrol, Sinfo, Squeue string
	// Links are where links to this program are made that slurm.conf names as programs.
	Links []string
	// Check is a command of Slurm's that fails when SLURM_CONF names a file with errors.
	Check []string
	// PollEvery is how often the mounted configuration and key are looked at when no notification comes.
	PollEvery time.Duration
	// RecountAfter is how long after a start or a reconfiguration of slurmctld nodes are asked which jobs they run; zero
	// means as soon as slurmctld believes them.
	RecountAfter time.Duration
	Log          *slog.Logger

	mu     sync.Mutex
	status contract.AgentConfig
	events bell
	// listening tells that slurmctld has been seen to listen since its last start.
	listening atomic.Bool

	readiness readiness
	visitors  visitors

	lastLog string

	current, previous staged
	changedAt         time.Time

	// keyHash is that of the key of auth/slurm with which slurmctld was started.
	keyHash   string
	recountAt <-chan time.Time
	// nudged tells that slurmctld has been told to read its configuration for the sake of jobs that did not end.
	nudged bool
}

// Run prepares, starts slurmctld and returns when it has ended: nil for status 0, an exit.Error with its
// status otherwise. When ctx ends, slurmctld is told to terminate.
func (a *Agent) Run(ctx context.Context) error {
	stop, err := a.serve()
	if err != nil {
		return err
	}
	defer stop()
	if err := a.prepare(); err != nil {
		return err
	}
	failed, stopMunged := a.keepMunged(ctx)
	defer stopMunged()
	if err := a.awaitAuth(ctx, failed); err != nil {
		return err
	}
	changes, stopWatching := watch.Dirs(a.Log, a.PollEvery, a.Source, filepath.Dir(a.JWTKey))
	defer stopWatching()
	c, err := a.start()
	if err != nil {
		return err
	}
	visits := time.NewTicker(visitsEvery)
	defer visits.Stop()
	for {
		select {
		case <-visits.C:
			a.countVisitors()
		case err := <-failed:
			c.signal(a.Log, syscall.SIGTERM)
			if end := <-c.done; end != nil {
				a.Log.Warn("slurmctld did not end as told", "error", end)
			}
			return err
		case <-ctx.Done():
			c.signal(a.Log, syscall.SIGTERM)
			return a.ended(<-c.done)
		case <-changes:
			reload := a.reload(ctx)
			switch again, err := a.restart(ctx, c); {
			case err != nil:
				return err
			case again != nil:
				c = again
			case reload:
				c.signal(a.Log, syscall.SIGHUP)
				a.recountLater()
			}
		case <-a.recountAt:
			if a.settleJobs(ctx) {
				c.signal(a.Log, syscall.SIGHUP)
				a.recountLater()
			}
		case err := <-c.done:
			a.listening.Store(false)
			if c, err = a.revive(ctx, c, err); err != nil {
				return err
			}
		}
	}
}

// prepare makes directories and keys and puts the first configuration into place.
func (a *Agent) prepare() error {
	if err := launch.OwnDir(a.StateDir, 0o700); err != nil {
		return err
	}
	if err := launch.CopyKey(a.JWTKey, a.JWTCopy); err != nil {
		return err
	}
	if err := launch.NodeConf(a.NodeConf, false); err != nil {
		return err
	}
	// slurmctld reads what it includes to find more files to send to nodes.
	if err := launch.GresConf(a.GresConf, nil); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, link := range a.Links {
		if err := launch.Link(link, self); err != nil {
			return err
		}
	}
	files, err := readConfig(a.Source)
	if err != nil {
		return exit.Configf("%w; mount the cluster's ConfigMap at %s", err, a.Source)
	}
	s, err := a.stage(files)
	if err != nil {
		return err
	}
	return a.use(s, contract.AppliedByStart) // slurmctld checks it itself
}

// start starts slurmctld on the current configuration.
func (a *Agent) start() (*child, error) {
	a.nudged = false
	a.listening.Store(false)
	if a.recovers() {
		a.recountLater()
	}
	hash, err := a.Sack.Hash()
	if err != nil {
		return nil, err
	}
	a.keyHash = hash
	a.setStatus(a.Status())
	argv := append(append([]string{}, a.Slurmctld...), "-D", "-f", filepath.Join(a.served(), contract.FileSlurmConf))
	return startChild(argv, launch.Env(append(a.Sack.Env(), launch.OneArena)...))
}

// ended makes slurmctld's status the agent's own.
func (a *Agent) ended(err error) error {
	if err == nil {
		a.Log.Info("slurmctld has ended")
		return nil
	}
	return &exit.Error{Code: exit.OfChild(err), Err: err}
}
