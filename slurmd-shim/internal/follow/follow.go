// Package follow lets a Slurm node follow its container when that is resized in place.
//
// Slurm never changes the size of a node that it knows: the node has to go and to register anew. The follower is a
// small process beside slurmd that sees what the kernel grants, says on the node what it would like to be, and
// leaves it to the operator to free the node of jobs and to remove it. Once Slurm knows the node no more, slurmd
// registers it with its new size.
package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

const (
	// first is when the limits are read for the first time: slurmd has just started with what they were, on a machine that may
	// have much else to start.
	first = 10 * time.Second
	// rarely is how often the limits are read.
	rarely = 2 * time.Second
	// patiently is how often slurmctld is asked about a node that has jobs.
	patiently = 5 * time.Second
	// often is how often slurmctld is asked about a node that is to be removed any moment.
	often = 250 * time.Millisecond
)

// Slurm is what the follower wants of slurmctld.
type Slurm interface {
	// Show returns the node. The error wraps scontrol.ErrGone if there is none.
	Show(ctx context.Context) (scontrol.Known, error)
	// Say writes a word to the operator on the node; an empty one takes it back.
	Say(ctx context.Context, word string) error
}

// Follower follows one container.
type Follower struct {
	// Registered is the node as slurmd registers it.
	Registered nodeconf.Node
	// Limits reads what is granted.
	Limits func() (limits.Limits, error)
	// Derive makes a node of it.
	Derive func() (nodeconf.Node, error)
	Slurm  Slurm
	// Register lets slurmd register the node anew.
	Register func(nodeconf.Node) error
	Log      *slog.Logger

	// checked tells that slurmctld knows the node with the size that slurmd registers.
	checked bool
	seen    limits.Limits
	said    string
	// waiting tells that slurmd is to register anew as soon as slurmctld does not know the node any more.
	waiting bool
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	for next := first; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		var err error
		if next, err = f.look(ctx); err != nil {
			f.Log.Warn("follow the container's size; it is tried again", "error", err)
		}
	}
}

// look compares once and returns when to look again. Most of the time it only reads the limits.
func (f *Follower) look(ctx context.Context) (time.Duration, error) {
	if err := f.check(ctx); err != nil {
		return rarely, err
	}
	l, err := f.Limits()
	if err != nil {
		return rarely, err
	}
	if reflect.DeepEqual(l, f.seen) && !f.waiting {
		return rarely, nil
	}
	n, unusable := f.Derive()
	word := wish(f.Registered, n, unusable)
	if word != f.said {
		if err := f.Slurm.Say(ctx, word); err != nil && !errors.Is(err, scontrol.ErrGone) {
			return rarely, err
		}
		f.Log.Info("the node is not as large as its container", "limits", l, "node", n, "saying", word)
	}
	f.said, f.seen, f.waiting = word, l, word != "" && unusable == nil
	if !f.waiting {
		return rarely, nil
	}
	return f.registerOnceGone(ctx, n)
}

// check asks slurmctld, once, with which size it knows the node. After an unexpected end of slurmd that is the size
// of before, whatever it registers with.
func (f *Follower) check(ctx context.Context) error {
	if f.checked {
		return nil
	}
	known, err := f.Slurm.Show(ctx)
	if errors.Is(err, scontrol.ErrGone) {
		return nil // slurmd is about to register
	}
	if err == nil {
		f.checked = true
		f.Registered.CPUs, f.Registered.RealMemoryMB = known.CPUs, known.RealMemoryMB
	}
	return err
}

// registerOnceGone registers the node anew when Slurm no longer knows it.
func (f *Follower) registerOnceGone(ctx context.Context, n nodeconf.Node) (time.Duration, error) {
	known, err := f.Slurm.Show(ctx)
	switch {
	case err == nil && known.Busy:
		return patiently, nil
	case err == nil:
		return often, nil
	case !errors.Is(err, scontrol.ErrGone):
		return rarely, err
	}
	if err := f.Register(n); err != nil {
		return rarely, err
	}
	f.Log.Info("registering with the new size", "node", n)
	f.Registered, f.said, f.waiting, f.checked = n, "", false, false
	return rarely, nil
}

// wish is what the operator is told: how the node would change, or that it can be one no more.
func wish(registered, wanted nodeconf.Node, err error) string {
	size := fmt.Sprintf("CPUs=%d RealMemory=%d", wanted.CPUs, wanted.RealMemoryMB)
	switch {
	case err != nil:
		return contract.ExtraUnusable + err.Error()
	case reflect.DeepEqual(registered, wanted):
		return ""
	case grows(registered, wanted):
		return contract.ExtraGrow + size
	}
	return contract.ExtraShrink + size
}

// grows tells whether a node loses nothing.
func grows(from, to nodeconf.Node) bool {
	return to.CPUs >= from.CPUs && to.RealMemoryMB >= from.RealMemoryMB && to.Gres == from.Gres &&
		from.CPUSpecList == "" && to.CPUSpecList == ""
}
