package agent

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// settle is how long after a reconfiguration slurmctld's death is blamed on the new configuration.
// slurmctld reads it within a fraction of a second; large clusters take longer to recover their state.
const settle = 30 * time.Second

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
		a.setStatus(contract.AgentConfig{RunningHash: hash, AppliedBy: a.Status().AppliedBy})
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
		err = a.use(s, contract.AppliedByReconfigure)
	}
	if err != nil {
		a.reject(hash, err)
		return false
	}
	a.setStatus(contract.AgentConfig{RunningHash: hash, AppliedBy: contract.AppliedByReconfigure})
	a.previous, a.changedAt = before, time.Now()
	a.Log.Info("slurmctld takes over a new configuration", "hash", hash)
	return true
}

// revive decides what a death of slurmctld that nobody asked for means. Slurm's parser does not see every
// mistake (a plugin that does not exist, a partition with unknown nodes): a death soon after a
// reconfiguration brings the previous configuration back. Any other one ends the agent, and so does
// SIGKILL, which is the kernel's for want of memory or a person's, and no fault of the configuration. Where the parser refuses the
// configuration that slurmctld was started with, that is why.
func (a *Agent) revive(ctx context.Context, c *child, err error) (*child, error) {
	switch {
	case c.killedBy(syscall.SIGHUP):
		// It was told to reconfigure in the moment before it listens to signals: it only has to start.
		a.Log.Warn("slurmctld was not ready to be reconfigured and is started again")
	case a.previous.dir != "" && time.Since(a.changedAt) < settle && !c.killedBy(syscall.SIGKILL):
		a.reject(a.current.hash, fmt.Errorf("slurmctld ended with status %d, and the previous configuration was brought back: %s",
			exit.OfChild(err), explain(c.tail.complaints(), a.current.files[contract.FileSlurmConf])))
		if err := a.use(a.previous, contract.AppliedByRestart); err != nil {
			return nil, err
		}
	default:
		if why := refusal(""); !c.killedBy(syscall.SIGKILL) && errors.As(a.check(ctx, a.current), &why) {
			return nil, exit.Configf("the configuration in %s is not usable: %w", a.Source, why)
		}
		a.lastLog = c.tail.String() + "\n"
		if err == nil {
			err = errors.New("exit status 0")
		}
		return nil, a.ended(fmt.Errorf("slurmctld ended by itself: %w", err))
	}
	a.previous = staged{}
	return a.start()
}

// reject remembers why a configuration was not taken.
func (a *Agent) reject(hash string, reason error) {
	a.Log.Error("keeping the running configuration", "rejected", hash, "error", reason)
	s := a.Status()
	a.setStatus(contract.AgentConfig{RunningHash: s.RunningHash, AppliedBy: s.AppliedBy, RejectedHash: hash, Reason: reason.Error()})
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
	a.status.KeyHash = a.keyHash
}

// restart starts slurmctld anew when the mounted key for tokens is another, because slurmctld reads it once. It returns
// nil where there is nothing to do.
func (a *Agent) restart(ctx context.Context, c *child) (*child, error) {
	changed, err := launch.KeyChanged(a.JWTKey, a.JWTCopy)
	if err != nil {
		a.Log.Error("slurmctld goes on with the key that it has", "error", err)
	}
	if !changed {
		return nil, nil
	}
	a.Log.Info("the key for tokens has changed, slurmctld is started anew")
	c.signal(a.Log, syscall.SIGTERM)
	if err := <-c.done; err != nil {
		a.Log.Warn("slurmctld did not end as told", "error", err)
	}
	a.listening.Store(false)
	if err := launch.CopyKey(a.JWTKey, a.JWTCopy); err != nil {
		return nil, err
	}
	st := a.Status()
	st.AppliedBy = contract.AppliedByRestart
	a.setStatus(st)
	// A munged is started anew, too.
	if err := a.Sack.Ready(ctx, a.Log, a.MungeSocket); err != nil {
		return nil, err
	}
	return a.start()
}
