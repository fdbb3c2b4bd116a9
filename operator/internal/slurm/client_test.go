package slurm

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// serve answers every request, whatever its port, with one status and body, and returns a client and where
// the last request is kept.
func serve(t *testing.T, status int, body string) (*Client, *http.Request, *string) {
	t.Helper()
	var request http.Request
	var sent string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		request, sent = *r, string(text)
		w.WriteHeader(status)
		_, err = io.WriteString(w, body)
		assert.NoError(t, err)
	}))
	t.Cleanup(s.Close)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
	c := &Client{Address: "10.0.0.1", Key: key, Now: time.Now, HTTP: &http.Client{Transport: &http.Transport{DialContext: dial}}}
	return c, &request, &sent
}

const meta = `"meta":{"slurm":{"release":"24.11.5"}}`

func TestNodes(t *testing.T) {
	c, request, _ := serve(t, 200, `{`+meta+`,"errors":[],"nodes":[{"name":"cpu-0","address":"10.244.0.9","state":["IDLE","DRAIN","DYNAMIC_NORM"],
		"reason":"slurmcluster: registering","cpus":1,"real_memory":480,"slurmd_start_time":{"set":true,"infinite":false,"number":1795218528}}]}`)
	nodes, version, err := c.Nodes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "24.11.5", version)
	require.Len(t, nodes, 1)
	n := nodes[0]
	assert.True(t, n.Draining() && n.Ours() && !n.Busy() && !n.Down() && !n.Usable())
	assert.Equal(t, "/slurm/v0.0.42/nodes/", request.URL.Path)

	token, err := jwt.Parse(request.Header.Get("X-SLURM-USER-TOKEN"), func(*jwt.Token) (any, error) { return key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	require.NoError(t, err)
	assert.Equal(t, "user", token.Claims.(jwt.MapClaims)["sun"])
}

func TestNode(t *testing.T) {
	c, request, _ := serve(t, 200, `{`+meta+`,"errors":[],"nodes":[{"name":"cpu-0","state":["IDLE"]}]}`)
	node, err := c.Node(t.Context(), "cpu-0")
	require.NoError(t, err)
	assert.Equal(t, "cpu-0", node.Name)
	assert.Equal(t, "/slurm/v0.0.42/node/cpu-0", request.URL.Path)

	c, _, _ = serve(t, 200, `{`+meta+`,"errors":[{"description":"Failure to query node cpu-0","error_number":0,"error":"No error","source":"_dump_nodes"}]}`)
	_, err = c.Node(t.Context(), "cpu-0")
	require.ErrorIs(t, err, ErrNoNode)

	c, _, _ = serve(t, 500, `{`+meta+`,"errors":[{"description":"Failure to query node cpu-0","error_number":1007,"error":"Unable to contact slurm controller"}]}`)
	_, err = c.Node(t.Context(), "cpu-0")
	require.ErrorIs(t, err, ErrUnavailable)
	require.NotErrorIs(t, err, ErrNoNode)
}

func TestJobs(t *testing.T) {
	c, _, _ := serve(t, 200, `{`+meta+`,"jobs":[{"job_id":"1","state":["RUNNING"]},{"job_id":"2_[1-9]","state":["PENDING"]},{"job_id":"3","state":["COMPLETED","COMPLETING"]},{"job_id":"4","state":["FAILED"]}]}`)
	jobs, err := c.Jobs(t.Context())
	require.NoError(t, err)
	var running, pending int
	for _, j := range jobs {
		if j.Running() {
			running++
		}
		if j.Pending() {
			pending++
		}
	}
	assert.Equal(t, []int{2, 1}, []int{running, pending})
}

func TestUpdateNode(t *testing.T) {
	c, request, sent := serve(t, 200, `{`+meta+`,"errors":[]}`)
	require.NoError(t, c.UpdateNode(t.Context(), "cpu-0", StateDrain, "slurmcluster: scale-in"))
	assert.Equal(t, "POST /slurm/v0.0.42/node/cpu-0", request.Method+" "+request.URL.Path)
	assert.JSONEq(t, `{"state":["DRAIN"],"reason":"slurmcluster: scale-in"}`, *sent)
	require.NoError(t, c.DeleteNode(t.Context(), "cpu-0"))
	assert.Equal(t, "DELETE", request.Method)
}

// Whatever is not slurmctld's own verdict is unavailable, so that nothing follows from it.
func TestErrors(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		want       error
	}{
		{"busy", `{` + meta + `,"errors":[{"error":"Requested nodes are busy","error_number":2016,"description":"x"}]}`, 500, ErrRefused},
		{"error without a number", `{` + meta + `,"errors":[{"error":"x"}]}`, 500, ErrRefused},
		{"status without an error", `{` + meta + `}`, 404, ErrRefused},
		{"slurmctld gone", `{` + meta + `,"errors":[{"error":"Unable to contact slurm controller","error_number":1800}]}`, 200, ErrUnavailable},
		{"bad token", `{` + meta + `,"errors":[{"error":"Protocol authentication error","error_number":1007}]}`, 511, ErrUnavailable},
		{"somebody else", `<html>404</html>`, 404, ErrUnavailable},
		{"somebody else with JSON", `{"nodes":[]}`, 200, ErrUnavailable},
		{"nothing", ``, 200, ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _, _ := serve(t, tt.status, tt.body)
			require.ErrorIs(t, c.DeleteNode(t.Context(), "cpu-0"), tt.want)
			_, err := c.Jobs(t.Context())
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	c, _, _ := serve(t, 200, "")
	c.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }}}
	_, _, err := c.Nodes(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = c.Config(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestConfig(t *testing.T) {
	c, request, _ := serve(t, 200, `{"runningHash":"a","rejectedHash":"b","reason":"why"}`)
	config, err := c.Config(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "why"}, []string{config.RunningHash, config.RejectedHash, config.Reason})
	assert.Empty(t, request.Header.Get("X-SLURM-USER-TOKEN"), "the agent needs no token and gets none")

	c, _, _ = serve(t, 200, `{}`)
	_, err = c.Config(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestShortKey(t *testing.T) {
	_, err := newToken([]byte("short"), time.Now())
	require.ErrorContains(t, err, "at least 32")
}

func TestTokenIsUsedAgain(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := &Client{Key: make([]byte, 32), Now: func() time.Time { return now }}
	first, err := c.currentToken()
	require.NoError(t, err)
	for _, step := range []struct {
		after time.Duration
		same  bool
	}{{tokenUse - time.Second, true}, {time.Second, false}, {-time.Hour, false}} {
		now = now.Add(step.after)
		token, err := c.currentToken()
		require.NoError(t, err)
		assert.Equal(t, step.same, token == first, "%v later", step.after)
		first = token
	}
}

// FuzzAnswer: no answer makes the client panic, and none that does not say Slurm's release is believed.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{`+meta+`,"nodes":[{"name":"a","state":["IDLE"]}]}`)
	f.Add(500, `{"errors":[{"error_number":-1}]}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		c, _, _ := serve(t, status, body)
		if _, version, err := c.Nodes(t.Context()); err == nil {
			assert.NotEmpty(t, version)
		}
	})
}

func TestDelayed(t *testing.T) {
	at := func(s int64) Time { return Time{Set: true, Number: s} }
	requeued := JobInfo{JobState: []string{"PENDING"}, Restarts: 1, StateReason: "BeginTime", SubmitTime: at(1000), EligibleTime: at(1011)}
	require.True(t, requeued.Delayed(2*time.Minute))
	for name, change := range map[string]func(*JobInfo){
		"the user's own begin":     func(j *JobInfo) { j.Restarts = 0 },
		"the user's own, requeued": func(j *JobInfo) { j.EligibleTime = at(1000 + 3600) },
		"waits for nodes":          func(j *JobInfo) { j.StateReason = "Resources" },
		"still completing":         func(j *JobInfo) { j.JobState = []string{"PENDING", "COMPLETING"} },
	} {
		j := requeued
		change(&j)
		require.False(t, j.Delayed(2*time.Minute), name)
	}
	require.True(t, Time{Set: true, Infinite: true, Number: 5}.Time().IsZero())
}

func TestOurs(t *testing.T) {
	for reason, want := range map[string]bool{"slurmcluster: update": true, "Duplicate jobid": true, "Duplicate jobid : Not responding": true,
		"bad disk": false, "bad disk : Not responding": false, "Not responding": false, "": false} {
		assert.Equal(t, want, (&Node{Reason: reason}).Ours(), reason)
	}
}
