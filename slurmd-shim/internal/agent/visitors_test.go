package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

func TestVisitors(t *testing.T) {
	a, dir := scaler(t)
	a.Terminals = filepath.Join(dir, "pts")
	require.NoError(t, os.Mkdir(a.Terminals, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(a.Terminals, "ptmx"), nil, 0o600))
	mine := token(t, key, contract.UserName, time.Minute)
	visitors := func() (v contract.AgentVisitors) {
		w := ask(a, http.MethodGet, contract.AgentPathVisitors, mine, there, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
		return v
	}
	require.Equal(t, contract.AgentVisitors{Now: 0, SecondsSince: -1}, visitors())
	terminal := filepath.Join(a.Terminals, "0")
	require.NoError(t, os.WriteFile(terminal, nil, 0o600))
	require.Equal(t, contract.AgentVisitors{Now: 1, SecondsSince: 0}, visitors())
	require.NoError(t, os.Remove(terminal))
	require.Equal(t, contract.AgentVisitors{Now: 0, SecondsSince: 0}, visitors())
	require.NoError(t, os.RemoveAll(a.Terminals))
	require.Equal(t, 1, visitors().Now, "not knowing is not a reason to end a cluster")
	require.Equal(t, http.StatusUnauthorized, ask(a, http.MethodGet, contract.AgentPathVisitors, "", here, nil).Code)
}

// TestVisit: nodes tell of their shells, and hear what was announced.
func TestVisit(t *testing.T) {
	a, dir := scaler(t)
	a.Terminals, a.Squeue = filepath.Join(dir, "pts"), "true"
	require.NoError(t, os.Mkdir(a.Terminals, 0o700))
	visit := func() (said contract.AgentAnnouncement) {
		w := ask(a, http.MethodPost, contract.AgentPathVisit, "", there, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &said))
		return said
	}
	require.Zero(t, visit())
	require.WithinDuration(t, time.Now(), a.visitors.last, time.Minute)
	for _, text := range []string{"one", "two"} {
		ask(a, http.MethodPost, contract.AgentPathAnnounce, token(t, key, contract.UserName, time.Minute), there, contract.AgentAnnouncement{Text: text})
	}
	require.Equal(t, contract.AgentAnnouncement{Text: "two", Number: 2}, visit())
}

func TestAnnounce(t *testing.T) {
	a, dir := scaler(t)
	a.Terminals, a.Squeue = filepath.Join(dir, "pts"), filepath.Join(dir, "squeue")
	require.NoError(t, os.Mkdir(a.Terminals, 0o700))
	terminal := filepath.Join(a.Terminals, "0")
	require.NoError(t, os.WriteFile(terminal, nil, 0o600))
	require.NoError(t, os.WriteFile(a.Squeue, []byte("#!/bin/sh\necho '7|1'\necho '8|0'\n"), 0o700))
	mine := token(t, key, contract.UserName, time.Minute)
	w := ask(a, http.MethodPost, contract.AgentPathAnnounce, mine, there, contract.AgentAnnouncement{Text: "demo ends\x1b[2J in 10m"})
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	shown, err := os.ReadFile(terminal)
	require.NoError(t, err)
	require.Equal(t, "\r\ndemo ends[2J in 10m\r\n", string(shown))
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	require.NoError(t, err)
	require.Equal(t, "notify 8 demo ends[2J in 10m\n", string(called), "a script's output is left alone")
	require.Equal(t, http.StatusUnauthorized, ask(a, http.MethodPost, contract.AgentPathAnnounce, "", here, nil).Code)
	require.Equal(t, http.StatusBadRequest, ask(a, http.MethodPost, contract.AgentPathAnnounce, mine, there, strings.Repeat("x", 5000)).Code)
}
