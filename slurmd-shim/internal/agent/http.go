package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

const (
	// readyPause is the first pause between two knocks at slurmctld's port; each next one is twice as long, up to readySeldom.
	readyPause  = 25 * time.Millisecond
	readySeldom = 400 * time.Millisecond
)

// Handler answers contract.AgentPathConfig with contract.AgentConfig, /readyz with 200 when slurmctld listens, else 503,
// what autoscaling needs: it makes nodes, and tells when Slurm powers some up or down; and what a cluster's end needs: it
// counts open shells and tells people.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+contract.AgentPathConfig, func(w http.ResponseWriter, _ *http.Request) {
		a.answer(w, a.Status())
	})
	mux.HandleFunc("POST "+contract.AgentPathNodes, a.allowed(a.serveNodes))
	mux.HandleFunc("GET "+contract.AgentPathEvents, a.allowed(a.serveEvents))
	mux.HandleFunc("GET "+contract.AgentPathVisitors, a.allowed(a.serveVisitors))
	mux.HandleFunc("POST "+contract.AgentPathAnnounce, a.allowed(a.serveAnnounce))
	mux.HandleFunc("POST "+contract.AgentPathVisit, a.serveVisit)
	mux.HandleFunc("POST "+contract.AgentPathPower, local(a.servePower))
	mux.HandleFunc("GET "+contract.AgentPathProlog, local(a.serveProlog))
	mux.HandleFunc("GET "+contract.AgentPathReady, a.serveReady)
	return mux
}

// serveReady waits a while for slurmctld to listen: the kubelet, which asks when the container has just started, would otherwise tell
// people that something is unhealthy, and ask again only seconds later.
func (a *Agent) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), a.ReadyWait)
	defer cancel()
	for pause := readyPause; !a.listens(ctx); pause = min(2*pause, readySeldom) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			http.Error(w, "slurmctld does not listen yet", http.StatusServiceUnavailable)
			return
		}
	}
}

func (a *Agent) answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(what); err != nil {
		a.Log.Warn("answer a request", "error", err)
	}
}

// listens knocks at slurmctld's port until it has answered once. One that has begun to listen does so until it ends, and a probe comes
// every few seconds for as long as the cluster lives. The kernel's table of sockets, which would tell without a knock, is not to be asked:
// it is that of the whole machine, and takes milliseconds to read, more of them with more memory.
func (a *Agent) listens(ctx context.Context) bool {
	if !a.listening.Load() && launch.Knock(ctx, "tcp", a.Address) == nil {
		a.listening.Store(true)
	}
	return a.listening.Load()
}

// serve starts the HTTP server; it listens before anything else is done, so that a probe gets an answer.
func (a *Agent) serve() (func(), error) {
	l, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for questions about the configuration: %w", err)
	}
	srv := &http.Server{Handler: a.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.Log.Error("the HTTP server has ended", "error", err)
		}
	}()
	return func() {
		if err := srv.Close(); err != nil {
			a.Log.Error("close the HTTP server", "error", err)
		}
	}, nil
}
