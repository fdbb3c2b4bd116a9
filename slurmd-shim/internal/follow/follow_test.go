package follow

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
)

func node(cpus int, memory int64) nodeconf.Node {
	return nodeconf.Node{CPUs: cpus, Boards: 1, SocketsPerBoard: 1, CoresPerSocket: cpus, ThreadsPerCore: 1, RealMemoryMB: memory}
}

// slurmctld knows one node, or none.
type slurmctld struct {
	known *Known
	extra string
	fails error
	asked int
}

func (s *slurmctld) Show(context.Context) (Known, error) {
	s.asked++
	switch {
	case s.fails != nil:
		return Known{}, s.fails
	case s.known == nil:
		return Known{}, ErrGone
	}
	return *s.known, nil
}

func (s *slurmctld) Say(_ context.Context, word string) error {
	if s.fails == nil && s.known == nil {
		return ErrGone
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
	b := &bench{t: t, slurmctld: &slurmctld{known: &Known{CPUs: 2, RealMemoryMB: 480}}, granted: node(2, 480)}
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
	b.known, b.extra = &Known{CPUs: 4, RealMemoryMB: 960}, ""
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
	b.known = &Known{CPUs: 1, RealMemoryMB: 480}
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

func TestScontrol(t *testing.T) {
	script := filepath.Join(t.TempDir(), "scontrol")
	write := func(text string) { require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+text), 0o700)) }
	s := Scontrol{Command: script, Node: "cpu-0"}
	for state, busy := range map[string]bool{
		"IDLE+DYNAMIC_NORM": false, "IDLE*+DRAIN": false, "DOWN+DRAIN": false, "MIXED": true, "ALLOCATED+DRAIN": true, "IDLE+COMPLETING": true, "UNKNOWN": true,
	} {
		write("echo 'NodeName='$4 'CPUTot=2 RealMemory=480 State=" + state + " Reason=CPUTot=9 State=IDLE'")
		known, err := s.Show(t.Context())
		require.NoError(t, err)
		require.Equal(t, Known{CPUs: 2, RealMemoryMB: 480, Busy: busy}, known, state)
	}
	write("echo Node cpu-0 not found; exit 1")
	_, err := s.Show(t.Context())
	require.ErrorIs(t, err, ErrGone)
	write("echo slurm_update error: Invalid node name specified >&2; exit 1")
	require.ErrorIs(t, s.Say(t.Context(), "x"), ErrGone)
	write("echo Unable to contact slurm controller >&2; exit 1")
	_, err = s.Show(t.Context())
	require.ErrorContains(t, err, "scontrol show: exit status 1: Unable to contact slurm controller")
	write("echo NodeName=cpu-0")
	_, err = s.Show(t.Context())
	require.ErrorContains(t, err, "scontrol shows no CPUTot, RealMemory and State: NodeName=cpu-0")
	write(`test "$1 $2 $3" = "update NodeName=cpu-0 Extra=a b"`)
	require.NoError(t, s.Say(t.Context(), "a b"))
}
