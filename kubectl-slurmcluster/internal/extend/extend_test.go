package extend

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

// lifecycle makes a cluster of three minutes' age end after these times; zero is never.
func lifecycle(ttl, idle time.Duration) *v1alpha1.SlurmCluster {
	return clitest.Cluster(func(c *v1alpha1.SlurmCluster) {
		if ttl != 0 {
			c.Spec.Lifecycle.TTL = &metav1.Duration{Duration: ttl}
		}
		if idle != 0 {
			c.Spec.Lifecycle.IdleTimeout = &metav1.Duration{Duration: idle}
		}
	})
}

func TestExtend(t *testing.T) {
	const date = `\w{3}, \d+ \w{3} \d{4}, \d\d:\d\d \w+`
	for args, test := range map[string]struct {
		cluster *v1alpha1.SlurmCluster
		ttl     time.Duration
		out     string
	}{
		"demo 2h":         {lifecycle(time.Hour, 0), 3 * time.Hour, `^slurmcluster.slurmcluster.dev/demo extended\ndemo ends in 176m, on ` + date + `\n$`},
		"demo 1d":         {lifecycle(time.Hour, 90*time.Minute), 25 * time.Hour, `ends in 24h, on ` + date + ",\nor when it has been idle for 90m\n$"},
		"demo 1h30m":      {lifecycle(time.Minute, 0), 91 * time.Minute, "ends in 87m"},
		"demo 2h -o name": {lifecycle(time.Hour, 0), 3 * time.Hour, "^slurmcluster.slurmcluster.dev/demo\n$"},
	} {
		t.Run(args, func(t *testing.T) {
			w := clitest.New(t, nil, []runtime.Object{test.cluster})
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...))
			assert.Equal(t, test.ttl, w.Get(t).Spec.Lifecycle.TTL.Duration)
			assert.Regexp(t, test.out, w.Out.String())
		})
	}
}

func TestRefused(t *testing.T) {
	for args, test := range map[string]struct {
		cluster *v1alpha1.SlurmCluster
		want    string
	}{
		"demo 0":   {lifecycle(time.Hour, 0), `"0" is not a time; write one above zero, such as 30m, 2h or 1d`},
		"demo 2":   {lifecycle(time.Hour, 0), `"2" is not a time`},
		"demo 1ms": {lifecycle(time.Hour, 0), `"1ms" is not a time`},
		"demo 1h":  {lifecycle(0, 0), "demo has no time to live that could be extended: it stays until it is deleted"},
		"demo 2h":  {lifecycle(0, time.Hour), "it ends when it has been idle for 60m; a job, or a shell in its controller pod, keeps it"},
		"demo 60s": {lifecycle(time.Second, 0), `the time of demo was over \d+m\w* ago; 1m0s more is not enough`},
		"demo":     {lifecycle(time.Hour, 0), "accepts 2 arg"},
	} {
		t.Run(args, func(t *testing.T) {
			w := clitest.New(t, nil, []runtime.Object{test.cluster})
			err := clitest.Run(t, Command(w.Env), strings.Fields(args)...)
			require.Error(t, err)
			assert.Regexp(t, test.want, err.Error())
			assert.Equal(t, test.cluster.Spec, w.Get(t).Spec)
		})
	}
	w := clitest.New(t, nil, []runtime.Object{lifecycle(time.Hour, 0)})
	assert.ErrorContains(t, clitest.Run(t, Command(w.Env), "demo", "--", "-2h"), `"-2h" is not a time`)
}
