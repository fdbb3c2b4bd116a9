//go:build e2e

package suite

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

func ownAuth(s *v1alpha1.SlurmClusterSpec) { s.Auth.Type = v1alpha1.AuthSlurm }

// TestOwnAuth: with auth/slurm there is no munged anywhere; jobs and steps run across nodes, nodes and configurations change, a
// killed slurmctld comes back.
func TestOwnAuth(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, ownAuth)
		pods := &corev1.PodList{}
		require.NoError(e, e.List(e.Ctx, pods, client.InNamespace(e.Namespace), client.HasLabels{contract.LabelCluster}))
		require.Len(e, pods.Items, 3)
		for i := range pods.Items {
			require.Empty(e, pods.Items[i].Spec.InitContainers, pods.Items[i].Name)
			unprivileged(e, &pods.Items[i])
		}
		require.Contains(e, c.Run("scontrol", "show", "config"), "AuthType                = auth/slurm")
		require.Equal(e, "cpu-0\ncpu-1", sorted(c.Run("srun", "-N2", "hostname")))
		require.Equal(e, "cpu-1", c.RunOn("cpu-0", "srun", "-w", "cpu-1", "hostname"), "a node's own commands work, too")
		require.Equal(e, contract.KeySlurm, c.RunOn("cpu-0", "ls", contract.KeyDir), "a node gets no other key")

		running := c.Submit("until [ -e ~/go ]; do sleep .1; done; hostname; srun echo step", "-w", "cpu-0", "--no-requeue")
		waiting := c.Submit("srun hostname", "-N2", "--job-name=queued")
		c.AwaitJob(running, "RUNNING")
		c.Update(config("MaxArraySize", "77"))
		c.Eventually(harness.Patience, "the new configuration", func() error {
			_, err := c.Try("sh", "-c", "scontrol show config | grep -q 'MaxArraySize.*77'")
			return err
		})
		c.AwaitSaved("queued")
		// While slurmctld reads it, the cluster may not be ready; that is over before something else goes wrong.
		c.AwaitEvent(v1alpha1.ReasonConfigApplied, "runs with a new configuration")
		c.AwaitSettled()
		record := c.Watch()
		c.Kill("demo-controller-0", contract.ContainerSlurmctld, "slurmctld")
		healed(c, record)
		unharmed(c, running)
		require.Equal(e, "PENDING", c.JobField(waiting, "JobState"))
		c.RunOn("cpu-0", "touch", "go")
		c.AwaitJob(running, "COMPLETED")
		c.AwaitJob(waiting, "COMPLETED")
	})
}
