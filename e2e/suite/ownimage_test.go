//go:build e2e

package suite

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// userImage is an image of tests that has nothing of Slurm.
func userImage(t *testing.T, name string) string {
	t.Helper()
	list := os.Getenv("USER_IMAGES")
	require.NotEmpty(t, list, "USER_IMAGES must name the images without Slurm to test with, separated by commas")
	for image := range strings.SplitSeq(list, ",") {
		if strings.Contains(image, "/"+name+":") {
			return image
		}
	}
	require.Fail(t, "USER_IMAGES does not name "+name)
	return ""
}

func ofImage(name, image string, nodes int32) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) {
		set := harness.NodeSet(name, nodes)
		set.Image = image
		s.NodeSets = append(s.NodeSets, set)
	}
}

// TestOwnImage: nodes of images that have nothing of Slurm, one with glibc and one with musl, beside one of Slurm's own image. Jobs see
// their node's image, its environment, and Slurm's commands.
func TestOwnImage(t *testing.T) {
	t.Parallel()
	for _, image := range harness.Images(t) {
		for _, auth := range []v1alpha1.AuthType{v1alpha1.AuthMunge, v1alpha1.AuthSlurm} {
			t.Run(path.Base(image)+"/"+string(auth), func(t *testing.T) {
				t.Parallel()
				e := harness.New(t)
				c := e.Start("demo", nodes(1), useImage(image), ofImage("py", userImage(t, "user"), 2), ofImage("bb", userImage(t, "busybox"), 1),
					func(s *v1alpha1.SlurmClusterSpec) { s.Auth.Type = auth })
				pod := &corev1.Pod{}
				require.NoError(t, e.Get(e.Ctx, client.ObjectKey{Namespace: e.Namespace, Name: "demo-py-0"}, pod))
				copied := slices.ContainsFunc(pod.Spec.InitContainers, func(i corev1.Container) bool { return i.Name == contract.ContainerBundle })
				require.Equal(t, slices.Contains(e.OperatorContainer().Args, "--image-volumes=false"), copied, "an init container copies Slurm")

				require.Equal(t, "3 yes user", c.Run("srun", "-C", "py", "--chdir=/tmp", "python", "-c",
					"import os, sys, pwd; print(sys.version_info[0], os.environ['USER_IMAGE'], pwd.getpwuid(os.getuid()).pw_name)"))
				c.Run("srun", "-C", "cpu", "sh", "-c", "! command -v python")
				require.Equal(t, "py-0\npy-1", c.Run("sh", "-c", "srun -C py -N 2 hostname | sort"))

				// A batch script's steps, and what it asks Slurm.
				id := c.Submit(`set -e
echo "$USER_IMAGE"; PATH=/mine:$PATH srun sh -c 'echo "$PATH"'
scontrol show job $SLURM_JOB_ID | grep -o 'JobState=RUNNING'
squeue --me --noheader --format=%T`, "-C", "py", "--output=/tmp/out")
				c.AwaitJob(id, "COMPLETED")
				out := strings.Split(c.RunOn(node(c, id), "cat", "/tmp/out"), "\n")
				require.Equal(t, []string{"yes", "JobState=RUNNING", "RUNNING"}, append(out[:1:1], out[2:]...))
				require.Regexp(t, "^/mine:/opt/user/bin:.*:"+contract.BundlePrograms+"$", out[1], "the image's PATH, and before it what the job puts there")

				require.Equal(t, "no glibc on bb-0\nhello from musl",
					c.Run("srun", "-C", "bb", "sh", "-c", "ls /lib | grep -v ^ld-musl- || echo no glibc on $(hostname); srun --overlap hello"))
				id = c.Submit("srun sleep 1000", "-C", "bb")
				c.AwaitJob(id, "RUNNING")
				c.Run("scancel", id)
				c.AwaitJob(id, "CANCELLED")
			})
		}
	}
}

// node is where a job ran.
func node(c *harness.Cluster, id string) string { return c.JobField(id, "BatchHost") }

// TestOwnImageWithoutShell: an image that Slurm cannot start jobs in is told so.
func TestOwnImageWithoutShell(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Create("demo", nodes(1), ofImage("op", e.OperatorContainer().Image, 1))
	c.AwaitDegraded(v1alpha1.ReasonNodeUnusable, "the image of this node set has no /bin/sh")
}
