package enforcer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// watched is a keeper, and what it did.
type watched struct {
	keeper
	wanted  string // the name of the one policy that there is
	decided int
	applied []string
	failure error
}

func newWatched() *watched {
	w := &watched{}
	w.changed = newSignal()
	w.decide = func() (policy.Rules, error) {
		w.decided++
		return policy.Rules{Ingress: []policy.Policy{{Name: w.wanted}}}, nil
	}
	w.apply = func(_ context.Context, rules policy.Rules) error {
		w.applied = append(w.applied, rules.Ingress[0].Name)
		return w.failure
	}
	return w
}

func TestKeeperAppliesWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		expect := func(when string, decided int, applied ...string) {
			t.Helper()
			synctest.Wait()
			if w.decided != decided || len(w.applied) != len(applied) || w.applied[len(applied)-1] != applied[len(applied)-1] {
				t.Errorf("%s: decided %d times and applied %q, want %d and %q", when, w.decided, w.applied, decided, applied)
			}
		}
		expect("at the start", 1, "")

		w.wanted = "one"
		for range 10 {
			w.changed.raise()
			time.Sleep(debounce / 20)
		}
		expect("before it waited for more", 1, "")
		time.Sleep(debounce)
		expect("after many changes", 2, "", "one")

		w.changed.raise()
		time.Sleep(2 * debounce)
		expect("after a change that is none", 3, "", "one")

		time.Sleep(repair)
		expect("after a while, whatever happened to the kernel's", 4, "", "one", "one")

		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestKeeperWaitsLongerWhereChangesCostMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		decide := w.decide
		w.decide = func() (policy.Rules, error) {
			time.Sleep(80 * time.Millisecond)
			return decide()
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		for began := time.Now(); time.Since(began) < 4*time.Second; time.Sleep(10 * time.Millisecond) {
			w.changed.raise()
		}
		if w.decided < 9 || w.decided > 11 {
			t.Errorf("in 4 s of changes it decided %d times, want one in 400 ms", w.decided)
		}
		cancel()
		<-ended
	})
}

func TestKeeperEndsWhenItCannotApply(t *testing.T) {
	w := newWatched()
	w.failure = errors.New("no nftables")
	if err := w.run(t.Context()); !errors.Is(err, w.failure) {
		t.Errorf("got %v", err)
	}
}
