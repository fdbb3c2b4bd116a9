//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// releases are an image of an older release of Slurm and one of a newer.
func releases(t *testing.T) (older, newer string) {
	t.Helper()
	images := harness.Images(t)
	if len(images) < 2 {
		t.Skip("SLURM_IMAGES names no two images, an older one first")
	}
	return images[0], images[1]
}

func image(name string) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { s.Image = name }
}

// made is when a pod was made.
func made(c *harness.Cluster, pod string) metav1.Time {
	o := &corev1.Pod{}
	require.NoError(c, c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: pod}, o))
	return o.CreationTimestamp
}

// nodeVersions are those that slurmctld knows of its nodes.
func nodeVersions(c *harness.Cluster) []string {
	return strings.Fields(c.Run("sinfo", "--noheader", "--Node", "--Format=Version:20"))
}

// TestNewerSlurm: slurmctld goes first, nodes follow as they become free, and a job of before goes on all the while.
// A queue on a volume cannot go back, and that is said before anything is touched.
func TestNewerSlurm(t *testing.T) {
	older, newer := releases(t)
	t.Parallel()
	c := harness.New(t).Start("demo", image(older), storage("100Mi", false))
	was := c.Get().Status.SlurmVersion
	job := c.Submit("until [ -e ~/go ]; do sleep .1; done; echo ended by itself", "-w", "cpu-0", "--no-requeue")
	c.AwaitJob(job, "RUNNING")
	idle := uid(c, "demo-cpu-1")
	c.Update(image(newer))
	c.Await("slurmctld runs the newer image", func(o *v1alpha1.SlurmCluster) bool {
		return o.Status.Image == newer && o.Status.SlurmVersion > was
	})
	replaced(c, "demo-cpu-1", idle)
	first, then := made(c, "demo-controller-0"), made(c, "demo-cpu-1")
	require.False(t, then.Before(&first), "slurmctld first: it was made at %s, the node at %s", first, then)
	unharmed(c, job)
	c.RunOn("cpu-0", "touch", "go")
	c.AwaitJob(job, "COMPLETED")
	c.AwaitSettled()
	is := c.Get().Status.SlurmVersion
	require.Equal(t, []string{is, is}, nodeVersions(c))
	require.Equal(t, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))

	before := []string{uid(c, "demo-controller-0"), uid(c, "demo-cpu-0"), uid(c, "demo-cpu-1")}
	c.Update(image(older))
	c.AwaitDegraded(v1alpha1.ReasonApplyFailed, "has Slurm "+was, "cannot read the queue that Slurm "+is+" keeps")
	c.Update(image(newer))
	c.AwaitSettled()
	require.Equal(t, before, []string{uid(c, "demo-controller-0"), uid(c, "demo-cpu-0"), uid(c, "demo-cpu-1")})
}

// TestOlderSlurm: going back, the nodes go first, and slurmctld once all have followed and the queue, which nothing keeps, is
// empty. An image that cannot be had changes nothing.
func TestOlderSlurm(t *testing.T) {
	older, newer := releases(t)
	t.Parallel()
	c := harness.New(t).Start("demo", image(newer))
	was := c.Get().Status.SlurmVersion
	before := []string{uid(c, "demo-controller-0"), uid(c, "demo-cpu-0"), uid(c, "demo-cpu-1")}
	c.Update(image("localhost/slurmcluster/slurm:none"))
	c.AwaitDegraded(v1alpha1.ReasonImageUnavailable, "slurm:none")
	require.Equal(t, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))
	require.Equal(t, before, []string{uid(c, "demo-controller-0"), uid(c, "demo-cpu-0"), uid(c, "demo-cpu-1")})

	job := c.Submit("until [ -e ~/go ]; do sleep .1; done; echo ended by itself", "-w", "cpu-0", "--no-requeue")
	c.AwaitJob(job, "RUNNING")
	c.Update(image(older))
	replaced(c, "demo-cpu-1", before[2])
	c.Eventually(harness.Patience, "an older node works for a newer slurmctld", func() error {
		if versions := nodeVersions(c); len(versions) != 2 || versions[0] != was || versions[1] >= was {
			return fmt.Errorf("the nodes' versions are %s", versions)
		}
		_, err := c.Try("srun", "-w", "cpu-1", "--immediate=5", "true")
		return err
	})
	require.Equal(t, was, c.Get().Status.SlurmVersion)
	require.Equal(t, before[0], uid(c, "demo-controller-0"))
	unharmed(c, job)
	c.RunOn("cpu-0", "touch", "go")
	c.Await("slurmctld runs the older image", func(o *v1alpha1.SlurmCluster) bool {
		return o.Status.Image == older && o.Status.SlurmVersion < was
	})
	c.AwaitSettled()
	last, then := made(c, "demo-cpu-0"), made(c, "demo-controller-0")
	require.False(t, then.Before(&last), "slurmctld last: it was made at %s, the last node at %s", then, last)
	require.Equal(t, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))
}
