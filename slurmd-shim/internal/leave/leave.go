// Package leave empties a node before its pod goes: it takes no new jobs, and those that it runs may end as long as
// Kubernetes waits.
package leave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/procfs"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

const (
	// lookEvery is how often it is looked whether jobs have ended.
	lookEvery = 500 * time.Millisecond
	// answerTime is how long slurmctld may take to answer. It may be going itself.
	answerTime = 2 * time.Second
)

// Slurm is what is wanted of slurmctld.
type Slurm interface {
	Show(ctx context.Context) (scontrol.Known, error)
	Drain(ctx context.Context, reason string) error
}

// Leaver empties a node.
type Leaver struct {
	Slurm Slurm
	// Steps counts the steps of jobs on the node, which is what counts while slurmctld does not answer.
	Steps func() (int, error)
	// Gone tells whether the cluster itself is deleted, asked while slurmctld does not answer.
	Gone func(ctx context.Context) bool
	Log  *slog.Logger
}

// Run drains the node and returns once it runs nothing, or with ctx's error when that ends first.
func (l Leaver) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		busy, err := l.look(ctx)
		if err != nil || !busy {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("jobs of this node did not end in time: %w", ctx.Err())
		}
	}
}

// look tells whether the node runs something, and drains it if that is not done yet.
func (l Leaver) look(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	known, err := l.Slurm.Show(asking)
	if err == nil && known.Power {
		return false, nil // the pod's time is over, and a drain would be for its successor
	}
	if err == nil && !known.Draining {
		err = l.Slurm.Drain(asking, contract.ReasonLeaving)
	}
	switch {
	case err == nil:
		return known.Busy, nil
	case errors.Is(err, scontrol.ErrGone):
		return false, nil
	}
	if l.Gone(ctx) {
		l.Log.Info("the cluster is deleted, and what this node runs with it")
		return false, nil
	}
	l.Log.Warn("slurmctld does not tell what this node runs", "error", err)
	steps, err := l.Steps()
	return steps > 0, err
}

// Deleted returns a question: does the DNS of Kubernetes say that there is no such Service? Without an answer there may be
// one. The operator shortens the grace of a deleted cluster's pods, but the garbage collector may come first, and the
// kubelet lets a hook that runs have all the time that it began with.
func Deleted(dns *net.Resolver, service string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		_, err := dns.LookupHost(ctx, service)
		var no *net.DNSError
		return errors.As(err, &no) && no.IsNotFound
	}
}

// Steps counts the processes below proc that look after a step of a job.
func Steps(proc string) (int, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return 0, fmt.Errorf("count steps: %w", err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		return 0, fmt.Errorf("count steps: %w", err)
	}
	steps := 0
	for _, p := range all {
		if name, err := p.Comm(); err == nil && name == "slurmstepd" {
			steps++
		}
	}
	return steps, nil
}
