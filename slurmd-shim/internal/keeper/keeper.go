// Package keeper is the parent of munged: it starts munged anew when the mounted key is another, because munged reads
// its key once.
package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/watch"
)

// Keeper runs munged.
type Keeper struct {
	Munged launch.Munged
	// PollEvery is how often the mounted key is looked at when no notification comes.
	PollEvery time.Duration
	Log       *slog.Logger
}

// Run returns when munged has ended by itself: nil for status 0, an exit.Error with its status otherwise. When ctx ends,
// munged is told to terminate.
func (k Keeper) Run(ctx context.Context) error {
	changes, stop := watch.Dirs(k.Log, k.PollEvery, filepath.Dir(k.Munged.Key))
	defer stop()
	for {
		argv, err := k.Munged.Prepare(ctx)
		if err != nil {
			return err
		}
		again, err := k.run(ctx, argv, changes)
		if err != nil || !again {
			return err
		}
		k.Log.Info("the key has changed, munged is started anew")
	}
}

// run runs one munged, and tells whether it was ended for another to be started.
func (k Keeper) run(ctx context.Context, argv []string, changes <-chan struct{}) (again bool, err error) {
	munged := exec.Command(argv[0], argv[1:]...)
	munged.Stdout, munged.Stderr = os.Stdout, os.Stderr
	// It goes with its parent, so that the kubelet finds no socket of a munged that nobody looks after.
	munged.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := munged.Start(); err != nil {
		return false, exit.Configf("start munged: %w; the image must hold it", err)
	}
	done := make(chan error, 1)
	go func() { done <- munged.Wait() }()
	end := func() error {
		if err := munged.Process.Signal(syscall.SIGTERM); err != nil {
			k.Log.Info("munged has ended before a signal reached it", "error", err)
		}
		return <-done
	}
	for {
		select {
		case <-ctx.Done():
			return false, ended(end())
		case err := <-done:
			return false, ended(err)
		case <-changes:
			changed, err := k.Munged.KeyChanged()
			if err != nil {
				k.Log.Error("munged goes on with the key that it has", "error", err)
			}
			if changed {
				_ = end() // its status is that of a signal
				return true, nil
			}
		}
	}
}

func ended(err error) error {
	if err == nil {
		return nil
	}
	return &exit.Error{Code: exit.OfChild(err), Err: fmt.Errorf("munged ended: %w", err)}
}
