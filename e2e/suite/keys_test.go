//go:build e2e

package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestKeyRotation: all daemons get new keys; the queue and the running job stay, and no pod is replaced.
func TestKeyRotation(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		rotates(e, contract.KeyMunge, use)
	})
}

// TestOwnKeyRotation is TestKeyRotation with auth/slurm.
func TestOwnKeyRotation(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		rotates(e, contract.KeySlurm, use, ownAuth)
	})
}

func rotates(e *harness.Env, file string, changes ...harness.Change) {
	e.Helper()
	c := e.Start("demo", changes...)
	running := c.Submit("until [ -e ~/go ]; do sleep .1; done; hostname; srun echo step", "-w", "cpu-0", "--no-requeue")
	waiting := c.Submit("srun hostname", "-N2")
	c.AwaitJob(running, "RUNNING")
	key := func(file string) string {
		return e.Kubectl("get", "secret", "demo-keys", "--output=jsonpath={.data."+strings.ReplaceAll(file, ".", `\.`)+"}")
	}
	old, jwt := key(file), key(contract.KeyJWT)
	require.NotEmpty(e, old)
	require.NotEmpty(e, jwt)
	before := uid(c, "demo-cpu-0") + uid(c, "demo-cpu-1") + uid(c, "demo-controller-0")

	start := time.Now()
	e.Kubectl("annotate", "slurmcluster", "demo", contract.AnnotationRotateKeys+"=2026-11")
	c.Await("new keys", func(*v1alpha1.SlurmCluster) bool { return key(file) != old && key(contract.KeyJWT) != jwt })
	c.Await("slurmctld started with new keys", func(o *v1alpha1.SlurmCluster) bool {
		return o.Status.ConfigAppliedBy == string(contract.AppliedByRestart)
	})
	c.Eventually(harness.Patience, "a step on the other node", func() error {
		_, err := c.Try("srun", "-N1", "-w", "cpu-1", "true")
		return err
	})
	e.Logf("the cluster runs jobs with new keys after %s", time.Since(start).Round(10*time.Millisecond))
	c.AwaitSettled()
	unharmed(c, running)
	require.Equal(e, "PENDING", c.JobField(waiting, "JobState"))
	require.Equal(e, before, uid(c, "demo-cpu-0")+uid(c, "demo-cpu-1")+uid(c, "demo-controller-0"))
	c.RunOn("cpu-0", "touch", "go")
	c.AwaitJob(running, "COMPLETED")
	c.AwaitJob(waiting, "COMPLETED")
	again := key(file)
	e.Kubectl("annotate", "slurmcluster", "demo", "note=x")
	require.Equal(e, again, key(file))
}
