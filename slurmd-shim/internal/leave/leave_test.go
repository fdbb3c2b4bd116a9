package leave

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

// slurmctld answers in turn, the last answer for ever.
type slurmctld struct {
	answers []answer
	drained []string
}

type answer struct {
	known scontrol.Known
	err   error
}

func (s *slurmctld) Show(context.Context) (scontrol.Known, error) {
	now := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return now.known, now.err
}

func (s *slurmctld) Drain(_ context.Context, reason string) error {
	s.drained = append(s.drained, reason)
	return nil
}

func TestRun(t *testing.T) {
	busy, free := scontrol.Known{Busy: true}, scontrol.Known{Draining: true}
	for name, c := range map[string]struct {
		answers []answer
		steps   []int
		gone    bool
		drained int
	}{
		"free already":         {answers: []answer{{}}, drained: 1},
		"until the jobs end":   {answers: []answer{{known: busy}, {known: free}}, drained: 1},
		"drained by others":    {answers: []answer{{known: free}}},
		"powered down":         {answers: []answer{{known: scontrol.Known{Busy: true, Power: true}}}},
		"not known":            {answers: []answer{{err: scontrol.ErrGone}}},
		"no answer, no step":   {answers: []answer{{err: errors.New("no answer")}}, steps: []int{0}},
		"cluster deleted":      {answers: []answer{{known: busy}, {err: errors.New("no answer")}}, gone: true, drained: 1},
		"no answer, then free": {answers: []answer{{err: errors.New("no answer")}, {known: free}}, steps: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &slurmctld{answers: c.answers}
			steps := func() (int, error) {
				n := c.steps[0]
				c.steps = c.steps[1:]
				return n, nil
			}
			gone := func(context.Context) bool { return c.gone }
			require.NoError(t, Leaver{Slurm: s, Steps: steps, Gone: gone, Log: slog.New(slog.DiscardHandler)}.Run(t.Context()))
			require.Len(t, s.drained, c.drained)
		})
	}
}

func TestRunUntilTheEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	s := &slurmctld{answers: []answer{{known: scontrol.Known{Busy: true, Draining: true}}}}
	err := Leaver{Slurm: s, Log: slog.New(slog.DiscardHandler)}.Run(ctx)
	require.ErrorContains(t, err, "jobs of this node did not end in time")
}

// TestDeleted: only the answer that there is no such name counts.
func TestDeleted(t *testing.T) {
	for code, want := range map[dnsmessage.RCode]bool{
		dnsmessage.RCodeNameError: true, dnsmessage.RCodeServerFailure: false, dnsmessage.RCodeRefused: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			require.Equal(t, want, Deleted(answering(t, code), "demo-controller.default.svc.")(t.Context()))
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, Deleted(answering(t, dnsmessage.RCodeNameError), "demo-controller.default.svc.")(ctx), "no answer")
}

// answering is a DNS whose only answer is a code.
func answering(t *testing.T, code dnsmessage.RCode) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return // closed
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil {
				continue
			}
			m.Response, m.RCode, m.Additionals = true, code, nil
			if packed, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestSteps(t *testing.T) {
	proc := t.TempDir()
	for pid, name := range map[string]string{"1": "tini", "7": "slurmd", "20": "slurmstepd", "30": "slurmstepd"} {
		require.NoError(t, os.MkdirAll(filepath.Join(proc, pid), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name+"\n"), 0o600))
	}
	steps, err := Steps(proc)
	require.NoError(t, err)
	require.Equal(t, 2, steps)
	_, err = Steps(filepath.Join(proc, "none"))
	require.ErrorContains(t, err, "count steps")
}
