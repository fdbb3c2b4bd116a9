//go:build e2e

package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestStorage: a queue on a volume outlives its pod, and the job that runs meanwhile is not touched.
func TestStorage(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, storage("100Mi", false))
		running, waiting := c.Submit("exec sleep 600", "-w", "cpu-0"), c.Submit("echo done", "-N2")
		c.AwaitJob(running, "RUNNING")
		record := c.Watch()
		c.Kubectl("delete", "pod", "demo-controller-0")
		healed(c, record)
		c.AwaitSettled()
		unharmed(c, running)
		require.Equal(e, "PENDING", c.JobField(waiting, "JobState"))
		require.Equal(e, "ok", c.Run("srun", "-w", "cpu-1", "echo", "ok"))
		c.Run("scancel", running)
		c.AwaitJob(waiting, "COMPLETED")

		c.Kubectl("slurmcluster", "delete", "demo")
		e.Eventually(harness.Patience, "nothing is left", func() error {
			if left := leftovers(c); len(left) > 0 {
				return errLeft(left)
			}
			return nil
		})
	})
}

// TestDeletionWithStorage is timed, and alone: a cluster with a volume goes as quickly as one without.
func TestDeletionWithStorage(t *testing.T) {
	e := harness.New(t)
	c := e.Start("demo", storage("100Mi", false))
	start := time.Now()
	c.Kubectl("slurmcluster", "delete", "demo")
	e.Eventually(harness.Patience, "nothing is left", func() error {
		if left := leftovers(c); len(left) > 0 {
			return errLeft(left)
		}
		return nil
	})
	t.Logf("nothing is left after %s", time.Since(start).Round(10*time.Millisecond))
	require.Less(t, time.Since(start), deletionLimit)
}

// TestStorageKept: a volume that is asked to stay stays, with what was on it.
func TestStorageKept(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Start("demo", nodes(1), storage("100Mi", true))
	id := c.Submit("echo held", "--hold")
	c.Kubectl("slurmcluster", "delete", "demo")
	require.Equal(t, []string{"*v1.PersistentVolumeClaim state-demo-controller-0"}, leftovers(c))

	c = e.Start("demo", nodes(1), storage("100Mi", true))
	require.Equal(t, "held PENDING", c.Run("squeue", "--noheader", "--job="+id, "--format=held %T"))
	c.Run("scontrol", "release", id)
	c.AwaitJob(id, "COMPLETED")
}

// TestSharedVolume: a claim that all pods mount is a home directory that jobs and people share.
func TestSharedVolume(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	require.NoError(t, e.Kube.Create(e.Ctx, claim(e, "home")))
	c := e.Start("demo", volume("/home/user", false, true), func(s *spec) { s.Volumes[0].PersistentVolumeClaim.ClaimName = "home" })
	id := c.Submit("echo shared >file; hostname >>file", "-w", "cpu-1")
	c.AwaitJob(id, "COMPLETED")
	require.Equal(t, "shared\ncpu-1", c.Run("cat", "/home/user/file"))
	require.Equal(t, "shared\ncpu-1", c.Run("srun", "-w", "cpu-0", "cat", "/home/user/file"))
	c.Kubectl("slurmcluster", "delete", "demo")
	require.NoError(t, e.Get(e.Ctx, client.ObjectKey{Namespace: e.Namespace, Name: "home"}, &corev1.PersistentVolumeClaim{}),
		"the user's own claim stays")
}

// TestPartOfVolumeChanges: a file of a ConfigMap that is mounted by itself reaches the nodes too, though the kubelet never
// refreshes those.
func TestPartOfVolumeChanges(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	script := &corev1.ConfigMap{Data: map[string]string{"run.sh": "#!/bin/sh\necho first\n"}}
	script.Namespace, script.Name = e.Namespace, "scripts"
	require.NoError(t, e.Kube.Create(e.Ctx, script))
	c := e.Start("demo", nodes(1), func(s *v1alpha1.SlurmClusterSpec) {
		s.Volumes = []v1alpha1.SharedVolume{{Name: "run", MountPath: "/scripts/run.sh", SubPath: "run.sh",
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}}}}
	})
	require.Equal(t, "first", c.Run("srun", "sh", "/scripts/run.sh"))
	script.Data["run.sh"] = "#!/bin/sh\necho second\n"
	require.NoError(t, e.Update(e.Ctx, script))
	c.Eventually(harness.Patience, "jobs see the new script", func() error {
		if out, err := c.Try("srun", "--immediate=30", "sh", "/scripts/run.sh"); err != nil || out != "second" {
			return fmt.Errorf("it says %q, %w", out, err)
		}
		return nil
	})
}
