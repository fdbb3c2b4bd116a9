package agent

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// bell counts events and wakes who waits for the next.
type bell struct {
	mu    sync.Mutex
	count uint64
	next  chan struct{}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// wait returns the count once it is not after, or when ctx ends.
func (b *bell) wait(ctx context.Context, after uint64) uint64 {
	b.mu.Lock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	count, next := b.count, b.next
	b.mu.Unlock()
	if count != after {
		return count
	}
	select {
	case <-next:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

func (a *Agent) serveEvents(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		http.Error(w, "after: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), contract.AgentEventsWait*time.Second)
	defer cancel()
	a.answer(w, contract.AgentEvents{Count: a.events.wait(ctx, after)})
}

func (a *Agent) servePower(http.ResponseWriter, *http.Request) {
	a.readiness.forget()
	a.events.ring()
}
