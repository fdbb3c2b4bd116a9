//go:build e2e

package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// gvisor is the RuntimeClass that `localkube up --gvisor` makes, and the usual name elsewhere.
const gvisor = "gvisor"

// allReduce adds up the ranks of an MPI program, from 1.
const allReduce = `python3 -c '
from mpi4py import MPI
world = MPI.COMM_WORLD
print("sum", world.allreduce(world.rank + 1), "of", world.size, "on", MPI.Get_processor_name(), flush=True)'`

// TestGVisor: nodes whose kernel is gVisor have their pod's size and run jobs, in Slurm's image and in a user's own, and MPI programs
// across nodes as they are.
func TestGVisor(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		_, err := e.Set.NodeV1().RuntimeClasses().Get(e.Ctx, gvisor, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			e.Skip("this Kubernetes has no RuntimeClass gvisor: `localkube up --gvisor` makes one")
		}
		require.NoError(e, err)
		c := e.Start("demo", use, func(s *v1alpha1.SlurmClusterSpec) {
			own, slurms := harness.NodeSet("own", 2), harness.NodeSet("slurms", 1)
			own.Image = userImage(t, "user")
			own.Resources.Memory = resource.MustParse("768Mi")
			s.NodeSets = []v1alpha1.NodeSet{own, slurms}
			for i := range s.NodeSets {
				s.NodeSets[i].RuntimeClassName = gvisor
			}
		})
		require.Equal(e, strings.Repeat("Linux version 4.19.0-gvisor\n", 3), c.Run("srun", "-N3", "--chdir=/tmp", "cut", "-d ", "-f-3", "/proc/version")+"\n")
		require.Equal(e, "1\n1\n1", c.Run("sinfo", "--noheader", "-N", "--format=%c"), "a node has the CPUs of its pod, not the machine's")
		require.Equal(e, "slurms-0", c.Run("srun", "-Cslurms", "--chdir=/tmp", "srun", "--overlap", "hostname"), "a step starts a step")

		// Several, because what gVisor does to the sockets of one shows in the next.
		id := c.Submit(strings.Repeat("mpirun -n 2 --map-by node "+allReduce+"\n", 3), "-N2", "-Cown", "--output=/tmp/out")
		c.AwaitJob(id, "COMPLETED")
		requireSums(e, c.RunOn(node(c, id), "cat", "/tmp/out"), 3)
		if strings.Contains(c.Run("sh", "-c", "srun --mpi=list 2>&1"), "pmix") { // Debian forky's Slurm has none
			requireSums(e, c.Run("sh", "-c", "srun -N2 -Cown --chdir=/tmp --mpi=pmix "+allReduce), 1)
		}
	})
}

// requireSums: two ranks on two nodes have added themselves up, so many times.
func requireSums(e *harness.Env, out string, times int) {
	e.Helper()
	for _, node := range []string{"own-0", "own-1"} {
		require.Equal(e, times, strings.Count(out, "sum 3 of 2 on "+node), out)
	}
}
