package agent

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

const (
	// firstLook and lastLook are how long to wait between looks at nodes that are being switched on, at first and
	// after a while.
	firstLook, lastLook = 100 * time.Millisecond, time.Second
	// trust is how long nodes that were ready are taken to be so still: a stream of short jobs costs nothing.
	trust = 5 * time.Second
)

// nodeList is a list of nodes in Slurm's words.
var nodeList = pattern.New(`^[a-z][-a-z0-9,\[\]]*$`)

// readiness waits for nodes to be ready.
type readiness struct {
	// one look at a time: many jobs may wait.
	looking sync.Mutex
	mu      sync.Mutex
	ready   map[string]time.Time
}

// recently tells whether nodes were just found ready.
func (r *readiness) recently(nodes string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.ready[nodes]) < trust
}

func (r *readiness) found(nodes string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for list, when := range r.ready {
		if time.Since(when) > trust {
			delete(r.ready, list)
		}
	}
	if r.ready == nil {
		r.ready = map[string]time.Time{}
	}
	r.ready[nodes] = time.Now()
}

func (r *readiness) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ready)
}

// awaitReady returns when nodes have been switched on, or will not be.
func (a *Agent) awaitReady(ctx context.Context, nodes string) error {
	if a.readiness.recently(nodes) {
		return nil
	}
	for pause := firstLook; ; pause = min(pause*5/4, lastLook) {
		starting, err := a.starting(ctx, nodes)
		if err != nil {
			return err
		}
		if !starting {
			a.readiness.found(nodes)
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// starting tells whether one of nodes is being switched on for a job.
func (a *Agent) starting(ctx context.Context, nodes string) (bool, error) {
	a.readiness.looking.Lock()
	defer a.readiness.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	states, err := a.slurm(ctx, a.Sinfo, "--noheader", "--Node", "--nodes="+nodes, "--format=%T")
	if err != nil {
		return false, err
	}
	starting := false
	for state := range strings.FieldsSeq(states) {
		if strings.HasPrefix(state, "down") || strings.HasPrefix(state, "idle~") {
			return false, nil // its job has been taken from it
		}
		starting = starting || strings.HasSuffix(state, "~") || strings.HasSuffix(state, "#")
	}
	return starting, nil
}

func (a *Agent) serveProlog(w http.ResponseWriter, r *http.Request) {
	nodes := r.URL.Query().Get("nodes")
	if !nodeList().MatchString(nodes) {
		http.Error(w, "nodes is no list of nodes", http.StatusBadRequest)
		return
	}
	if err := a.awaitReady(r.Context(), nodes); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
