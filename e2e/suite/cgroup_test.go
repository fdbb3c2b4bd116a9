//go:build e2e

package suite

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// writable is the local Kubernetes' runtime class with writable cgroups.
const writable = "cgroup-writable"

// TestCgroupsReadOnlyAndWritable: usually containers see their cgroups read-only, but containerd can mount them writable.
// A node is the same with both.
func TestCgroupsReadOnlyAndWritable(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		_, err := e.Set.NodeV1().RuntimeClasses().Get(e.Ctx, writable, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			e.Skip("this Kubernetes has no runtime class " + writable)
		}
		require.NoError(e, err)
		c := e.Start("demo", use, nodes(1), func(s *v1alpha1.SlurmClusterSpec) {
			set := harness.NodeSet("open", 1)
			set.RuntimeClassName = writable
			s.NodeSets = append(s.NodeSets, set)
		})
		for node, option := range map[string]string{"cpu-0": "ro", "open-0": "rw"} {
			options := c.RunOn(node, "sh", "-c", "awk '$9 ~ /^cgroup/ || $8 ~ /^cgroup/ { print substr($6, 1, 2) }' /proc/self/mountinfo | sort -u")
			require.Equal(e, option, options, node)
			require.Equal(e, "1 480", c.Run("sinfo", "--noheader", "--nodes="+node, "--format=%c %m"))
			require.Equal(e, node, c.Run("srun", "--nodelist="+node, "hostname"))
		}
	})
}
