//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// mpiSums is a program that prints how many ranks on how many hosts agree on a sum.
const mpiSums = `python3 -c "
from mpi4py import MPI
w = MPI.COMM_WORLD
s = w.allreduce(w.rank)
h = w.allgather(MPI.Get_processor_name())
if w.rank == 0: print(w.size, 'ranks on', len(set(h)), 'hosts:', s)"`

// mpiWaits is a program whose ranks wait for each other for ever, but for the last one, which does something else.
func mpiWaits(last string) string {
	return `python3 -c "
import os, time
from mpi4py import MPI
w = MPI.COMM_WORLD
w.Barrier()
open('/tmp/rank-of-mpi', 'w').close()
if w.rank == w.size - 1: ` + last + `
while True: w.Barrier(); time.sleep(0.1)"`
}

// TestMPI: programs of several ranks on several nodes, started by mpirun and, where Slurm has the plugin, by srun; and how they end when
// a rank or a node is lost.
func TestMPI(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(4), set(func(n *v1alpha1.NodeSet) { n.Image = userImage(e.T, "user") }))
		starters := []string{"mpirun"}
		if strings.Contains(c.Run("srun", "--mpi=list"), "pmix") {
			starters = append(starters, "srun --mpi=pmix")
		}
		for _, start := range starters {
			for ranks := 2; ranks <= 4; ranks++ {
				id := c.Submit(start+" "+mpiSums, "-N", fmt.Sprint(ranks), "-n", fmt.Sprint(ranks), "--output=/tmp/out-%j")
				c.AwaitJob(id, "COMPLETED")
				require.Equal(e, fmt.Sprintf("%d ranks on %[1]d hosts: %d", ranks, ranks*(ranks-1)/2), c.RunOn(node(c, id), "cat", "/tmp/out-"+id), start)
			}

			id := c.Submit(start+" "+mpiWaits("os.kill(os.getpid(), 9)"), "-N3", "-n3", "--output=/tmp/out-%j")
			took := c.AwaitJob(id, "FAILED")
			e.Logf("%s: the job failed %s after one of its ranks was killed", start, took)
			nothingRuns(c)

			c.RunOn("cpu-3", "rm", "-f", "/tmp/rank-of-mpi")
			id = c.Submit(start+" "+mpiWaits("pass"), "-N2", "-n2", "-w", "cpu-2,cpu-3", "--no-requeue", "--output=/tmp/out-%j")
			c.Eventually(harness.Patience, "the ranks run", func() error {
				_, err := c.TryOn("cpu-3", "ls", "/tmp/rank-of-mpi")
				return err
			})
			c.Kubectl("delete", "pod", "demo-cpu-3", "--force", "--grace-period=0")
			took = c.AwaitJob(id, "NODE_FAIL", "FAILED")
			e.Logf("%s: the job ended %s after one of its nodes was lost", start, took)
			nothingRuns(c)
			c.AwaitReady()
		}
	})
}

// nothingRuns waits until no process of a job is left on any node.
func nothingRuns(c *harness.Cluster) {
	c.Eventually(harness.Patience, "nothing of a job is left running", func() error {
		for _, name := range c.Sinfo("%n") {
			left, err := c.TryOn(name, "sh", "-c", `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep -E '^(python3|mpirun|prte|srun|slurmstepd)' || true`)
			if err == nil && strings.TrimSpace(left) != "" {
				return fmt.Errorf("on %s: %s", name, left)
			}
		}
		return nil
	})
}
