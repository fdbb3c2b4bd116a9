package clitest

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// Cluster is SlurmCluster "demo" with node set cpu, three minutes old, as changed.
func Cluster(changes ...func(*v1alpha1.SlurmCluster)) *v1alpha1.SlurmCluster {
	two := int32(2)
	cluster := &v1alpha1.SlurmCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: Namespace, UID: "1", Generation: 1, CreationTimestamp: Ago(3 * time.Minute)},
		Spec:       v1alpha1.SlurmClusterSpec{NodeSets: []v1alpha1.NodeSet{{Name: "cpu", Replicas: &two}}},
	}
	for _, change := range changes {
		change(cluster)
	}
	return cluster
}

// Ago is a time whose age rounds to d.
func Ago(d time.Duration) metav1.Time {
	return metav1.Time{Time: time.Now().Add(-d - 500*time.Millisecond)}
}

// Get reads cluster "demo".
func (w *World) Get(t *testing.T) *v1alpha1.SlurmCluster {
	t.Helper()
	object, err := w.Tracker.Get(v1alpha1.SchemeGroupVersion.WithResource(cli.Resource), Namespace, "demo")
	require.NoError(t, err)
	return object.DeepCopyObject().(*v1alpha1.SlurmCluster)
}

// Set writes cluster "demo".
func (w *World) Set(t *testing.T, cluster *v1alpha1.SlurmCluster) {
	t.Helper()
	require.NoError(t, w.Tracker.Update(v1alpha1.SchemeGroupVersion.WithResource(cli.Resource), cluster, Namespace))
}

// Run runs a command with these arguments.
func Run(t *testing.T, cmd *cobra.Command, args ...string) error {
	t.Helper()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(t.Context())
}
