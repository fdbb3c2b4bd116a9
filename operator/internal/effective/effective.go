// Package effective turns a SlurmCluster as it was written into the one that is to be. It is pure.
package effective

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// partitionDown is the state of a partition that takes jobs and starts none, in Slurm's words.
const partitionDown v1alpha1.PartitionState = "DOWN"

// Of returns the cluster that is to be; c itself stays as it is.
func Of(c *v1alpha1.SlurmCluster) *v1alpha1.SlurmCluster {
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
		spec.Partitions = []v1alpha1.Partition{{Name: desired.DefaultPartition, Default: true}}
	}
	for i := range spec.Partitions {
		if state := &spec.Partitions[i].State; *state == "" || *state == "UP" {
			*state = partitionDown
		}
	}
}
