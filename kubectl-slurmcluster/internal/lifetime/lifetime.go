// Package lifetime says when clusters end, in the words of people.
package lifetime

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Parse reads a time above zero, such as 90m, 1h30m or 2d, in whole seconds.
func Parse(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		// Days and weeks, which Go does not know.
		days, errDays := model.ParseDuration(text)
		d, err = time.Duration(days), errDays
	}
	d = d.Truncate(time.Second)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time; write one above zero, such as 30m, 2h or 1d", text)
	}
	return d, nil
}

// Of is the cluster's lifecycle, with what its class has decided where the cluster says nothing.
func Of(cluster *v1alpha1.SlurmCluster) v1alpha1.LifecycleSpec {
	lifecycle := cluster.Spec.Lifecycle
	if granted := cluster.Status.Granted; granted != nil {
		lifecycle.TTL = cmp.Or(lifecycle.TTL, granted.TTL)
		lifecycle.IdleTimeout = cmp.Or(lifecycle.IdleTimeout, granted.IdleTimeout)
	}
	return lifecycle
}

// End is when the cluster's ttl is over, or zero.
func End(cluster *v1alpha1.SlurmCluster) time.Time {
	ttl := Of(cluster).TTL
	if ttl == nil {
		return time.Time{}
	}
	return cluster.CreationTimestamp.Add(ttl.Duration)
}

// Left is how long there is until then, such as 3h12m.
func Left(until time.Time) string {
	return duration.HumanDuration(max(0, time.Until(until)))
}

// Notice says when the cluster ends and what keeps it, or nothing if it does not end by itself. extend is the command
// line that gives it more time.
func Notice(cluster *v1alpha1.SlurmCluster, extend string) string {
	ends := cluster.Status.ExpiresAt
	if ends == nil {
		return ""
	}
	end := End(cluster)
	if !end.IsZero() && (Of(cluster).IdleTimeout == nil || !ends.Time.Before(end.Truncate(time.Second))) {
		// After an extension, the status is older than the spec for a moment.
		return fmt.Sprintf("ends in %s; %s gives it more time", Left(end), extend)
	}
	return fmt.Sprintf("ends in %s if it stays idle; a job, or a shell in its controller pod, keeps it", Left(ends.Time))
}
