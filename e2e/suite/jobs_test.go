//go:build e2e

package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// job is a script that a user has on their disk.
const job = "#!/bin/bash\n#SBATCH --job-name=hello\necho hello from $(hostname), job $SLURM_JOB_ID, $1\n"

// TestJobs is a user's day: everything that one does with jobs on a new cluster.
func TestJobs(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		c.Run("scontrol", "ping")
		for name, test := range map[string]func(*harness.Cluster){
			"batch from disk": batchFromDisk, "batch from standard input": batchFromInput, "two nodes": twoNodes,
			"environment": environment,
		} {
			e.Run(name, func(t *testing.T) { test(e.Sub(t).Cluster("demo")) })
		}
		e.Run("array", func(t *testing.T) { array(e.Sub(t).Cluster("demo")) })
		e.Run("waiting srun", func(t *testing.T) { waitingSrun(e.Sub(t).Cluster("demo")) })
		e.Run("cancel", func(t *testing.T) { cancel(e.Sub(t).Cluster("demo")) })
	})
}

func batchFromDisk(c *harness.Cluster) {
	script := filepath.Join(c.TempDir(), "hello.sh")
	require.NoError(c, os.WriteFile(script, []byte(job), 0o600))
	id := submitted(c, c.Kubectl("slurmcluster", "sbatch", "demo", script, "world"))
	c.AwaitJob(id, "COMPLETED")
	require.Regexp(c, fmt.Sprintf(`^hello from cpu-[01], job %s, world\n$`, id), c.Kubectl("slurmcluster", "logs", "demo", id))
	require.Equal(c, "hello", c.JobField(id, "JobName"))
}

func batchFromInput(c *harness.Cluster) {
	out, err := c.TryKubectl(strings.NewReader(job), "slurmcluster", "sbatch", "demo", "--job-name=piped")
	require.NoError(c, err)
	id := submitted(c, out)
	require.Contains(c, c.Kubectl("slurmcluster", "logs", "demo", id, "--follow"), "hello from cpu-")
	c.AwaitJob(id, "COMPLETED")
	require.Equal(c, "piped", c.JobField(id, "JobName"))
}

// environment: a job that takes only a part of the submitter's environment gets a login's, which slurmd could find out as root only.
func environment(c *harness.Cluster) {
	for option, want := range map[string]string{"--export=ALL,A=1": "1 here", "--export=A=1": "1 ", "--export=NONE": " ", "--get-user-env": " here"} {
		id := c.Run("env", "B=here", "sbatch", "--parsable", option, "--output=/tmp/env-%j", "--wrap", `set -eu; echo "${A:-} ${B:-}"; echo "$HOME $USER"; env | grep -c ^PATH=`)
		c.AwaitJob(id, "COMPLETED")
		require.Equal(c, want+"\n/home/user user\n1", c.RunOn(node(c, id), "cat", "/tmp/env-"+id), option)
	}
}

// submitted reads the id from what sbatch says.
func submitted(c *harness.Cluster, said string) string {
	c.Helper()
	id, ok := strings.CutPrefix(strings.TrimSpace(said), "Submitted batch job ")
	require.True(c, ok, said)
	_, err := strconv.Atoi(id)
	require.NoError(c, err)
	return id
}

func twoNodes(c *harness.Cluster) {
	for _, said := range []string{c.Run("srun", "-N2", "hostname"), c.Kubectl("slurmcluster", "srun", "demo", "-N2", "hostname")} {
		hosts := strings.Fields(said)
		slices.Sort(hosts)
		require.Equal(c, []string{"cpu-0", "cpu-1"}, hosts)
	}
}

func array(c *harness.Cluster) {
	id := c.Submit("echo task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID", "--array=1-4")
	for _, task := range []string{"1", "2", "3", "4"} {
		c.AwaitJob(id+"_"+task, "COMPLETED")
		require.Contains(c, c.Kubectl("slurmcluster", "logs", "demo", id+"_"+task), "task "+task+" of "+id)
	}
	all := c.Kubectl("slurmcluster", "logs", "demo", id)
	for _, task := range []string{"1", "2", "3", "4"} {
		require.Contains(c, all, "task "+task+" of "+id)
	}
}

// waitingSrun starts srun while the cluster is full: slurmctld has to call it back when its turn comes.
func waitingSrun(c *harness.Cluster) {
	for from, run := range map[string]func() (string, error){
		"controller pod": func() (string, error) { return c.Try("srun", "hostname") },
		"slurmd pod":     func() (string, error) { return c.Exec(c.Ctx, c.Node("cpu-1"), nil, "srun", "hostname") },
		"plugin":         func() (string, error) { return c.TryKubectl(nil, "slurmcluster", "srun", "demo", "hostname") },
	} {
		c.Log("a waiting srun from the " + from)
		blocker := c.Submit("exec sleep 600", "-N2")
		c.AwaitJob(blocker, "RUNNING")
		ctx, end := context.WithTimeout(c.Ctx, harness.Patience)
		type result struct {
			out string
			err error
		}
		answer := make(chan result, 1)
		go func() {
			out, err := run()
			answer <- result{out, err}
		}()
		c.Eventually(harness.Patience, "srun waits in the queue", func() error {
			if waiting := c.Run("squeue", "--noheader", "--states=PENDING", "--format=%j"); waiting != "hostname" {
				return fmt.Errorf("what waits is %q", waiting)
			}
			return nil
		})
		c.Run("scancel", blocker)
		select {
		case r := <-answer:
			require.NoError(c, r.err, "from the "+from)
			require.Regexp(c, `^cpu-[01]\n?$`, r.out, "from the "+from)
		case <-ctx.Done():
			require.FailNow(c, "srun waits for ever", "from the %s: %s", from, c.Run("squeue"))
		}
		end()
	}
}

func cancel(c *harness.Cluster) {
	running, waiting := c.Submit("exec sleep 600", "-N2"), c.Submit("echo never", "-N2")
	c.AwaitJob(running, "RUNNING")
	list := c.Run("squeue", "--noheader", "--format=%i %t", "--sort=i")
	require.Equal(c, running+" R\n"+waiting+" PD", list)
	c.Run("scancel", waiting)
	c.Kubectl("slurmcluster", "scancel", "demo", running)
	c.AwaitJob(running, "CANCELLED")
	c.AwaitJob(waiting, "CANCELLED")
	c.Eventually(harness.Patience, "the queue is empty", func() error {
		if left := c.Run("squeue", "--noheader"); left != "" {
			return fmt.Errorf("it holds %s", left)
		}
		return nil
	})
}
