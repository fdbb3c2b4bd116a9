//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// withDevices adds a node set of one node with two CPUs and devices.
func withDevices(devices ...v1alpha1.Device) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) {
		set := harness.NodeSet("gpu", 1)
		set.Resources.CPU = resource.MustParse("2")
		set.Resources.Devices = devices
		s.NodeSets = append(s.NodeSets, set)
	}
}

// TestDevices: a running cluster gets a node with devices, jobs get them one by one, and it goes again. What has
// nothing to do with devices is not touched by any of it.
func TestDevices(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		device := v1alpha1.Device{Resource: "example.com/gpu-" + strings.ToLower(e.Namespace), Count: 2}
		e.Devices(device.Resource, 2)
		c := e.Start("demo", use, nodes(1))
		gresTypes := func() string {
			return c.Run("sh", "-c", "scontrol show config | sed -n 's/^GresTypes *= //p'")
		}
		require.Equal(e, "(null)", gresTypes(), "a cluster without devices knows nothing of them")
		before := c.Submit("sleep 3600", "-w", "cpu-0")
		c.AwaitJob(before, "RUNNING")

		c.Update(withDevices(device))
		c.AwaitSettled()
		require.Equal(e, "gpu", gresTypes())
		require.Contains(e, c.Run("scontrol", "show", "node", "gpu-0"), "Gres=gpu:nvidia:2")
		require.Contains(e, c.Run("scontrol", "show", "node", "cpu-0"), "Gres=(null)")
		require.Equal(e, "/dev/nvidia0\n/dev/nvidia1", c.Run("srun", "--gres=gpu:1", "sh", "-c", "ls /dev/nvidia*"))

		const tell = "echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS > $SLURM_JOB_ID; sleep 3600"
		jobs := []string{c.Submit(tell, "--gres=gpu:nvidia:1"), c.Submit(tell, "--gpus=1"), c.Submit(tell, "--gpus-per-node=1")}
		c.AwaitJob(jobs[0], "RUNNING")
		c.AwaitJob(jobs[1], "RUNNING")
		c.Eventually(harness.Patience, "each job has a GPU of its own", func() error {
			if got := c.RunOn("gpu-0", "cat", jobs[0], jobs[1]); got != "0 0\n1 1" {
				return fmt.Errorf("they have %q", got)
			}
			return nil
		})
		c.AwaitJob(jobs[2], "PENDING")
		c.Run("scancel", jobs[0])
		c.AwaitJob(jobs[2], "RUNNING")
		_, err := c.TryIn("#!/bin/sh\ntrue\n", "sbatch", "--gres=gpu:3")
		require.ErrorContains(e, err, "Requested node configuration is not available")

		c.Run("scancel", jobs[1], jobs[2])
		c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets = s.NodeSets[:1] })
		c.Eventually(harness.Patience, "GresTypes follows the last device", func() error {
			if got := gresTypes(); got != "(null)" {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
		c.AwaitSettled()
		c.AwaitJob(before, "RUNNING")
		require.Equal(e, "0", c.JobField(before, "Restarts"), "it ran all the time")
	})
}

// TestDevicesWithoutFiles: a node whose devices have other files than were named says so; one whose devices have no
// files counts them.
func TestDevicesWithoutFiles(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	device := v1alpha1.Device{Resource: "example.com/" + e.Namespace, Gres: "fpga"}
	e.Devices(device.Resource, 1)
	missing := device
	missing.Files = []v1alpha1.DeviceFile{"/dev/xclmgmt*"}
	c := e.Create("demo", nodes(0), withDevices(missing))
	c.AwaitDegraded(v1alpha1.ReasonNodeUnusable, "gpu-0", "1 devices of GRES fpga were asked for", "no device file of any like /dev/xclmgmt*")
	c.Update(func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets[1].Resources.Devices = []v1alpha1.Device{device} })
	c.AwaitReady()
	require.Contains(e, c.Run("scontrol", "show", "node", "gpu-0"), "Gres=fpga:1")
	require.Equal(e, "gpu-0", c.Run("srun", "--gres=fpga:1", "hostname"))
}
