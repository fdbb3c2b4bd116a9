package lifetime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{"30m": 30 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "2d": 48 * time.Hour, "1w": 168 * time.Hour, "90s": 90 * time.Second} {
		got, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "0s", "-1h", "2", "soon", "900ms", "1d-2h", "99999999999d"} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, "write one above zero, such as 30m, 2h or 1d", text)
	}
}

func TestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(d)} }
		duration := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
		const kept, idle = "ends in 3h; extend it gives it more time", "ends in 20m if it stays idle; a job, or a shell in its controller pod, keeps it"
		for name, test := range map[string]struct {
			lifecycle v1alpha1.LifecycleSpec
			expires   *metav1.Time
			want      string
		}{
			"never":            {},
			"ttl":              {v1alpha1.LifecycleSpec{TTL: duration(4 * time.Hour)}, in(3 * time.Hour), kept},
			"just extended":    {v1alpha1.LifecycleSpec{TTL: duration(4 * time.Hour)}, in(time.Hour), kept},
			"idle":             {v1alpha1.LifecycleSpec{IdleTimeout: duration(time.Hour)}, in(20 * time.Minute), idle},
			"idle, not now":    {v1alpha1.LifecycleSpec{IdleTimeout: duration(time.Hour)}, nil, ""},
			"both, idle first": {v1alpha1.LifecycleSpec{TTL: duration(4 * time.Hour), IdleTimeout: duration(time.Hour)}, in(20 * time.Minute), idle},
			"both, ttl first":  {v1alpha1.LifecycleSpec{TTL: duration(4 * time.Hour), IdleTimeout: duration(time.Hour)}, in(3 * time.Hour), kept},
		} {
			cluster := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *in(-time.Hour)}, Spec: v1alpha1.SlurmClusterSpec{Lifecycle: test.lifecycle}}
			cluster.Status.ExpiresAt = test.expires
			assert.Equal(t, test.want, Notice(cluster, "extend it"), name)
		}
		assert.Equal(t, "0s", Left(time.Now().Add(-time.Hour)))
	})
}

func TestOfClass(t *testing.T) {
	hour, day := &metav1.Duration{Duration: time.Hour}, &metav1.Duration{Duration: 24 * time.Hour}
	cluster := &v1alpha1.SlurmCluster{}
	assert.Equal(t, v1alpha1.LifecycleSpec{}, Of(cluster))
	cluster.Status.Granted = &v1alpha1.Granted{TTL: day, IdleTimeout: hour}
	assert.Equal(t, v1alpha1.LifecycleSpec{TTL: day, IdleTimeout: hour}, Of(cluster), "what the class has decided")
	cluster.Spec.Lifecycle.TTL = hour
	assert.Equal(t, hour, Of(cluster).TTL)
	assert.Equal(t, cluster.CreationTimestamp.Add(time.Hour), End(cluster))
}
