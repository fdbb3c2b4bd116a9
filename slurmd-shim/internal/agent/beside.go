package agent

import (
	"context"
	"errors"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// restTime is how long a program beside slurmctld that has ended stays away, so that one that cannot stay does not keep the
// machine busy.
const restTime = 500 * time.Millisecond

// keep runs a program beside slurmctld, and runs it again when it ends by itself. It tells when that is hopeless. stop ends
// it, which is for after slurmctld, and so later than ctx.
func (a *Agent) keep(ctx context.Context, name string, run func(context.Context) error) (failed <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	failure, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			err := run(ctx)
			var ended *exit.Error
			switch {
			case ctx.Err() != nil:
				return
			case errors.As(err, &ended) && ended.Code == contract.ExitConfig:
				failure <- err
				return
			}
			a.Log.Error(name+" has ended and is started again", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(restTime):
			}
		}
	}()
	return failure, func() {
		cancel()
		<-done
	}
}

// keepMunged runs munged where slurmctld needs one.
func (a *Agent) keepMunged(ctx context.Context) (failed <-chan error, stop func()) {
	if a.Sack.Key != "" {
		return nil, func() {}
	}
	return a.keep(ctx, "munged", a.Munged)
}

// awaitAuth waits until slurmctld can authenticate, or until that is hopeless.
func (a *Agent) awaitAuth(ctx context.Context, failed <-chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- a.Sack.Ready(ctx, a.Log, a.MungeSocket) }()
	select {
	case err := <-ready:
		return err
	case err := <-failed:
		return err
	}
}
