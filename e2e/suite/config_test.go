//go:build e2e

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestConfig: a change of slurm.conf reaches the running cluster, its nodes too, while a job runs.
func TestConfig(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		id := c.Submit("exec sleep 600", "-w", "cpu-0")
		c.AwaitJob(id, "RUNNING")
		before := c.Get().Status.ConfigHash
		require.NotEmpty(e, before)

		c.Update(func(s *v1alpha1.SlurmClusterSpec) {
			s.Config = map[string]v1alpha1.ConfigValue{"SchedulerParameters": "bf_interval=7,sched_interval=7", "schedulertimeslice": "31"}
			s.Partitions = []v1alpha1.Partition{{Name: "main", MaxTime: "2:00:00", DefaultTime: "30"}}
		})
		took := c.AwaitSettled()
		e.Logf("the new configuration ran after %s", took)
		require.NotEqual(e, before, c.Get().Status.ConfigHash)
		require.Equal(e, "Reconfigure", c.Get().Status.ConfigAppliedBy)
		e.AwaitEvent(v1alpha1.ReasonConfigApplied, "runs with a new configuration (Reconfigure)")
		shown := c.Run("scontrol", "show", "config")
		require.Regexp(e, `SchedulerParameters +=.*bf_interval=7`, shown)
		require.Regexp(e, `SchedulerTimeSlice +=.*31`, shown)
		require.Contains(e, c.Run("scontrol", "show", "partition", "main"), "MaxTime=02:00:00")
		c.Eventually(harness.Patience, "cpu-1 got the configuration", func() error {
			if conf := c.RunOn("cpu-1", "cat", "/run/slurm/conf/slurm.conf"); !strings.Contains(conf, "bf_interval=7") {
				return fmt.Errorf("its file is %s", conf)
			}
			return nil
		})
		unharmed(c, id)
		require.Equal(e, "cpu-1", c.Run("srun", "hostname"))

		c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.Config, s.Partitions = nil, nil })
		c.AwaitSettled()
		require.Equal(e, before, c.Get().Status.ConfigHash)
		unharmed(c, id)
	})
}

// TestImageChange moves an idle cluster to the other version of Slurm, and back.
func TestImageChange(t *testing.T) {
	t.Parallel()
	images := harness.Images(t)
	if len(images) < 2 {
		t.Skip("SLURM_IMAGES names one image only")
	}
	e := harness.New(t)
	c := e.Start("demo", useImage(images[0]))
	first := c.Get().Status.SlurmVersion
	for _, image := range []string{images[1], images[0]} {
		c.Update(useImage(image))
		c.AwaitSettled()
		version := c.Get().Status.SlurmVersion
		require.Equal(t, image == images[0], version == first)
		for _, node := range []string{"cpu-0", "cpu-1"} {
			require.Regexp(t, `^slurm(-wlm)? `+version+`$`, c.Run("srun", "-w", node, "sinfo", "--version"))
		}
	}
}

// TestImageWaits: a new image does not cost the job that runs, nor the queue.
func TestImageWaits(t *testing.T) {
	t.Parallel()
	images := harness.Images(t)
	if len(images) < 2 {
		t.Skip("SLURM_IMAGES names one image only")
	}
	e := harness.New(t)
	c := e.Start("demo", nodes(1), useImage(images[0]))
	running, waiting := c.Submit("exec sleep 600"), c.Submit("echo done")
	c.AwaitJob(running, "RUNNING")
	c.Update(useImage(images[1]))
	c.Await("waiting for the job", func(o *v1alpha1.SlurmCluster) bool {
		return harness.Is(o, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonWaitingForJobs)
	})
	unharmed(c, running)
	require.Equal(t, "PENDING", c.JobField(waiting, "JobState"))
	c.Run("scancel", running, waiting)
	c.AwaitSettled()
	require.Equal(t, "ok", c.Run("srun", "echo", "ok"))
}

// sorted sorts lines and squeezes their blanks.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
