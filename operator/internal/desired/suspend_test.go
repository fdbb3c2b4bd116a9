package desired

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

func TestSuspended(t *testing.T) {
	c := &v1alpha1.SlurmCluster{Spec: v1alpha1.SlurmClusterSpec{
		NodeSets: []v1alpha1.NodeSet{{Name: "a"}, {Name: "b", Autoscale: &v1alpha1.Autoscale{Min: 1, Max: 3}}},
	}}
	require.Same(t, c, Suspended(c))

	c.Spec.Suspend = true
	before := c.DeepCopy()
	out := Suspended(c)
	require.Equal(t, before, c, "what was written stays")
	require.Equal(t, []v1alpha1.NodeSet{{Name: "a", Replicas: ptr.To[int32](0)}, {Name: "b", Replicas: ptr.To[int32](0)}}, out.Spec.NodeSets)
	require.Equal(t, []v1alpha1.Partition{{Name: "main", Default: true, State: "DOWN"}}, out.Spec.Partitions)

	c.Spec.Partitions = []v1alpha1.Partition{{Name: "x", State: "UP"}, {Name: "y", State: "INACTIVE"}, {Name: "z"}}
	out = Suspended(c)
	require.Equal(t, []v1alpha1.Partition{{Name: "x", State: "DOWN"}, {Name: "y", State: "INACTIVE"}, {Name: "z", State: "DOWN"}}, out.Spec.Partitions)
	require.Equal(t, v1alpha1.PartitionState("UP"), c.Spec.Partitions[0].State)
}
