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

// scaled makes the first node set one that Slurm scales.
func scaled(least, most int32) harness.Change {
	return set(func(n *v1alpha1.NodeSet) {
		n.Replicas = nil
		n.Autoscale = &v1alpha1.Autoscale{Min: least, Max: most, IdleTimeout: &metav1.Duration{Duration: 5 * time.Second}}
	})
}

// slurmdPods are the names of the nodes that have pods.
func slurmdPods(c *harness.Cluster) (nodes []string) {
	pods := &corev1.PodList{}
	require.NoError(c, c.List(c.Ctx, pods, client.InNamespace(c.Namespace), client.MatchingLabels{contract.LabelCluster: c.Called, contract.LabelRole: contract.RoleSlurmd}))
	for _, pod := range pods.Items {
		nodes = append(nodes, pod.Labels[contract.LabelNode])
	}
	return nodes
}

// TestAutoscale: nodes come when jobs need them, as many as they need, and go when they are idle.
func TestAutoscale(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, scaled(0, 3))
		c.AwaitSinfo("%N %T", "cpu-0 idle~", "cpu-1 idle~", "cpu-2 idle~")
		require.Empty(e, slurmdPods(c), "nobody needs a node")
		_, err := c.Try("sbatch", "-N4", "--wrap=true")
		require.Error(e, err, "a job that could never run is refused")
		_, err = c.Try("sbatch", "--mem=100G", "--wrap=true")
		require.Error(e, err, "a job that could never run is refused")

		start := time.Now()
		require.Equal(e, "cpu-0\ncpu-1", sorted(c.Run("srun", "-N2", "hostname")))
		e.Logf("a job of two nodes had run %s after its submission at zero nodes", time.Since(start).Round(10*time.Millisecond))
		require.Len(e, slurmdPods(c), 2, "as many as the job needs")
		start = time.Now()
		require.Equal(e, "ok", c.Run("srun", "-N1", "echo", "ok"))
		e.Logf("another one ran on them in %s", time.Since(start).Round(10*time.Millisecond))
		c.AwaitSinfo("%N %T", "cpu-0 idle~", "cpu-1 idle~", "cpu-2 idle~")
		require.Empty(e, slurmdPods(c))
		c.AwaitSettled()

		id := c.Submit("exec sleep 600", "-N1")
		c.AwaitJob(id, "RUNNING")
		c.Update(set(func(n *v1alpha1.NodeSet) { n.Autoscale.Min, n.Autoscale.Max = 2, 2 }))
		c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-1 idle")
		unharmed(c, id)
		c.Run("scancel", id)
		c.AwaitSettled()
		require.Equal(e, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))
	})
}

// TestAutoscaleLoss: the job of a switched-on node whose pod is killed runs again, on a node that is switched on for
// it.
func TestAutoscaleLoss(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo", scaled(0, 2))
	id := c.Submit(`[ "${SLURM_RESTART_COUNT:-0}" = 0 ] && exec sleep 600; hostname`, "-N1")
	c.AwaitJob(id, "RUNNING")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "demo-" + c.JobField(id, "NodeList")}}
	require.NoError(t, c.Delete(c.Ctx, pod, client.GracePeriodSeconds(0)))
	took := c.AwaitJob(id, "COMPLETED")
	require.Equal(t, "1", c.JobField(id, "Restarts"))
	t.Logf("the job had run again %s after its pod was killed", took.Round(10*time.Millisecond))
	c.AwaitSinfo("%N %T", "cpu-0 idle~", "cpu-1 idle~")
}

// TestAutoscaleFails: nodes that cannot start do not hold up others, and it is said why.
func TestAutoscaleFails(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo", scaled(0, 1), func(s *v1alpha1.SlurmClusterSpec) {
		lost := harness.NodeSet("lost", 0)
		lost.Replicas = nil
		lost.Autoscale = &v1alpha1.Autoscale{Max: 2, StartTimeout: &metav1.Duration{Duration: 6 * time.Second}}
		lost.Template.NodeSelector = map[string]string{"no": "such-machine"}
		s.NodeSets = append(s.NodeSets, lost)
	})
	stuck := c.Submit("hostname", "-C", "lost")
	require.Equal(t, "cpu-0", c.Run("srun", "-C", "cpu", "hostname"), "others run meanwhile")
	c.AwaitDegraded(v1alpha1.ReasonNodeNotStarted, "node lost-0: it did not start in time: Kubernetes has no place for pod demo-lost-0", "didn't match Pod's node affinity/selector")
	c.Eventually(harness.Patience, "the job is told why", func() error {
		if said := c.Run("squeue", "--noheader", "--jobs="+stuck, "--Format=admin_comment:300"); !strings.Contains(said, "Kubernetes has no place for pod demo-lost-0") {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	require.Equal(t, "cpu-0", c.Run("srun", "-C", "cpu", "hostname"), "others run meanwhile")

	// Somebody repairs it.
	c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets[1].Template.NodeSelector = nil })
	c.AwaitJob(stuck, "COMPLETED")
	require.Regexp(t, "^lost-[01]$", c.JobField(stuck, "NodeList"))
}
