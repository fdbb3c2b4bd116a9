package agent

import (
	"context"
	"errors"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// mungedRest is how long a munged that has ended stays away, so that one that cannot stay does not keep the machine busy.
const mungedRest = 500 * time.Millisecond

// keepMunged runs munged, and runs it again when it ends by itself. It tells when that is hopeless. stop ends it, which is for
// after slurmctld.
func (a *Agent) keepMunged(ctx context.Context) (failed <-chan error, stop func()) {
	if a.Sack.Key != "" {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	failure, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			err := a.Munged(ctx)
			var ended *exit.Error
			switch {
			case ctx.Err() != nil:
				return
			case errors.As(err, &ended) && ended.Code == contract.ExitConfig:
				failure <- err
				return
			}
			a.Log.Error("munged has ended and is started again", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(mungedRest):
			}
		}
	}()
	return failure, func() {
		cancel()
		<-done
	}
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
