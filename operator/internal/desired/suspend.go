package desired

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// partitionDown is the state of a partition that takes jobs and starts none, in Slurm's words.
const partitionDown v1alpha1.PartitionState = "DOWN"

// Suspended returns the cluster as it is to be while it is suspended, c itself if it is not; c stays as it is.
func Suspended(c *v1alpha1.SlurmCluster) *v1alpha1.SlurmCluster {
	if !c.Spec.Suspend {
		return c
	}
	out := *c
	out.Spec.NodeSets, out.Spec.Partitions = slices.Clone(c.Spec.NodeSets), slices.Clone(c.Spec.Partitions)
	suspend(&out.Spec)
	return &out
}

// suspend takes the nodes away. Partitions that are down still take jobs, which a partition without nodes does not, and
// Slurm switches no nodes on for them.
func suspend(spec *v1alpha1.SlurmClusterSpec) {
	for i := range spec.NodeSets {
		spec.NodeSets[i].Autoscale, spec.NodeSets[i].Replicas = nil, ptr.To[int32](0)
	}
	if len(spec.Partitions) == 0 {
		spec.Partitions = []v1alpha1.Partition{{Name: DefaultPartition, Default: true}}
	}
	for i := range spec.Partitions {
		if state := &spec.Partitions[i].State; *state == "" || *state == "UP" {
			*state = partitionDown
		}
	}
}
