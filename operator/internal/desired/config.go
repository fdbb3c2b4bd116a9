package desired

import (
	"math/bits"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurmconf"
)

// DefaultPartition is the name of the partition of clusters that name none.
const DefaultPartition = "main"

// leastNodes is the smallest MaxNodeCount. slurmctld only learns a larger one by a reconfiguration, so
// there is room to grow from the start.
const leastNodes = 1024

// ConfigFiles renders Slurm's configuration. The error is a sentence for the user.
func ConfigFiles(c Cluster) (map[string]string, error) {
	spec := c.Object.Spec
	config := make(map[string]string, len(spec.Config))
	for k, v := range spec.Config {
		config[k] = string(v)
	}
	return slurmconf.Render(slurmconf.Cluster{
		Name:           c.Object.Name,
		ControllerHost: c.ControllerPodName(),
		ControllerIP:   c.ControllerIP,
		MaxNodes:       maxNodes(spec.NodeSets),
		NodeSets:       nodeSets(spec.NodeSets),
		Partitions:     partitions(spec.Partitions),
		OwnAuth:        c.ownAuth(),
		GresTypes:      gresTypes(c),
		ResumeSeconds:  resumeSeconds(spec.NodeSets),
		Config:         config,
	})
}

// ConfigMap holds the configuration files.
func ConfigMap(c Cluster, files map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(c.ConfigMapName(), c.Object.Namespace).
		WithLabels(c.labels("")).
		WithOwnerReferences(c.owner()).
		WithData(files)
}

// maxNodes is the next power of two above twice the wanted nodes: room for nodes that are being replaced,
// and few changes.
func maxNodes(sets []v1alpha1.NodeSet) int {
	wanted := 0
	for _, s := range sets {
		wanted += Most(s)
	}
	return max(leastNodes, 1<<bits.Len(uint(2*wanted)))
}

// Replicas is how many nodes a set wants always: without autoscaling, one if it does not say.
func Replicas(s v1alpha1.NodeSet) int {
	switch {
	case s.Autoscale != nil:
		return int(s.Autoscale.Min)
	case s.Replicas == nil:
		return 1
	}
	return int(*s.Replicas)
}

// Most is how many nodes a set may have.
func Most(s v1alpha1.NodeSet) int {
	if s.Autoscale != nil {
		return int(s.Autoscale.Max)
	}
	return Replicas(s)
}

func nodeSets(sets []v1alpha1.NodeSet) []slurmconf.NodeSet {
	out := make([]slurmconf.NodeSet, 0, len(sets))
	for _, s := range sets {
		cpus := max(1, s.Resources.CPU.MilliValue()/1000)
		memory := contract.NodeMemoryMB(s.Resources.Memory.Value())
		out = append(out, slurmconf.NodeSet{Name: s.Name, MemoryPerCPUMB: max(1, memory/cpus)})
	}
	return out
}

func partitions(list []v1alpha1.Partition) []slurmconf.Partition {
	if len(list) == 0 {
		return []slurmconf.Partition{{Name: DefaultPartition, Default: true}}
	}
	out := make([]slurmconf.Partition, 0, len(list))
	anyDefault := false
	for _, p := range list {
		sets := make([]string, 0, len(p.NodeSets))
		for _, n := range p.NodeSets {
			sets = append(sets, string(n))
		}
		anyDefault = anyDefault || p.Default
		out = append(out, slurmconf.Partition{
			Name: p.Name, NodeSets: sets, Default: p.Default, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
			MaxNodes: value(p.MaxNodes), PriorityTier: value(p.PriorityTier), State: string(p.State),
		})
	}
	if !anyDefault {
		out[0].Default = true
	}
	return out
}

func value(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}
