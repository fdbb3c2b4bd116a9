//go:build e2e

package suite

import (
	"os"
	"path"
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

// inGVisor are settings that OpenMPI 5 needs in gVisor; docs/how-to/runtimes.md says why.
const inGVisor = "export PMIX_MCA_gds=hash OMPI_MCA_btl_tcp_disable_family=6\n"

// startInGVisor makes a cluster of two nodes in gVisor, in an image that has MPI and nothing of Slurm.
func startInGVisor(t *testing.T, image string) *harness.Cluster {
	t.Helper()
	e := harness.New(t)
	_, err := e.Set.NodeV1().RuntimeClasses().Get(e.Ctx, gvisor, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		t.Skip("this Kubernetes has no RuntimeClass gvisor: `localkube up --gvisor` makes one")
	}
	require.NoError(t, err)
	return e.Start("demo", useImage(image), func(s *v1alpha1.SlurmClusterSpec) {
		set := harness.NodeSet("gv", 2)
		set.Image, set.RuntimeClassName = userImage(t, "user"), gvisor
		set.Resources.Memory = resource.MustParse("768Mi")
		s.NodeSets = []v1alpha1.NodeSet{set}
	})
}

// TestGVisor: nodes whose kernel is gVisor have their pod's size, run jobs, and MPI programs within a node.
func TestGVisor(t *testing.T) {
	t.Parallel()
	for _, image := range harness.Images(t) {
		t.Run(path.Base(image), func(t *testing.T) {
			t.Parallel()
			c := startInGVisor(t, image)
			require.Contains(t, c.RunOn("gv-0", "cat", "/proc/version"), "gvisor", "the nodes' kernel")
			require.Equal(t, "1\n1", c.Run("sinfo", "--noheader", "-N", "--format=%c"), "a node has the CPUs of its pod, not the machine's")
			require.Equal(t, "gv-0\ngv-1", c.Run("sh", "-c", "srun -N 2 --chdir=/tmp hostname | sort"))

			id := c.Submit(inGVisor+"grep -o gvisor /proc/version\nmpirun --oversubscribe -n 2 "+allReduce, "--output=/tmp/out")
			c.AwaitJob(id, "COMPLETED")
			out := c.RunOn(node(c, id), "cat", "/tmp/out")
			require.Contains(t, out, "gvisor")
			require.Equal(t, 2, strings.Count(out, "sum 3 of 2 on "+node(c, id)), out)
		})
	}
}

// TestGVisorAcrossNodes: an MPI program on two nodes in gVisor.
func TestGVisorAcrossNodes(t *testing.T) {
	t.Parallel()
	if os.Getenv("GVISOR_MPI") == "" {
		t.Skip("gVisor's network fails OpenMPI between pods (docs/how-to/runtimes.md); GVISOR_MPI=1 tries it with another gVisor")
	}
	for _, image := range harness.Images(t) {
		t.Run(path.Base(image), func(t *testing.T) {
			t.Parallel()
			c := startInGVisor(t, image)
			id := c.Submit(inGVisor+"grep -o gvisor /proc/version\nmpirun -n 2 --map-by node "+allReduce, "-N", "2", "--output=/tmp/out")
			c.AwaitJob(id, "COMPLETED")
			requireSums(t, c.RunOn(node(c, id), "cat", "/tmp/out"))

			if strings.Contains(c.Run("sh", "-c", "srun --mpi=list 2>&1"), "pmix") { // Debian forky's Slurm has none
				requireSums(t, c.Run("sh", "-c", inGVisor+"srun -N 2 --chdir=/tmp --mpi=pmix "+allReduce))
			}
		})
	}
}

func requireSums(t *testing.T, out string) {
	t.Helper()
	for _, node := range []string{"gv-0", "gv-1"} {
		require.Contains(t, out, "sum 3 of 2 on "+node)
	}
}
