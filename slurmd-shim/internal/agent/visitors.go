package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/terminals"
)

const (
	// visitsEvery is how often it is looked who has a shell.
	visitsEvery = 15 * time.Second
	// announcementLimit bounds an announcement, in bytes.
	announcementLimit = 4096
)

// visitors remembers when somebody last had a shell, and what they are to be told.
type visitors struct {
	mu        sync.Mutex
	last      time.Time
	announced contract.AgentAnnouncement
}

// announce remembers an announcement for shells on nodes.
func (v *visitors) announce(what contract.AgentAnnouncement) {
	v.mu.Lock()
	defer v.mu.Unlock()
	what.Number = v.announced.Number + 1
	v.announced = what
}

// serveVisit hears that somebody has a shell on a node, and answers with what was announced last. It wants no token, which a
// node has not: all that it does is to keep a cluster from being idle, as its own users, whom its NetworkPolicy lets
// ask, may do anyway.
func (a *Agent) serveVisit(w http.ResponseWriter, _ *http.Request) {
	a.visitors.mu.Lock()
	a.visitors.last = time.Now()
	announced := a.visitors.announced
	a.visitors.mu.Unlock()
	a.answer(w, announced)
}

// countVisitors counts open shells and remembers when there was one.
func (a *Agent) countVisitors() contract.AgentVisitors {
	shells, err := terminals.List(a.Terminals)
	if err != nil {
		a.Log.Warn("taking somebody to be there", "error", err)
		shells = []string{""}
	}
	a.visitors.mu.Lock()
	defer a.visitors.mu.Unlock()
	now := contract.AgentVisitors{Now: len(shells), SecondsSince: -1}
	if now.Now > 0 {
		a.visitors.last = time.Now()
	}
	if !a.visitors.last.IsZero() {
		now.SecondsSince = int64(time.Since(a.visitors.last).Seconds())
	}
	return now
}

func (a *Agent) serveVisitors(w http.ResponseWriter, _ *http.Request) { a.answer(w, a.countVisitors()) }

func (a *Agent) serveAnnounce(w http.ResponseWriter, r *http.Request) {
	var in contract.AgentAnnouncement
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, announcementLimit)).Decode(&in); err != nil {
		http.Error(w, "an announcement is a JSON object with text: "+err.Error(), http.StatusBadRequest)
		return
	}
	a.visitors.announce(in)
	if err := errors.Join(terminals.Write(a.Terminals, in.Text), a.notifyJobs(r.Context(), in.Text)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// notifyJobs shows a line to who runs a job interactively; in the output of a script, nobody would look for it.
func (a *Agent) notifyJobs(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	jobs, err := a.slurm(ctx, a.Squeue, "--noheader", "--states=RUNNING", "--Format=JobID:|,BatchFlag:")
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(jobs) {
		if id, batch, _ := strings.Cut(strings.TrimSpace(line), "|"); batch == "0" {
			_, err := a.slurm(ctx, a.Scontrol, "notify", id, terminals.Printable(text))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
