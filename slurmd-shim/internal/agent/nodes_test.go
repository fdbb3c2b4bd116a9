package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// scaler is an agent with scripts for Slurm's commands: scontrol writes down how it is called, sinfo prints a file.
func scaler(t *testing.T) (a *Agent, dir string) {
	dir = t.TempDir()
	for name, script := range map[string]string{
		"scontrol": "#!/bin/sh\n[ -e " + dir + "/broken ] && { echo 'Invalid node' >&2; exit 1; }\necho \"$@\" > " + dir + "/called\n",
		"sinfo":    "#!/bin/sh\necho \"$@\" >> " + dir + "/asked\ncat " + dir + "/states\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), bytes.Repeat([]byte("k"), 64), 0o600))
	return &Agent{
		Scontrol: filepath.Join(dir, "scontrol"), Sinfo: filepath.Join(dir, "sinfo"), JWTCopy: filepath.Join(dir, "key"),
		Log: slog.New(slog.DiscardHandler),
	}, dir
}

func token(t *testing.T, key, user string, life time.Duration) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sun": user, "exp": time.Now().Add(life).Unix()}).SignedString([]byte(key))
	require.NoError(t, err)
	return text
}

var key = string(bytes.Repeat([]byte("k"), 64))

func ask(a *Agent, method, path, token, from string, body any) *httptest.ResponseRecorder {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(text))
	r.Header.Set(contract.TokenHeader, token)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, r)
	return w
}

const here, there = "127.0.0.1:1", "10.0.0.9:1"

func TestNodes(t *testing.T) {
	a, dir := scaler(t)
	good := contract.CloudNodes{Names: []string{"cpu-0", "cpu-1"}, CPUs: 2, MemoryMB: 480, Features: []string{"cpu", "avx2"}, Gres: "gpu:2,fpga:1"}
	mine := token(t, key, contract.UserName, time.Minute)
	require.Equal(t, http.StatusOK, ask(a, http.MethodPost, contract.AgentPathNodes, mine, there, good).Code)
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	require.NoError(t, err)
	require.Equal(t, "create NodeName=cpu-0,cpu-1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=480 Feature=cpu,avx2 State=CLOUD Gres=gpu:2,fpga:1\n", string(called))

	for name, wrong := range map[string]string{
		"none": "", "of another key": token(t, "x"+key, contract.UserName, time.Minute),
		"of another user": token(t, key, "root", time.Minute), "too old": token(t, key, contract.UserName, -time.Minute),
	} {
		w := ask(a, http.MethodPost, contract.AgentPathNodes, wrong, here, good)
		require.Equal(t, http.StatusUnauthorized, w.Code, name)
		require.Equal(t, http.StatusUnauthorized, ask(a, http.MethodGet, contract.AgentPathEvents+"?after=0", wrong, here, nil).Code, name)
	}
	for name, change := range map[string]func(*contract.CloudNodes){
		"another key in a name": func(n *contract.CloudNodes) { n.Names = []string{"cpu-0 State=IDLE"} },
		"a line in a feature":   func(n *contract.CloudNodes) { n.Features = []string{"a\nNodeName=b"} },
		"no feature":            func(n *contract.CloudNodes) { n.Features = nil },
		"no node":               func(n *contract.CloudNodes) { n.Names = nil },
		"no CPU":                func(n *contract.CloudNodes) { n.CPUs = 0 },
		"another key in a GRES": func(n *contract.CloudNodes) { n.Gres = "gpu:1 State=IDLE" },
	} {
		bad := good
		change(&bad)
		require.Equal(t, http.StatusBadRequest, ask(a, http.MethodPost, contract.AgentPathNodes, mine, there, bad).Code, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600))
	w := ask(a, http.MethodPost, contract.AgentPathNodes, mine, there, good)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "scontrol: exit status 1: Invalid node")
}

func TestEvents(t *testing.T) {
	a, _ := scaler(t)
	mine := token(t, key, contract.UserName, time.Minute)
	count := make(chan uint64)
	wait := func(after uint64) {
		var events contract.AgentEvents
		if err := json.Unmarshal(ask(a, http.MethodGet, fmt.Sprintf("%s?after=%d", contract.AgentPathEvents, after), mine, there, nil).Body.Bytes(), &events); err != nil {
			panic(err)
		}
		count <- events.Count
	}
	for range 2 {
		go wait(0)
	}
	require.Equal(t, http.StatusForbidden, ask(a, http.MethodPost, contract.AgentPathPower, mine, there, nil).Code, "only Slurm says so")
	time.Sleep(50 * time.Millisecond)
	require.Empty(t, count)
	require.Equal(t, http.StatusOK, ask(a, http.MethodPost, contract.AgentPathPower, "", here, nil).Code)
	require.EqualValues(t, 1, <-count)
	require.EqualValues(t, 1, <-count)
	go wait(0)
	require.EqualValues(t, 1, <-count, "what happened while nobody waited")
	require.Equal(t, http.StatusBadRequest, ask(a, http.MethodGet, contract.AgentPathEvents, mine, there, nil).Code)
}

func TestProlog(t *testing.T) {
	a, dir := scaler(t)
	states := func(text string) { require.NoError(t, os.WriteFile(filepath.Join(dir, "states"), []byte(text), 0o600)) }
	done := make(chan int, 1)
	wait := func(nodes string) {
		done <- ask(a, http.MethodGet, contract.AgentPathProlog+"?nodes="+url.QueryEscape(nodes), "", here, nil).Code
	}
	states("allocated~\nallocated\n")
	go wait("cpu-[0-1]")
	time.Sleep(3 * firstLook)
	states("allocated#\nallocated\n")
	time.Sleep(3 * firstLook)
	require.Empty(t, done)
	states("allocated\nmixed\n")
	require.Equal(t, http.StatusOK, <-done)
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	require.NoError(t, err)
	wait("cpu-[0-1]")
	require.Equal(t, http.StatusOK, <-done)
	again, err := os.ReadFile(filepath.Join(dir, "asked"))
	require.NoError(t, err)
	require.Equal(t, asked, again, "nodes that have just been ready are not looked at again")

	states("allocated#\ndown#\n")
	wait("cpu-[2-3]")
	require.Equal(t, http.StatusOK, <-done, "the job was taken from a node that did not start")
	states("idle~\n")
	wait("cpu-4")
	require.Equal(t, http.StatusOK, <-done)
	wait("cpu-0 --help")
	require.Equal(t, http.StatusBadRequest, <-done)
	require.Equal(t, http.StatusForbidden, ask(a, http.MethodGet, contract.AgentPathProlog+"?nodes=cpu-0", "", there, nil).Code)
	require.NoError(t, os.Remove(filepath.Join(dir, "states")))
	wait("cpu-5")
	require.Equal(t, http.StatusInternalServerError, <-done)
}
