//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// healLimit is how long a cluster may take to heal, on a machine that many tests share.
const healLimit = time.Minute

// TestHeal kills a daemon with SIGKILL while one job runs and another waits. The status says that something
// is wrong, the cluster heals by itself, and the queue is still there.
func TestHeal(t *testing.T) {
	t.Parallel()
	for name, victim := range map[string]struct{ pod, container, program string }{
		"slurmctld":               {"controller-0", contract.ContainerSlurmctld, "slurmctld"},
		"shim before slurmctld":   {"controller-0", contract.ContainerSlurmctld, "slurmd-shim"},
		"munged of slurmctld":     {"controller-0", contract.ContainerSlurmctld, "munged"},
		"slurmrestd":              {"controller-0", contract.ContainerSlurmrestd, "slurmrestd"},
		"slurmd":                  {"cpu-0", contract.ContainerSlurmd, "slurmd"},
		"munged of a slurmd":      {"cpu-0", contract.ContainerMunged, "munged"},
		"slurmd without any jobs": {"cpu-1", contract.ContainerSlurmd, "slurmd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).Start("demo")
			running, waiting := c.Submit("exec sleep 600", "-w", "cpu-0"), c.Submit("echo done", "-N2", "--job-name=queued")
			c.AwaitJob(running, "RUNNING")
			c.AwaitSaved("queued")
			record := c.Watch()
			c.Kill("demo-"+victim.pod, victim.container, victim.program)
			if victim.program != "munged" || victim.container == contract.ContainerMunged {
				healed(c, record) // slurmctld's own munged is back before anybody notices
			}
			if victim.pod == "cpu-0" && victim.container == contract.ContainerSlurmd {
				c.AwaitJob(running, "RUNNING") // again
				require.Equal(t, "1", c.JobField(running, "Restarts"))
			} else {
				unharmed(c, running)
				require.Equal(t, "PENDING", c.JobField(waiting, "JobState"), "the queue is still there")
				require.Equal(t, "ok", c.Run("srun", "-w", "cpu-1", "echo", "ok"))
			}
			c.Run("scancel", running)
			c.AwaitJob(waiting, "COMPLETED")
		})
	}
}

// healed waits until the status said that something is wrong, and then that all is well.
func healed(c *harness.Cluster, record *harness.Record) {
	c.Helper()
	start := time.Now()
	wrong := func(o *v1alpha1.SlurmCluster) bool {
		return !harness.Ready(o) || harness.Is(o, v1alpha1.ConditionDegraded, metav1.ConditionTrue, "")
	}
	c.Eventually(healLimit, "the status says that something is wrong", func() error {
		if !record.Saw(wrong) {
			return fmt.Errorf("what was seen is %s", strings.Join(record.Story(), "\n"))
		}
		return nil
	})
	noticed := time.Since(start)
	c.Eventually(healLimit, "the cluster is ready again", func() error {
		if o := c.Get(); wrong(o) {
			return fmt.Errorf("the status is %s", harness.Say(o))
		}
		return nil
	})
	c.Logf("noticed after %s, healed after %s:\n%s", noticed.Round(time.Millisecond),
		time.Since(start).Round(time.Millisecond), strings.Join(record.Story(), "\n"))
}

// TestRequeue deletes the pod of a node that runs a batch job: the job runs again, the node comes back
// under its name.
func TestRequeue(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		id := c.Submit(`if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then exec sleep 600; fi; echo again`, "-w", "cpu-0")
		c.AwaitJob(id, "RUNNING")
		record := c.Watch()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "demo-cpu-0"}}
		require.NoError(e, e.Delete(e.Ctx, pod, client.GracePeriodSeconds(0)))
		healed(c, record)
		c.AwaitSinfo("%N", "cpu-0", "cpu-1")
		c.AwaitJob(id, "COMPLETED")
		require.Equal(e, "1", c.JobField(id, "Restarts"))
	})
}

// TestControllerPodDeleted: without storage the queue goes with the pod, but the cluster comes back with all
// its nodes.
func TestControllerPodDeleted(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo")
	record := c.Watch()
	c.Kubectl("delete", "pod", "demo-controller-0")
	healed(c, record)
	c.AwaitSettled()
	c.AwaitSinfo("%N %t", "cpu-0 idle", "cpu-1 idle")
	require.Equal(t, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))
}

// TestAdministratorsDrain: a node that a person drained is left alone.
func TestAdministratorsDrain(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo")
	c.Run("scontrol", "update", "NodeName=cpu-0", "State=DRAIN", "Reason=broken fan")
	c.Await("one node draining", func(o *v1alpha1.SlurmCluster) bool {
		return o.Status.NodeSets[0].Draining == 1 && o.Status.NodeSets[0].Ready == 1 && !harness.Ready(o)
	})
	c.Kill("demo-cpu-0", contract.ContainerSlurmd, "slurmd")
	c.Eventually(harness.Patience, "slurmd is back", func() error {
		pod := &corev1.Pod{}
		require.NoError(t, c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: "demo-cpu-0"}, pod))
		for _, s := range pod.Status.ContainerStatuses {
			if s.Name == contract.ContainerSlurmd && s.RestartCount > 0 && s.State.Running != nil {
				return nil
			}
		}
		return fmt.Errorf("the pod is %+v", pod.Status.ContainerStatuses)
	})
	c.Eventually(harness.Patience, "cpu-0 is drained as it was", func() error {
		if is := c.Run("sinfo", "--noheader", "--Node", "--nodes=cpu-0", "--format=%t %E"); is != "drain broken fan" {
			return fmt.Errorf("it is %s", is)
		}
		return nil
	})
	c.Run("scontrol", "update", "NodeName=cpu-0", "State=RESUME")
	c.AwaitReady()
}
