// Package agent is the parent of slurmctld: it prepares what slurmctld needs, keeps an eye on its mounted
// configuration, hands over a changed one only when Slurm's own parser takes it, and tells over HTTP which
// configuration runs.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// settle is how long after a reconfiguration slurmctld's death is blamed on the new configuration.
// slurmctld reads it within a fraction of a second; large clusters take longer to recover their state.
const settle = 30 * time.Second

// Agent runs one slurmctld. The exported fields are its inputs.
type Agent struct {
	// Source is the directory where the ConfigMap is mounted.
	Source string
	// RunDir is a writable directory for the copy that slurmctld reads: RunDir/served.
	RunDir string
	// StateDir is slurmctld's StateSaveLocation, made with mode 0700.
	StateDir string
	// JWTKey and JWTCopy are the mounted key and where slurmctld finds its own copy.
	JWTKey, JWTCopy string
	// MungeSocket is waited for before slurmctld starts.
	MungeSocket string
	// Listen is the address of the HTTP server.
	Listen string
	// Proc is where the proc filesystem is mounted.
	Proc string
	// Slurmctld is the command to run; "-D -f <file>" is added.
	Slurmctld []string
	// Check is a command of Slurm's that fails when SLURM_CONF names a file with errors.
	Check []string
	Log   *slog.Logger

	mu     sync.Mutex
	status contract.AgentConfig

	lastLog string

	current, previous staged
	changedAt         time.Time
}

// Run prepares, starts slurmctld and returns when it has ended: nil for status 0, an exit.Error with its
// status otherwise. When ctx ends, slurmctld is told to terminate.
func (a *Agent) Run(ctx context.Context) error {
	stop, err := a.serve()
	if err != nil {
		return err
	}
	defer stop()
	if err := a.prepare(ctx); err != nil {
		return err
	}
	if err := launch.WaitFor(ctx, a.Log, "munged", "unix", a.MungeSocket); err != nil {
		return err
	}
	changes, stopWatching := a.watch()
	defer stopWatching()
	c, err := a.start()
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			c.signal(a.Log, syscall.SIGTERM)
			return a.ended(<-c.done)
		case <-changes:
			if a.reload(ctx) {
				c.signal(a.Log, syscall.SIGHUP)
			}
		case err := <-c.done:
			if c, err = a.revive(c, err); err != nil {
				return err
			}
		}
	}
}

// prepare makes directories and keys and puts the first configuration into place.
func (a *Agent) prepare(ctx context.Context) error {
	if err := launch.OwnDir(a.StateDir, 0o700); err != nil {
		return err
	}
	if err := launch.CopyKey(a.JWTKey, a.JWTCopy); err != nil {
		return err
	}
	files, err := readConfig(a.Source)
	if err != nil {
		return exit.Configf("%w; mount the cluster's ConfigMap at %s", err, a.Source)
	}
	s, err := a.stage(files)
	if err != nil {
		return err
	}
	if err := a.check(ctx, s); err != nil {
		return exit.Configf("the configuration in %s is not usable: %w", a.Source, err)
	}
	return a.use(s)
}

// start starts slurmctld on the current configuration.
func (a *Agent) start() (*child, error) {
	argv := append(append([]string{}, a.Slurmctld...), "-D", "-f", filepath.Join(a.served(), contract.FileSlurmConf))
	return startChild(argv, launch.Env())
}

// reload takes over a changed configuration if Slurm accepts it, and says whether slurmctld must be told.
func (a *Agent) reload(ctx context.Context) bool {
	files, err := readConfig(a.Source)
	if files == nil {
		a.Log.Error("keeping the running configuration", "error", err)
		return false
	}
	hash := contract.ConfigHash(files)
	if hash == a.Status().RejectedHash {
		return false
	}
	if hash == a.current.hash {
		a.setStatus(contract.AgentConfig{RunningHash: hash})
		return false
	}
	var s staged
	if err == nil {
		s, err = a.stage(files)
	}
	if err == nil {
		err = a.check(ctx, s)
	}
	before := a.current
	if err == nil {
		err = a.use(s)
	}
	if err != nil {
		a.reject(hash, err)
		return false
	}
	a.setStatus(contract.AgentConfig{RunningHash: hash})
	a.previous, a.changedAt = before, time.Now()
	a.Log.Info("slurmctld takes over a new configuration", "hash", hash)
	return true
}

// revive decides what a death of slurmctld that nobody asked for means. Slurm's parser does not see every
// mistake (a plugin that does not exist, a partition with unknown nodes): a death soon after a
// reconfiguration brings the previous configuration back. Any other one ends the agent, and so does
// SIGKILL, which is the kernel's for want of memory or a person's, and no fault of the configuration.
func (a *Agent) revive(c *child, err error) (*child, error) {
	switch {
	case c.killedBy(syscall.SIGHUP):
		// It was told to reconfigure in the moment before it listens to signals: it only has to start.
		a.Log.Warn("slurmctld was not ready to be reconfigured and is started again")
	case a.previous.dir != "" && time.Since(a.changedAt) < settle && !c.killedBy(syscall.SIGKILL):
		a.reject(a.current.hash, fmt.Errorf("slurmctld ended with status %d, and the previous configuration was brought back: %s",
			exit.OfChild(err), explain(c.tail.complaints(), a.current.files[contract.FileSlurmConf])))
		if err := a.use(a.previous); err != nil {
			return nil, err
		}
	default:
		a.lastLog = c.tail.String() + "\n"
		if err == nil {
			err = errors.New("exit status 0")
		}
		return nil, a.ended(fmt.Errorf("slurmctld ended by itself: %w", err))
	}
	a.previous = staged{}
	return a.start()
}

// ended makes slurmctld's status the agent's own.
func (a *Agent) ended(err error) error {
	if err == nil {
		a.Log.Info("slurmctld has ended")
		return nil
	}
	return &exit.Error{Code: exit.OfChild(err), Err: err}
}

// reject remembers why a configuration was not taken.
func (a *Agent) reject(hash string, reason error) {
	a.Log.Error("keeping the running configuration", "rejected", hash, "error", reason)
	s := a.Status()
	a.setStatus(contract.AgentConfig{RunningHash: s.RunningHash, RejectedHash: hash, Reason: reason.Error()})
}

// LastLog returns the end of slurmctld's log when it died by itself, else "". It is for after Run.
func (a *Agent) LastLog() string { return a.lastLog }

// Status returns which configuration runs.
func (a *Agent) Status() contract.AgentConfig {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *Agent) setStatus(s contract.AgentConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = s
}

// serve starts the HTTP server; it listens before anything else is done, so that a probe gets an answer.
func (a *Agent) serve() (func(), error) {
	l, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for questions about the configuration: %w", err)
	}
	srv := &http.Server{Handler: a.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.Log.Error("the HTTP server has ended", "error", err)
		}
	}()
	return func() {
		if err := srv.Close(); err != nil {
			a.Log.Error("close the HTTP server", "error", err)
		}
	}, nil
}

func (a *Agent) served() string { return filepath.Join(a.RunDir, "served") }

// use points RunDir/served at a staged configuration, all files at once, and reports it as the running one.
func (a *Agent) use(s staged) error {
	tmp := a.served() + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	if err := os.Symlink(filepath.Base(s.dir), tmp); err != nil {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	if err := os.Rename(tmp, a.served()); err != nil {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	a.current = s
	st := a.Status()
	st.RunningHash = s.hash
	a.setStatus(st)
	return nil
}
