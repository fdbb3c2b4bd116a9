//go:build e2e

package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// hasExclusiveCPUs tells whether the kubelet gives pods CPUs of their own.
func hasExclusiveCPUs(e *harness.Env) bool {
	e.Helper()
	machines, err := e.Set.CoreV1().Nodes().List(e.Ctx, metav1.ListOptions{})
	require.NoError(e, err)
	text, err := e.Set.CoreV1().RESTClient().Get().Resource("nodes").Name(machines.Items[0].Name).
		SubResource("proxy").Suffix("configz").DoRaw(e.Ctx)
	require.NoError(e, err)
	var answer struct {
		Config struct {
			CPUManagerPolicy string `json:"cpuManagerPolicy"`
		} `json:"kubeletconfig"`
	}
	require.NoError(e, json.Unmarshal(text, &answer))
	return answer.Config.CPUManagerPolicy == "static"
}

// bound makes the nodes of a set ones whose tasks Slurm binds.
func bound(set string) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) {
		own := harness.NodeSet(set, 1)
		own.TaskBinding = v1alpha1.TaskBindingCores
		own.Resources.Requests = v1alpha1.ResourceRequests{}
		s.NodeSets = append(s.NodeSets, own)
	}
}

// TestBindingRefused: a node without CPUs of its own says so, and others run.
func TestBindingRefused(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	if hasExclusiveCPUs(e) {
		t.Skip("this kubelet gives pods CPUs of their own")
	}
	c := e.Create("demo", nodes(1), bound("own"))
	c.AwaitDegraded(v1alpha1.ReasonNodeUnusable, "own-0", "taskBinding: Cores needs CPUs of the pod's own", "cpuManagerPolicy: static")
	c.Eventually(harness.Patience, "the other node runs a job", func() error {
		_, err := c.Try("srun", "-w", "cpu-0", "true")
		return err
	})
}

// TestBinding: a node with a CPU of its own runs tasks on that one, whichever it is, and Slurm binds them. A node
// that shares CPUs, in the same cluster, binds nothing.
func TestBinding(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		if !hasExclusiveCPUs(e) {
			e.Skip("this kubelet gives no pod CPUs of its own")
		}
		c := e.Start("demo", use, nodes(1), bound("own"))
		const allowed = "grep -h Cpus_allowed_list /proc/self/status | cut -f2"
		own := c.RunOn("own-0", "sh", "-c", allowed)
		require.Regexp(e, `^[0-9]+$`, own, "one CPU")
		require.Equal(e, "1", c.RunOn("own-0", "sh", "-c", "scontrol show node own-0 | grep -o 'CPUEfctv=[0-9]*' | cut -d= -f2"))
		require.Equal(e, own, c.Run("srun", "-w", "own-0", "sh", "-c", allowed))
		require.Regexp(e, `cpu-bind=MASK - own-0, task +0 +0 \[[0-9]+\]: mask 0x[0-9a-f]+ set`,
			c.Run("sh", "-c", "srun -w own-0 --cpu-bind=verbose true 2>&1"))

		var shared string
		c.Eventually(harness.Patience, "the kubelet takes the CPU of own-0 from the others, each 10 s", func() error {
			if shared = c.RunOn("cpu-0", "sh", "-c", allowed); strings.Contains(shared, own) {
				return fmt.Errorf("cpu-0 still has CPUs %s", shared)
			}
			return nil
		})
		require.Equal(e, shared, c.Run("srun", "-w", "cpu-0", "sh", "-c", allowed))
		require.Len(e, strings.Fields(c.Run("srun", "-N2", "sh", "-c", allowed)), 2)

		// Ranks of MPI, in an image of one's own, are where Slurm has bound them: mpirun leaves that to Slurm's allocation.
		c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets[1].Image = userImage(t, "user") })
		c.AwaitSettled()
		own = c.RunOn("own-0", "sh", "-c", allowed)
		const rank = `python3 -c 'from mpi4py import MPI; import os; print(MPI.COMM_WORLD.rank, os.sched_getaffinity(0), flush=True)'`
		id := c.Submit("mpirun -n 1 "+rank, "-w", "own-0", "--output=/tmp/out")
		c.AwaitJob(id, "COMPLETED")
		require.Equal(e, "0 {"+own+"}", c.RunOn("own-0", "cat", "/tmp/out"))
		if strings.Contains(c.Run("sh", "-c", "srun --mpi=list 2>&1"), "pmix") { // Debian forky's Slurm has none
			require.Equal(e, "0 {"+own+"}", c.Run("sh", "-c", "srun -w own-0 --mpi=pmix "+rank))
		}
	})
}
