package rekey

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// TestRun: slurmd is started anew when it and slurmctld have the same new key, once, and never for an old one.
func TestRun(t *testing.T) {
	key := filepath.Join(t.TempDir(), contract.KeySlurm)
	write := func(letter string) string {
		content := []byte(strings.Repeat(letter, 64))
		require.NoError(t, launch.WriteFile(key, content, 0o600))
		return contract.KeyHash(content)
	}
	var slurmctlds atomic.Value
	var listens atomic.Bool
	var restarts atomic.Int32
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash, _ := slurmctlds.Load().(string)
		if r.URL.Path == contract.AgentPathReady && !listens.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(contract.AgentConfig{KeyHash: hash})
	}))
	defer agent.Close()
	old := write("a")
	slurmctlds.Store(old)
	r := &Rekeyer{Sack: launch.Sack{Key: key}, Used: old, Agent: ask.Agent(agent.URL), Log: slog.New(slog.DiscardHandler), Restart: func() error {
		if restarts.Add(1) == 1 {
			return errors.New("not this time")
		}
		return nil
	}}
	require.NoError(t, r.follow(t.Context()))
	require.Zero(t, restarts.Load(), "nothing has changed")

	done := make(chan struct{})
	fresh := write("b")
	go func() {
		defer close(done)
		_ = r.follow(t.Context())
		_ = r.follow(t.Context())
	}()
	require.Never(t, func() bool { return restarts.Load() > 0 }, 2*askEvery, 10*time.Millisecond, "slurmctld has the old key")
	slurmctlds.Store(fresh)
	require.Never(t, func() bool { return restarts.Load() > 0 }, 2*askEvery, 10*time.Millisecond, "slurmctld is just starting")
	listens.Store(true)
	<-done
	require.EqualValues(t, 2, restarts.Load(), "one that failed is tried again")
	require.Equal(t, fresh, r.Used)
	require.NoError(t, r.follow(t.Context()))
	require.EqualValues(t, 2, restarts.Load())
	require.NoError(t, os.Remove(key))
	require.ErrorContains(t, r.follow(t.Context()), "mount the cluster's Secret")
}
