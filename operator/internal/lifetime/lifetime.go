// Package lifetime says when a cluster ends by itself. It is pure.
package lifetime

import (
	"fmt"
	"time"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// longestWarning is how long before its end the users of a cluster are warned at the most; of a short life it is the last tenth.
const longestWarning = 10 * time.Minute

// End is the end of a cluster.
type End struct {
	// At is when it is, and WarnAt when its users are to hear of it.
	At, WarnAt time.Time
	// Idle tells that it comes only if nothing happens until then.
	Idle bool
	// Why is the reason, to follow "because".
	Why string
}

// Of returns the sooner of a cluster's ends, or nil if it has none. created is when the cluster was made, and idleSince since
// when nothing happens in it; zero if something does, or that is not known.
func Of(spec v1alpha1.LifecycleSpec, created, idleSince time.Time) *End {
	var end *End
	if spec.TTL != nil {
		end = after(created, spec.TTL.Duration)
		end.Why = fmt.Sprintf("its ttl of %s is over", Duration(spec.TTL.Duration))
	}
	if spec.IdleTimeout != nil && !idleSince.IsZero() {
		if idle := after(idleSince, spec.IdleTimeout.Duration); end == nil || idle.At.Before(end.At) {
			end = idle
			end.Idle, end.Why = true, fmt.Sprintf("it was idle for %s", Duration(spec.IdleTimeout.Duration))
		}
	}
	return end
}

func after(begin time.Time, d time.Duration) *End {
	at := begin.Add(d)
	return &End{At: at, WarnAt: at.Add(-min(longestWarning, d/10))}
}

// Duration writes a duration as people write it in a spec: 8h, not 8h0m0s.
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}
