// Package rekey lets a slurmd with auth/slurm take a new key, which it reads only when it starts itself anew. Its container
// ends, and with it the jobs, when slurmd cannot then fetch its configuration from slurmctld; so slurmctld has to have the
// new key first.
package rekey

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/watch"
)

const (
	// askEvery is how often slurmctld's agent is asked whether slurmctld has the new key.
	askEvery = 500 * time.Millisecond
	askTime  = 5 * time.Second
)

// Rekeyer follows one key.
type Rekeyer struct {
	Sack launch.Sack
	// Used is the hash of the key that slurmd uses.
	Used  string
	Agent ask.Agent
	// Restart lets slurmd start itself anew.
	Restart func() error
	Log     *slog.Logger
}

// Run follows the key until ctx ends.
func (r *Rekeyer) Run(ctx context.Context) {
	changes, stop := watch.Dirs(r.Log, watch.Every, filepath.Dir(r.Sack.Key))
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		if err := r.follow(ctx); err != nil {
			r.Log.Warn("take the cluster's new key; it is tried again", "error", err)
		}
	}
}

// follow restarts slurmd if the mounted key is not the one that it uses, as soon as slurmctld uses the mounted one.
func (r *Rekeyer) follow(ctx context.Context) error {
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		mounted, err := r.Sack.Hash()
		if err != nil || mounted == r.Used {
			return err
		}
		if r.slurmctldUses(ctx, mounted) {
			r.Log.Info("slurmd is started anew with the cluster's new key")
			if err := r.Restart(); err != nil {
				return err
			}
			r.Used = mounted
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// slurmctldUses tells whether slurmctld takes connections with the key of a hash. It does not while it restarts.
func (r *Rekeyer) slurmctldUses(ctx context.Context, hash string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var config contract.AgentConfig
	return r.Agent.Get(ctx, contract.AgentPathConfig, &config) == nil && config.KeyHash == hash &&
		r.Agent.Get(ctx, contract.AgentPathReady, nil) == nil
}
