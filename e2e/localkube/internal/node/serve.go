package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/control"
)

// serve answers the localkube command on a unix socket, for good.
func (s *supervisor) serve(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening for commands: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+control.StatusPath, s.handleStatus)
	mux.HandleFunc("POST "+control.StartPath+"{name}", s.handleWant(true))
	mux.HandleFunc("POST "+control.StopPath+"{name}", s.handleWant(false))
	server := http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	if err := server.Serve(listener); err != nil {
		return fmt.Errorf("serving commands: %w", err)
	}
	return nil
}

func (s *supervisor) handleStatus(w http.ResponseWriter, r *http.Request) {
	states := make([]control.Component, len(s.order))
	ctx := r.Context()
	var all sync.WaitGroup
	for i, name := range s.order {
		all.Go(func() { states[i] = s.tended[name].state(ctx) })
	}
	all.Wait()
	if err := json.NewEncoder(w).Encode(states); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (t *tended) state(ctx context.Context) control.Component {
	t.mu.Lock()
	state := control.Component{
		Name: t.Name, PID: t.pid, Wanted: t.wanted, Restarts: t.restarts, LastExit: t.lastExit,
	}
	t.mu.Unlock()
	state.Healthy = state.PID != 0 && healthy(ctx, t.Health)
	return state
}

func (s *supervisor) handleWant(wanted bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, known := s.tended[r.PathValue("name")]
		if !known {
			http.Error(w, fmt.Sprintf("there is no component %q; there are %v", r.PathValue("name"), s.order), http.StatusNotFound)
			return
		}
		if err := t.want(wanted); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}
