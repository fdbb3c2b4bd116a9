//go:build e2e

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestCommandLine: what the plugin says about a cluster is what Slurm, Kubernetes and the nodes say, with each Slurm.
func TestCommandLine(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		for _, test := range []struct {
			name string
			run  func(*harness.Cluster)
		}{
			{"nodes", listNodes}, {"describe-node", describeNode}, {"jobs", listJobs}, {"salloc", allocate},
			{"cp in and out", copyFiles}, {"cp a node's file", copyFromNode}, {"scale", scaleUpAndDown},
		} {
			e.Run(test.name, func(t *testing.T) { test.run(e.Sub(t).Cluster(c.Called)) })
		}
	})
}

// fits fails where a line is wider than a terminal.
func fits(c *harness.Cluster, text string) {
	c.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(c, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
}

func listNodes(c *harness.Cluster) {
	said := c.Kubectl("slurmcluster", "nodes", c.Called)
	fits(c, said)
	require.Regexp(c, `(?m)^NAME +STATE +CPUS +MEMORY +REASON$`, said)
	require.Regexp(c, `(?m)^cpu-0 +idle +0/1 +0/480Mi$`, said)
	require.Equal(c, "cpu-0\ncpu-1\n", c.Kubectl("slurmcluster", "nodes", c.Called, "--output=name"))
	var list struct {
		Nodes []struct{ Name, Pod, Host, Version string }
	}
	require.NoError(c, json.Unmarshal([]byte(c.Kubectl("slurmcluster", "nodes", c.Called, "--output=json")), &list))
	require.Len(c, list.Nodes, 2)
	require.Equal(c, c.Called+"-cpu-1", list.Nodes[1].Pod)
	require.NotEmpty(c, list.Nodes[1].Host)
	require.NotEmpty(c, list.Nodes[1].Version)
}

func describeNode(c *harness.Cluster) {
	said := c.Kubectl("slurmcluster", "describe-node", c.Called, "cpu-0")
	fits(c, said)
	for _, words := range []string{"state         idle", "Pod " + c.Called + "-cpu-0", "phase         Running", "slurmd        ready", "memory limit   512 MiB"} {
		require.Contains(c, said, words)
	}
	var description struct {
		Shim struct {
			Report struct {
				Node struct{ CPUs, RealMemoryMB int }
			}
		}
	}
	require.NoError(c, json.Unmarshal([]byte(c.Kubectl("slurmcluster", "describe-node", c.Called, "cpu-0", "--output=json")), &description))
	require.Equal(c, 480, description.Shim.Report.Node.RealMemoryMB)
	_, err := c.TryKubectl(nil, "slurmcluster", "describe-node", c.Called, "cpu-9")
	require.ErrorContains(c, err, c.Called+` has no node "cpu-9"`)
}

func listJobs(c *harness.Cluster) {
	id := strings.TrimSpace(c.Kubectl("slurmcluster", "sbatch", "--output=name", c.Called, "--job-name=a | b", "--wrap=sleep 300"))
	c.AwaitJob(id, "RUNNING")
	said := c.Kubectl("slurmcluster", "jobs", c.Called)
	fits(c, said)
	require.Regexp(c, fmt.Sprintf(`(?m)^%s +a \| b +RUNNING +0:\d\d +1 +1 +cpu-[01]$`, id), said)
	require.Contains(c, c.Kubectl("slurmcluster", "status", c.Called), "a | b")
	c.Kubectl("slurmcluster", "scancel", c.Called, id)
	c.Eventually(harness.Patience, "the job is not listed any more", func() error {
		if said := c.Kubectl("slurmcluster", "jobs", c.Called, "--output=name"); said != "" {
			return fmt.Errorf("there is still %s", said)
		}
		return nil
	})
	require.Contains(c, c.Kubectl("slurmcluster", "jobs", c.Called, "--all"), "CANCELLED")
}

func allocate(c *harness.Cluster) {
	require.Equal(c, c.Called+"-controller-0\n", salloc(c, "", "-N1", "hostname"))
	require.ElementsMatch(c, []string{"cpu-0", "cpu-1"}, strings.Fields(salloc(c, "srun hostname\n", "-N2")))
}

// salloc returns what salloc's command printed. Slurm 26.05's own sometimes does not end although all is done, as
// docs/how-to/troubleshoot.md tells; then, and only then, it is run once more. A plugin that hangs when salloc has ended still fails.
func salloc(c *harness.Cluster, in string, args ...string) string {
	try := func() (string, error) {
		limited := *c.Env
		ctx, cancel := context.WithTimeout(c.Ctx, harness.Patience)
		defer cancel()
		limited.Ctx = ctx
		return limited.TryKubectl(strings.NewReader(in), append([]string{"slurmcluster", "salloc", c.Called}, args...)...)
	}
	said, err := try()
	if err != nil && strings.Contains(err.Error(), "signal: killed") && strings.Contains(err.Error(), "Relinquishing job allocation") {
		c.Run("sh", "-c", "grep -qxs salloc /proc/[0-9]*/comm")
		c.Log("salloc did not end: ", err)
		said, err = try()
	}
	require.NoError(c, err)
	return said
}

func copyFiles(c *harness.Cluster) {
	here := c.TempDir()
	data := filepath.Join(here, "data")
	require.NoError(c, os.MkdirAll(filepath.Join(data, "sub"), 0o755))
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "sub/it's a file": 0o640} {
		file := filepath.Join(data, name)
		require.NoError(c, os.WriteFile(file, []byte(strings.Repeat(name+"\n", 100000)), 0o600))
		require.NoError(c, os.Chmod(file, mode))
	}
	c.Kubectl("slurmcluster", "cp", data, c.Called+":copy")
	require.Equal(c, "755 644 640", c.Run("sh", "-c", `cd copy && touch new && chmod 644 new && stat --format=%a run.sh new sub/* | xargs`))
	back := filepath.Join(here, "back")
	c.Kubectl("slurmcluster", "cp", c.Called+":copy", back)
	for _, name := range []string{"run.sh", "sub/it's a file"} {
		sent, err := os.ReadFile(filepath.Join(data, name))
		require.NoError(c, err)
		received, err := os.ReadFile(filepath.Join(back, name))
		require.NoError(c, err)
		require.Equal(c, string(sent), string(received))
	}
	info, err := os.Stat(filepath.Join(back, "run.sh"))
	require.NoError(c, err)
	require.Equal(c, fs.FileMode(0o755), info.Mode().Perm())

	// What fails leaves nothing behind, on either side.
	_, err = c.TryKubectl(nil, "slurmcluster", "cp", c.Called+":missing", here)
	require.ErrorContains(c, err, "has no such file or directory")
	_, err = c.TryKubectl(nil, "slurmcluster", "cp", data, c.Called+":no/such/place")
	require.ErrorContains(c, err, "has no directory /home/user/no/such")
	require.Empty(c, c.Run("find", "/home/user", "-name", ".cp-*"))
	left, err := os.ReadDir(here)
	require.NoError(c, err)
	require.Len(c, left, 2)
}

