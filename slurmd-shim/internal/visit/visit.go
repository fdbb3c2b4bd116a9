// Package visit tells slurmctld's agent that somebody has a shell on this node, so that the cluster is not taken to be idle, and
// shows in these shells what was announced.
package visit

import (
	"context"
	"log/slog"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/terminals"
)

const (
	lookEvery = 10 * time.Second
	askTime   = 5 * time.Second
)

// Visitors are those of one node.
type Visitors struct {
	// Terminals is terminals.Dir, but in tests.
	Terminals string
	Agent     ask.Agent
	Log       *slog.Logger

	// seen is the number of the last announcement, or -1 while nobody has been here who could have seen any.
	seen int
}

// Run looks and tells until ctx ends.
func (v *Visitors) Run(ctx context.Context) {
	v.seen = -1
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := v.look(ctx); err != nil {
			v.Log.Warn("tell slurmctld's agent that somebody is here", "error", err)
		}
	}
}

// look does nothing where nobody is.
func (v *Visitors) look(ctx context.Context) error {
	shells, err := terminals.List(v.Terminals)
	if err != nil || len(shells) == 0 {
		v.seen = -1
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var announced contract.AgentAnnouncement
	if err := v.Agent.Post(ctx, contract.AgentPathVisit, nil, &announced); err != nil {
		return err
	}
	news := v.seen >= 0 && announced.Number != v.seen // what was said before somebody came is not news
	v.seen = announced.Number
	if !news {
		return nil
	}
	return terminals.Write(v.Terminals, announced.Text)
}
