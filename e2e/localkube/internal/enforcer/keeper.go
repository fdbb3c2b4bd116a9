package enforcer

import (
	"context"
	"log"
	"reflect"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

const (
	// debounce is how long it waits for further changes, which come in swarms. It is shorter than a container takes to
	// start after its pod got an address.
	debounce = 50 * time.Millisecond
	// longestDebounce is that on a machine that is busy, where containers take longer too. There it waits four times as
	// long as the last change cost, so as not to keep the machine busy itself.
	longestDebounce = 400 * time.Millisecond
	// repair is how often the rules are put in place again, should somebody have taken them away.
	repair = time.Minute
)

// keeper keeps what is applied as it is decided.
type keeper struct {
	changed signal
	decide  func() (policy.Rules, error)
	apply   func(context.Context, policy.Rules) error
}

// run returns why it ended: the context, or an error. It does not try again, since the supervisor does.
func (k keeper) run(ctx context.Context) error {
	var applied *policy.Rules
	ticker := time.NewTicker(repair)
	defer ticker.Stop()
	for {
		looked := time.Now()
		rules, err := k.decide()
		if err != nil {
			return err
		}
		if applied == nil || !reflect.DeepEqual(rules, *applied) {
			began := time.Now()
			if err := k.apply(ctx, rules); err != nil {
				return err
			}
			applied = &rules
			log.Printf("in force after %s: %d policies for egress, %d for ingress, %d pods",
				time.Since(began).Round(time.Millisecond), len(rules.Egress), len(rules.Ingress), len(rules.Pods))
		}
		wait := min(max(4*time.Since(looked), debounce), longestDebounce)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-k.changed:
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(wait):
				k.changed.lower()
			}
		case <-ticker.C:
			applied = nil
		}
	}
}