// copyFromNode: without a shared volume, what a job writes is on its node.
func copyFromNode(c *harness.Cluster) {
	c.Run("srun", "--nodelist=cpu-1", "sh", "-c", "echo from cpu-1 >out.txt")
	here := c.TempDir()
	_, err := c.TryKubectl(nil, "slurmcluster", "cp", c.Called+":out.txt", here)
	require.ErrorContains(c, err, "name the node with --node")
	c.Kubectl("slurmcluster", "cp", c.Called+":out.txt", here, "--node=cpu-1")
	text, err := os.ReadFile(filepath.Join(here, "out.txt"))
	require.NoError(c, err)
	require.Equal(c, "from cpu-1\n", string(text))
}

func scaleUpAndDown(c *harness.Cluster) {
	require.Contains(c, c.Kubectl("slurmcluster", "scale", c.Called, "3", "--wait"), c.Called+" ready: 3 nodes, 3 CPUs")
	c.Run("srun", "-N3", "true")
	require.Contains(c, c.Kubectl("slurmcluster", "scale", c.Called, "1", "--node-set=cpu", "--wait"), c.Called+" ready: 1 node, 1 CPU")
	c.Eventually(harness.Patience, "one node is left", func() error {
		// Any may stay: one whose job has just ended leaves after those that are idle.
		if left := strings.Fields(c.Kubectl("slurmcluster", "nodes", c.Called, "--output=name")); len(left) != 1 {
			return fmt.Errorf("there are %s", left)
		}
		return nil
	})
	_, err := c.TryKubectl(nil, "slurmcluster", "scale", c.Called, "2", "--node-set=gpu")
	require.ErrorContains(c, err, c.Called+` has no node set "gpu"; it has: cpu`)
}

// TestExtend: a cluster gets more time, and what cannot be extended says why. No pod has to start for that.
func TestExtend(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	ends := e.Create("ends", nodes(0), func(s *v1alpha1.SlurmClusterSpec) {
		s.Lifecycle.TTL = &metav1.Duration{Duration: 8 * time.Hour}
	})
	stays := e.Create("stays", nodes(0))
	require.Regexp(t, `ends ends in 33h, on `, e.Kubectl("slurmcluster", "extend", ends.Called, "1d2h"))
	require.Equal(t, 34*time.Hour, ends.Get().Spec.Lifecycle.TTL.Duration)
	_, err := e.TryKubectl(nil, "slurmcluster", "extend", stays.Called, "2h")
	require.ErrorContains(t, err, "it stays until it is deleted")
}
