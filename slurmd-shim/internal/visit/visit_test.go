package visit

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
)

func TestLook(t *testing.T) {
	visits := 0
	announced := contract.AgentAnnouncement{Text: "old", Number: 1}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, http.MethodPost+contract.AgentPathVisit, r.Method+r.URL.Path)
		visits++
		_ = json.NewEncoder(w).Encode(announced)
	}))
	defer agent.Close()
	v := &Visitors{Terminals: t.TempDir(), Agent: ask.Agent(agent.URL), Log: slog.New(slog.DiscardHandler), seen: -1}
	require.NoError(t, v.look(t.Context()))
	require.Zero(t, visits, "nobody is here")

	shell := filepath.Join(v.Terminals, "0")
	require.NoError(t, os.WriteFile(shell, nil, 0o600))
	shows := func() string {
		require.NoError(t, v.look(t.Context()))
		shown, err := os.ReadFile(shell)
		require.NoError(t, err)
		return string(shown)
	}
	require.Empty(t, shows(), "what was announced before is not news")
	require.Equal(t, 1, visits)
	announced = contract.AgentAnnouncement{Text: "demo ends in 10m", Number: 2}
	require.Equal(t, "\r\ndemo ends in 10m\r\n", shows())
	require.Equal(t, "\r\ndemo ends in 10m\r\n", shows(), "it is shown once")
	require.Equal(t, 3, visits)

	agent.Close()
	require.Error(t, v.look(t.Context()))
}
