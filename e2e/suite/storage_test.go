//go:build e2e

package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// TestHome: a new home is made and shared by all pods, goes with the cluster, or stays for the next one if that was asked.
func TestHome(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	home := func(keep bool) harness.Change {
		return func(s *spec) {
			size := resource.MustParse("50Mi")
			s.Home = &v1alpha1.HomeSpec{Size: &size, AccessMode: corev1.ReadWriteOnce, Keep: keep}
		}
	}
	c := e.Start("demo", home(false))
	id := c.Submit("echo from $(hostname) > result; echo printed", "-w", "cpu-1")
	c.AwaitJob(id, "COMPLETED")
	require.Equal(t, "from cpu-1", c.Run("cat", "result"))
	require.Equal(t, "from cpu-1", c.RunOn("cpu-0", "cat", "result"))
	require.Equal(t, "printed\n", e.Kubectl("slurmcluster", "logs", "demo", id))
	e.Kubectl("slurmcluster", "delete", "demo")
	awaitGone(c)

	c = e.Start("demo", nodes(1), home(true))
	c.RunOn("cpu-0", "bash", "-c", "echo kept > result")
	e.Kubectl("slurmcluster", "delete", "demo")
	e.Eventually(harness.Patience, "the claim is all that is left", func() error {
		if left := leftovers(c); len(left) != 1 || left[0] != "*v1.PersistentVolumeClaim demo-home" {
			return errLeft(left)
		}
		return nil
	})
	c = e.Start("demo", nodes(1), func(s *spec) { s.Home = &v1alpha1.HomeSpec{ClaimName: "demo-home"} })
	require.Equal(t, "kept", c.Run("cat", "result"))
}

// TestTmp: /tmp is a volume with a limit, which the kubelet enforces.
func TestTmp(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Start("demo", nodes(1), set(func(n *v1alpha1.NodeSet) {
		size := resource.MustParse("20Mi")
		n.Resources.Tmp = &size
	}))
	before := uid(c, "demo-cpu-0")
	c.RunOn("cpu-0", "bash", "-c", "dd if=/dev/zero of=/tmp/much bs=1M count=40 status=none")
	c.Await("the node is replaced", func(*v1alpha1.SlurmCluster) bool { now := uid(c, "demo-cpu-0"); return now != "" && now != before })
	c.AwaitSettled()
}
