package pods

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

func suspended(c *v1alpha1.SlurmCluster) { c.Spec.Suspend = true }

func open(t *testing.T, pods []runtime.Object, changes ...func(*v1alpha1.SlurmCluster)) *Cluster {
	refuse := clitest.Runner(func(context.Context, podexec.Target, []string, podexec.Streams) error {
		return errors.New(`pods "demo-controller-0" not found`)
	})
	w := clitest.New(t, refuse, []runtime.Object{clitest.Cluster(changes...)}, pods...)
	c, err := Open(w.Env, "demo")
	require.NoError(t, err)
	return c
}

const resume = "demo is suspended; to have it back: kubectl slurmcluster resume demo -n team-a"

func TestSuspended(t *testing.T) {
	c := open(t, nil, suspended)
	_, err := c.Output(t.Context(), c.Controller(), "squeue")
	require.ErrorIs(t, err, ErrSuspended)
	require.EqualError(t, err, resume)

	_, err = c.Node(t.Context(), "cpu-0")
	require.ErrorIs(t, err, ErrSuspended)
	require.EqualError(t, err, "node cpu-0 has no running pod; "+resume)
}

// Without a volume, slurmctld runs on.
func TestSuspendedWithController(t *testing.T) {
	c := open(t, []runtime.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo-controller-0", Namespace: clitest.Namespace}}}, suspended)
	_, err := c.Output(t.Context(), c.Controller(), "squeue")
	require.NotErrorIs(t, err, ErrSuspended)
	assert.ErrorContains(t, err, "running a command in pod demo-controller-0")
}

func TestNoNode(t *testing.T) {
	_, err := open(t, nil).Node(t.Context(), "cpu-0")
	var noNode *NoNodeError
	require.ErrorAs(t, err, &noNode)
	assert.EqualError(t, err, "node cpu-0 has no running pod; see: kubectl slurmcluster status demo -n team-a")
}
