//go:build e2e

package suite

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestContainers types what docs/how-to/containers.md shows, in a namespace under Pod Security restricted: jobs in containers in pods.
// Without the profile there are none.
func TestContainers(t *testing.T) {
	profile := os.Getenv("SECCOMP_PROFILE")
	if profile == "" {
		t.Skip("SECCOMP_PROFILE names no seccomp profile on the machines: see docs/how-to/containers.md")
	}
	text, err := os.ReadFile("../../docs/how-to/containers.md")
	require.NoError(t, err)
	steps := consoleSteps(string(text))
	require.Greater(t, len(steps), 2)
	forImages(t, func(e *harness.Env, use harness.Change) {
		tenant(e)
		image := userImage(t, "user")
		spec := &v1alpha1.SlurmClusterSpec{}
		use(spec)
		dir := e.TempDir()
		environment := append(os.Environ(), "KUBECONFIG="+accountKubeconfig(e, "tenant", dir), "IMAGE="+image, "PROFILE="+profile)
		for i, step := range steps {
			if i == 0 {
				step.command += " --image " + spec.Image // people get the image that their operator was installed with
			}
			require.NoError(e, step.try(e.Ctx, dir, environment))
		}
		c := e.Cluster("box")
		c.Update(func(s *v1alpha1.SlurmClusterSpec) {
			s.NodeSets[0].SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
		})
		c.AwaitSettled()
		_, err := c.Try("srun", "ch-run", "/images/mine", "--", "true")
		require.ErrorContains(e, err, "can't init user+mount namespaces: Operation not permitted")
	})
}
