//go:build e2e

package suite

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestScale changes the number of nodes while a job runs on one of them: that job goes on.
func TestScale(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		id := c.Submit("exec sleep 600", "-w", "cpu-1")
		c.AwaitJob(id, "RUNNING")

		c.Update(nodes(3))
		c.AwaitSettled()
		c.AwaitSinfo("%N %t", "cpu-0 idle", "cpu-1 alloc", "cpu-2 idle")

		c.Update(nodes(1))
		c.AwaitSettled()
		c.AwaitSinfo("%N %t", "cpu-1 alloc")
		unharmed(c, id)

		c.Update(nodes(0))
		c.Await("waiting for the job", func(o *v1alpha1.SlurmCluster) bool {
			return harness.Is(o, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonWaitingForJobs)
		})
		unharmed(c, id)
		c.Run("scancel", id)
		c.AwaitSettled()
		c.AwaitSinfo("%N", "")

		c.Update(nodes(2))
		c.AwaitSettled()
		c.AwaitSinfo("%N %t", "cpu-0 idle", "cpu-1 idle")
		require.Equal(e, "ok", c.Run("srun", "-N1", "echo", "ok"))
	})
}

// unharmed: a job runs, and has not been started again.
func unharmed(c *harness.Cluster, id string) {
	c.Helper()
	require.Equal(c, "RUNNING", c.JobField(id, "JobState"))
	require.Equal(c, "0", c.JobField(id, "Restarts"))
}

// TestResources changes the memory of the nodes while a job runs on one: the idle one changes at once, the
// other when the job has ended.
func TestResources(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		before := c.Sinfo("%N %m")
		id := c.Submit("exec sleep 600", "-w", "cpu-0")
		c.AwaitJob(id, "RUNNING")

		c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets[0].Resources.Memory = resource.MustParse("1Gi") })
		c.Await("waiting for the job", func(o *v1alpha1.SlurmCluster) bool {
			return harness.Is(o, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonWaitingForJobs)
		})
		unharmed(c, id)
		during := c.Sinfo("%N %m")
		require.Equal(e, before[0], during[0], "the busy node is as it was")
		require.Regexp(e, `^cpu-1 9[0-9]{2}$`, during[1], "the idle node was changed first")

		c.Run("scancel", id)
		c.AwaitSettled()
		require.Regexp(e, `^cpu-0 9[0-9]{2}$`, c.Sinfo("%N %m")[0])
		require.Equal(e, "ok", c.Run("srun", "-w", "cpu-0", "--mem=900", "echo", "ok"))
	})
}

// TestNodeSets: features, node sets and partitions choose where jobs run, also when they change.
func TestNodeSets(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(1), func(s *v1alpha1.SlurmClusterSpec) {
			s.NodeSets[0].Features = []v1alpha1.Feature{"intel", "avx2"}
			s.NodeSets = append(s.NodeSets, harness.NodeSet("big", 1))
			s.Partitions = []v1alpha1.Partition{
				{Name: "short", MaxTime: "10"},
				{Name: "large", NodeSets: []v1alpha1.NodeSetName{"big"}, MaxTime: "1-0", Default: true},
			}
		})
		require.Equal(e, "cpu-0", c.Run("srun", "-p", "short", "-C", "avx2", "hostname"))
		require.Equal(e, "big-0", c.Run("srun", "hostname"), "large is the default")
		_, err := c.Try("srun", "-C", "gpu", "hostname")
		require.ErrorContains(e, err, "Invalid feature specification")
		_, err = c.Try("srun", "-w", "cpu-0", "hostname")
		require.ErrorContains(e, err, "Requested node configuration is not available", "cpu-0 is not in the default partition")
		require.Equal(e, "large* 1-00:00:00 big-0\nshort 10:00 big-0,cpu-0",
			sorted(c.Run("sinfo", "--noheader", "--format=%P %l %N")))

		id := c.Submit("exec sleep 600", "-p", "large")
		c.AwaitJob(id, "RUNNING")
		c.Update(func(s *v1alpha1.SlurmClusterSpec) {
			s.NodeSets[0].Features = []v1alpha1.Feature{"amd"}
			s.NodeSets = append(s.NodeSets, harness.NodeSet("new", 1))
			s.Partitions[0].MaxTime = "20"
			s.Partitions = append(s.Partitions, v1alpha1.Partition{Name: "fresh", NodeSets: []v1alpha1.NodeSetName{"new"}})
		})
		c.AwaitSettled()
		unharmed(c, id)
		require.Equal(e, "cpu-0", c.Run("srun", "-p", "short", "-C", "amd", "hostname"))
		require.Equal(e, "new-0", c.Run("srun", "-p", "fresh", "hostname"))
		require.Contains(e, c.Run("scontrol", "show", "partition", "short"), "MaxTime=00:20:00")

		c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets, s.Partitions = s.NodeSets[:2], s.Partitions[:2] })
		c.AwaitSettled()
		c.AwaitSinfo("%N", "big-0", "cpu-0")
		unharmed(c, id)
	})
}
