package lifetime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func spec(ttl, idle time.Duration) (s v1alpha1.LifecycleSpec) {
	if ttl != 0 {
		s.TTL = &metav1.Duration{Duration: ttl}
	}
	if idle != 0 {
		s.IdleTimeout = &metav1.Duration{Duration: idle}
	}
	return s
}

func TestOf(t *testing.T) {
	at := noon.Add
	for name, test := range map[string]struct {
		spec      v1alpha1.LifecycleSpec
		idleSince time.Time
		want      *End
	}{
		"none":                    {spec(0, 0), noon, nil},
		"ttl":                     {spec(8*time.Hour, 0), noon, &End{At: at(8 * time.Hour), WarnAt: at(7*time.Hour + 50*time.Minute), Why: "its ttl of 8h is over"}},
		"short":                   {spec(20*time.Second, 0), noon, &End{At: at(20 * time.Second), WarnAt: at(18 * time.Second), Why: "its ttl of 20s is over"}},
		"busy":                    {spec(0, time.Minute), time.Time{}, nil},
		"busy, with a ttl":        {spec(time.Hour, time.Minute), time.Time{}, &End{At: at(time.Hour), WarnAt: at(54 * time.Minute), Why: "its ttl of 1h is over"}},
		"idle":                    {spec(0, 90*time.Minute), at(time.Hour), &End{At: at(150 * time.Minute), WarnAt: at(141 * time.Minute), Idle: true, Why: "it was idle for 1h30m"}},
		"idle, sooner than ttl":   {spec(8*time.Hour, time.Hour), at(time.Hour), &End{At: at(2 * time.Hour), WarnAt: at(114 * time.Minute), Idle: true, Why: "it was idle for 1h"}},
		"idle, later than ttl":    {spec(2*time.Hour, 90*time.Minute), at(time.Hour), &End{At: at(2 * time.Hour), WarnAt: at(110 * time.Minute), Why: "its ttl of 2h is over"}},
		"nothing of it":           {spec(0, 0), time.Time{}, nil},
		"idle since its creation": {spec(0, 10*time.Minute), noon, &End{At: at(10 * time.Minute), WarnAt: at(9 * time.Minute), Idle: true, Why: "it was idle for 10m"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, Of(test.spec, noon, test.idleSince)) })
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 8 * time.Hour: "8h", 90 * time.Minute: "1h30m", 30 * time.Second: "30s", 10 * time.Minute: "10m",
		10*time.Minute + time.Second: "10m1s", 20 * time.Hour: "20h", 20 * time.Minute: "20m", 1500 * time.Millisecond: "1.5s",
	} {
		require.Equal(t, want, Duration(d))
	}
}
