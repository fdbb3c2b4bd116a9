package node

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

const (
	pollHealth = 50 * time.Millisecond
	// A component that lived this long starts anew with the shortest backoff.
	stable     = 10 * time.Second
	maxBackoff = 5 * time.Second
)

// supervisor keeps every component running that is wanted.
type supervisor struct {
	options layout.Options
	reaper  *reaper
	order   []string
	tended  map[string]*tended
}

// tended is a component and what became of it.
type tended struct {
	components.Component
	mu       sync.Mutex
	pid      int
	restarts int
	lastExit string
	wanted   bool
	changed  chan struct{} // wakes whoever waits for wanted to change
}

func newSupervisor(o layout.Options, r *reaper) *supervisor {
	s := &supervisor{options: o, reaper: r, tended: map[string]*tended{}}
	for _, component := range components.All(o) {
		s.order = append(s.order, component.Name)
		s.tended[component.Name] = &tended{Component: component, wanted: true, changed: make(chan struct{}, 1)}
	}
	return s
}

func (s *supervisor) run(ctx context.Context) {
	for _, name := range s.order {
		go s.tend(ctx, s.tended[name])
	}
}

// tend starts a component again and again, each time after what it needs.
func (s *supervisor) tend(ctx context.Context, t *tended) {
	backoff := newBackoff()
	for ctx.Err() == nil {
		t.waitUntilWanted()
		if err := s.waitForNeeds(ctx, t.Needs); err != nil {
			return
		}
		started := time.Now()
		status, err := s.runOnce(t)
		if err != nil {
			status = err.Error()
		}
		log.Printf("%s: %s", t.Name, status)
		t.exited(status)
		if time.Since(started) > stable {
			backoff = newBackoff()
		}
		t.pause(backoff.Step())
	}
}

func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 10, Cap: maxBackoff}
}

func (s *supervisor) waitForNeeds(ctx context.Context, needs []string) error {
	return wait.PollUntilContextCancel(ctx, pollHealth, true, func(ctx context.Context) (bool, error) {
		for _, need := range needs {
			if !healthy(ctx, s.tended[need].Health) {
				return false, nil
			}
		}
		return true, nil
	})
}

// runOnce runs a component until it exits, and says how it did.
func (s *supervisor) runOnce(t *tended) (string, error) {
	t.mu.Lock()
	if !t.wanted { // stopped while it waited
		t.mu.Unlock()
		return "stopped", nil
	}
	pid, exited, err := s.reaper.start(t.Path, t.Args, s.options.Log(t.Name))
	t.pid = pid
	t.mu.Unlock()
	if err != nil {
		return "", err
	}
	status := <-exited
	if status.Signaled() {
		return "killed by " + unix.SignalName(status.Signal()), nil
	}
	return fmt.Sprintf("exited with code %d", status.ExitStatus()), nil
}

func (t *tended) exited(status string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pid, t.lastExit = 0, status
	if t.wanted {
		t.restarts++
	}
}

func (t *tended) waitUntilWanted() {
	for {
		t.mu.Lock()
		wanted := t.wanted
		t.mu.Unlock()
		if wanted {
			return
		}
		<-t.changed
	}
}

// pause waits out a backoff, unless somebody asks for the component meanwhile.
func (t *tended) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.changed:
	}
}

// want says whether the component shall run; one that shall not is killed.
func (t *tended) want(wanted bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted = wanted
	select {
	case t.changed <- struct{}{}:
	default:
	}
	if wanted || t.pid == 0 {
		return nil
	}
	if err := unix.Kill(t.pid, unix.SIGKILL); err != nil {
		return fmt.Errorf("stopping %s: %w", t.Name, err)
	}
	return nil
}
