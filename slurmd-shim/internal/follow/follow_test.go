package follow

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

func node(cpus int, memory int64) nodeconf.Node {
	return nodeconf.Node{CPUs: cpus, Boards: 1, SocketsPerBoard: 1, CoresPerSocket: cpus, ThreadsPerCore: 1, RealMemoryMB: memory}
}

// slurmctld knows one node, or none.
type slurmctld struct {
	known *scontrol.Known
	extra string
	fails error
	asked int
}

func (s *slurmctld) Show(context.Context) (scontrol.Known, error) {
	s.asked++
	switch {
	case s.fails != nil:
		return scontrol.Known{}, s.fails
	case s.known == nil:
		return scontrol.Known{}, scontrol.ErrGone
	}
	return *s.known, nil
}

func (s *slurmctld) Say(_ context.Context, word string) error {
	if s.fails == nil && s.known == nil {
		return scontrol.ErrGone
	}
	s.extra = word
	return s.fails
}

// bench is a container with a follower.
type bench struct {
	*Follower
	*slurmctld
	t          *testing.T
	granted    nodeconf.Node
	broken     error
	derived    int
	registered []nodeconf.Node
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, slurmctld: &slurmctld{known: &scontrol.Known{CPUs: 2, RealMemoryMB: 480}}, granted: node(2, 480)}
	b.Follower = &Follower{
		Registered: b.granted, Slurm: b.slurmctld, Log: slog.New(slog.DiscardHandler),
		Limits: func() (limits.Limits, error) {
			cpus, memory := float64(b.granted.CPUs), uint64(b.granted.RealMemoryMB)
			return limits.Limits{QuotaCPUs: &cpus, MemoryBytes: &memory}, nil
		},
		Derive: func() (nodeconf.Node, error) { b.derived++; return b.granted, b.broken },
		Register: func(n nodeconf.Node) error {
			b.registered = append(b.registered, n)
			return nil
		},
	}
	return b
}

func (b *bench) looks(want time.Duration) {
	b.t.Helper()
	next, err := b.look(b.t.Context())
	require.NoError(b.t, err)
	require.Equal(b.t, want, next)
}

func TestFollow(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.looks(rarely)
	}
	require.Equal(t, 1, b.asked, "slurmctld is asked once")
	require.Equal(t, 1, b.derived, "and the machine read once")
	require.Empty(t, b.extra)

	b.granted, b.known.Busy = node(4, 960), true
	b.looks(patiently)
	require.Equal(t, "slurmcluster: could grow to CPUs=4 RealMemory=960", b.extra)
	b.known.Busy = false
	b.looks(often)
	require.Empty(t, b.registered, "slurmctld knows the node still")
	b.known = nil
	b.looks(rarely)
	require.Equal(t, []nodeconf.Node{node(4, 960)}, b.registered)

	b.looks(rarely) // slurmctld does not know it yet
	b.known, b.extra = &scontrol.Known{CPUs: 4, RealMemoryMB: 960}, ""
	b.looks(rarely)
	b.looks(rarely)
	require.Empty(t, b.extra)
	require.Len(t, b.registered, 1)
}

func TestFollowShrinkAndBack(t *testing.T) {
	b := newBench(t)
	b.looks(rarely)
	b.granted, b.known.Busy = node(1, 960), true
	b.looks(patiently)
	require.Equal(t, "slurmcluster: must shrink to CPUs=1 RealMemory=960", b.extra)
	b.granted = node(2, 480)
	b.looks(rarely)
	require.Empty(t, b.extra)
}

func TestFollowUnusable(t *testing.T) {
	b := newBench(t)
	b.looks(rarely)
	b.granted, b.broken = node(0, 960), errors.New("the CPU limit is 0.1")
	b.looks(rarely)
	require.Equal(t, "slurmcluster: cannot go on: the CPU limit is 0.1", b.extra)
	b.known = nil
	b.looks(rarely)
	require.Empty(t, b.registered)
}

// TestFollowAfterRestart: slurmd was started again after a resize that slurmctld has not seen.
func TestFollowAfterRestart(t *testing.T) {
	b := newBench(t)
	b.known = &scontrol.Known{CPUs: 1, RealMemoryMB: 480}
	b.looks(often)
	require.Equal(t, "slurmcluster: could grow to CPUs=2 RealMemory=480", b.extra)
}

func TestFollowSilentSlurmctld(t *testing.T) {
	b := newBench(t)
	b.looks(rarely)
	b.granted, b.fails = node(1, 480), errors.New("no answer")
	for range 2 {
		next, err := b.look(t.Context())
		require.ErrorContains(t, err, "no answer")
		require.Equal(t, rarely, next)
	}
	b.fails = nil
	b.looks(often)
	require.Equal(t, "slurmcluster: must shrink to CPUs=1 RealMemory=480", b.extra)
}
