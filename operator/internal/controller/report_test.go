package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// TestPassing: only a word on progress is held back, and only for a moment.
func TestPassing(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	with := func(ready, progressing, degraded metav1.ConditionStatus, change func(*v1alpha1.SlurmClusterStatus)) v1alpha1.SlurmClusterStatus {
		s := v1alpha1.SlurmClusterStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: ready}, {Type: v1alpha1.ConditionProgressing, Status: progressing},
			{Type: v1alpha1.ConditionDegraded, Status: degraded},
		}}
		if change != nil {
			change(&s)
		}
		return s
	}
	was := with(no, yes, no, nil)
	for name, c := range map[string]struct {
		is      v1alpha1.SlurmClusterStatus
		passing bool
	}{
		"it has come further":   {with(no, yes, no, func(s *v1alpha1.SlurmClusterStatus) { s.SlurmVersion = "26.05.3" }), true},
		"it is ready":           {with(yes, yes, no, nil), false},
		"nothing is left to do": {with(no, no, no, nil), false},
		"something is wrong":    {with(no, yes, yes, nil), false},
		"its spec is another":   {with(no, yes, no, func(s *v1alpha1.SlurmClusterStatus) { s.Conditions[0].ObservedGeneration = 2 }), false},
		"it has been let in":    {with(no, yes, no, func(s *v1alpha1.SlurmClusterStatus) { s.Granted = &v1alpha1.Granted{} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooks(t, 1)
			for _, at := range []time.Duration{0, passingTime - time.Millisecond, passingTime} {
				l.clock.SetTime(time.Unix(1000, 0).Add(at))
				s := l.scope()
				s.cluster.Status = c.is
				require.Equal(t, c.passing && at < passingTime, s.passing(&was), at)
			}
		})
	}
	require.False(t, newLooks(t, 1).scope().passing(&v1alpha1.SlurmClusterStatus{}), "the first word")
}
