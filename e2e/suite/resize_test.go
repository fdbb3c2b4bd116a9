//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// resize resizes the pod of a node in place.
func resize(c *harness.Cluster, node, cpu, memory string) {
	c.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"limits":{"cpu":%q,"memory":%q}}}]}}`, contract.ContainerSlurmd, cpu, memory)
	_, err := c.Set.CoreV1().Pods(c.Namespace).Patch(c.Ctx, c.Called+"-"+node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	require.NoError(c, err)
}

func awaitSize(c *harness.Cluster, want string) {
	c.Helper()
	c.Eventually(harness.Patience, "cpu-0 is idle with "+want, func() error {
		got := c.Sinfo("%n %c %m %T")
		for _, line := range got {
			if line == "cpu-0 "+want+" idle" {
				return nil
			}
		}
		return fmt.Errorf("Slurm says %q", got)
	})
}

// TestResize: a node follows its container when that is resized in place. Neither slurmctld nor a pod nor a container is
// started again, and no job ends.
func TestResize(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		started := c.Run("sh", "-c", "scontrol show config | grep BOOT_TIME")
		other := c.Submit("sleep 3600", "-w", "cpu-1")
		c.AwaitJob(other, "RUNNING")

		resize(c, "cpu-0", "2", "1Gi")
		awaitSize(c, "2 992")
		require.Len(e, strings.Fields(c.Run("srun", "-w", "cpu-0", "-n2", "hostname")), 2)

		job := c.Submit("sleep 3600", "-w", "cpu-0")
		c.AwaitJob(job, "RUNNING")
		resize(c, "cpu-0", "1", "1Gi")
		c.Await("waiting for the job", func(o *v1alpha1.SlurmCluster) bool {
			p := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionProgressing)
			return p.Reason == v1alpha1.ReasonWaitingForJobs &&
				strings.Contains(p.Message, "node cpu-0, which must shrink to CPUs=1 RealMemory=992, waits for its jobs to end")
		})
		require.Equal(e, "RUNNING", c.JobField(job, "JobState"))
		c.Run("scancel", job)
		awaitSize(c, "1 992")

		resize(c, "cpu-0", "500m", "1Gi")
		c.AwaitDegraded(v1alpha1.ReasonNodeUnusable, "node cpu-0 cannot go on", "the CPU limit is 0.5 and Slurm counts whole CPUs")
		resize(c, "cpu-0", "1", "1Gi")
		awaitSize(c, "1 992")

		c.AwaitSettled()
		require.Equal(e, started, c.Run("sh", "-c", "scontrol show config | grep BOOT_TIME"))
		require.Equal(e, "0", c.JobField(other, "Restarts"))
		require.Equal(e, "RUNNING", c.JobField(other, "JobState"))
		pods, err := e.Set.CoreV1().Pods(e.Namespace).List(e.Ctx, metav1.ListOptions{})
		require.NoError(e, err)
		require.Len(e, pods.Items, 3)
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				require.Zero(e, s.RestartCount, "%s in %s", s.Name, pod.Name)
			}
		}
	})
}

// TestResizeBusy: a node that could be larger does not keep jobs from it, and says what it waits for.
func TestResizeBusy(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Start("demo", nodes(1))
	job := c.Submit("sleep 3600")
	c.AwaitJob(job, "RUNNING")
	resize(c, "cpu-0", "2", "512Mi")
	c.Await("waiting for the job", func(o *v1alpha1.SlurmCluster) bool {
		p := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionProgressing)
		return strings.Contains(p.Message, "node cpu-0, which could grow to CPUs=2 RealMemory=480, waits for its jobs to end")
	})
	require.NotContains(t, c.Run("scontrol", "show", "node", "cpu-0"), "DRAIN")
	c.Run("scancel", job)
	awaitSize(c, "2 480")
}
