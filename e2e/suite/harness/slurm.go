//go:build e2e

package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// commandLimit bounds a command in a pod, so that one that hangs fails its test with its own name.
const commandLimit = 90 * time.Second

// Run runs a command in the controller pod and returns its output without the last newline.
func (c *Cluster) Run(command ...string) string {
	c.Helper()
	out, err := c.Try(command...)
	require.NoError(c, err)
	return out
}

// Try is Run with an error.
func (c *Cluster) Try(command ...string) (string, error) { return c.TryIn("", command...) }

// TryIn is Try with standard input.
func (c *Cluster) TryIn(in string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.Ctx, commandLimit)
	defer cancel()
	out, err := c.Exec(ctx, c.Controller(), strings.NewReader(in), command...)
	return strings.TrimRight(out, "\n"), err
}

// RunOn runs a command in a node's pod.
func (c *Cluster) RunOn(node string, command ...string) string {
	c.Helper()
	out, err := c.TryOn(node, command...)
	require.NoError(c, err)
	return out
}

// TryOn is RunOn with an error.
func (c *Cluster) TryOn(node string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.Ctx, commandLimit)
	defer cancel()
	out, err := c.Exec(ctx, c.Node(node), nil, command...)
	return strings.TrimRight(out, "\n"), err
}

// Submit submits a job that runs a line of shell and returns its id.
func (c *Cluster) Submit(line string, options ...string) string {
	c.Helper()
	command := append([]string{"sbatch", "--parsable"}, options...)
	out, err := c.TryIn("#!/bin/sh\n"+line+"\n", command...)
	require.NoError(c, err)
	return out
}

// AwaitSaved waits until slurmctld has written a job of this name to disk, which it does within five seconds:
// what was submitted after that is lost when slurmctld is killed.
func (c *Cluster) AwaitSaved(name string) {
	c.Helper()
	c.Eventually(Patience, "slurmctld has saved job "+name, func() error {
		_, err := c.Try("grep", "--quiet", "--text", name, contract.StateDir+"/state/job_state")
		return err
	})
}

// Job reads a field of a job, such as JobState.
func (c *Cluster) Job(id, field string) (string, error) {
	out, err := c.Try("scontrol", "show", "job", "-o", id)
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(out) {
		if value, ok := strings.CutPrefix(word, field+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("job %s has no %s: %s", id, field, out)
}

// JobField is Job without an error.
func (c *Cluster) JobField(id, field string) string {
	c.Helper()
	value, err := c.Job(id, field)
	require.NoError(c, err)
	return value
}

// AwaitJob waits until a job is in one of the states, such as RUNNING, and fails at once in a state that
// never becomes one of them.
func (c *Cluster) AwaitJob(id string, states ...string) time.Duration {
	c.Helper()
	what := fmt.Sprintf("job %s is %s", id, strings.Join(states, " or "))
	return c.Eventually(Patience, what, func() error {
		state, err := c.Job(id, "JobState")
		switch {
		case err != nil:
			return err
		case slices.Contains(states, state):
			return nil
		case slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}, state):
			require.FailNow(c, what, "it is %s: %s", state, c.Run("scontrol", "show", "job", id))
		}
		return fmt.Errorf("it is %s: %s", state, c.Run("squeue", "--noheader", "--format=%i %T %r %N"))
	})
}

// Sinfo lists the nodes in columns, one node a line, sorted.
func (c *Cluster) Sinfo(format string) []string {
	c.Helper()
	lines := strings.Split(c.Run("sinfo", "--noheader", "--Node", "--format="+format), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// AwaitSinfo waits until Sinfo shows exactly these lines.
func (c *Cluster) AwaitSinfo(format string, want ...string) {
	c.Helper()
	c.Eventually(Patience, "sinfo shows "+strings.Join(want, ", "), func() error {
		if got := c.Sinfo(format); !slices.Equal(got, want) {
			return fmt.Errorf("it shows %s", strings.Join(got, ", "))
		}
		return nil
	})
}
