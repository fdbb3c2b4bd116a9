package scale

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/change"
)

// maxNodes is the API's limit.
const maxNodes = 5000

// wanted is what the command line asks for. What is nil was not asked for.
type wanted struct {
	set         string
	replicas    *int32
	least, most *int32
}

// fields are the fields of the cluster that have to change.
func (w *wanted) fields(cluster *v1alpha1.SlurmCluster) ([]change.Field, error) {
	i, err := w.find(cluster)
	if err != nil {
		return nil, err
	}
	set := &cluster.Spec.NodeSets[i]
	path := fmt.Sprintf("/spec/nodeSets/%d/", i)
	if set.Autoscale != nil {
		return w.limits(set, path+"autoscale/")
	}
	if w.least != nil || w.most != nil {
		return nil, fmt.Errorf("node set %s is not autoscaled; give the number of its nodes: kubectl slurmcluster scale %s 4 --node-set %s", set.Name, cluster.Name, set.Name)
	}
	if w.replicas == nil {
		return nil, fmt.Errorf("give the number of nodes, such as: kubectl slurmcluster scale %s 4", cluster.Name)
	}
	return []change.Field{{Path: path + "replicas", Value: *w.replicas}}, nil
}

// find finds the node set.
func (w *wanted) find(cluster *v1alpha1.SlurmCluster) (int, error) {
	names := make([]string, 0, len(cluster.Spec.NodeSets))
	for i := range cluster.Spec.NodeSets {
		names = append(names, cluster.Spec.NodeSets[i].Name)
	}
	if w.set == "" {
		if len(names) == 1 {
			return 0, nil
		}
		return 0, fmt.Errorf("%s has several node sets; choose one with --node-set: %s", cluster.Name, strings.Join(names, ", "))
	}
	i := slices.Index(names, w.set)
	if i < 0 {
		return 0, fmt.Errorf("%s has no node set %q; it has: %s", cluster.Name, w.set, strings.Join(names, ", "))
	}
	return i, nil
}

// limits are the fields of an autoscaled set.
func (w *wanted) limits(set *v1alpha1.NodeSet, path string) ([]change.Field, error) {
	least, most := set.Autoscale.Min, set.Autoscale.Max
	if w.replicas != nil || w.least == nil && w.most == nil {
		return nil, fmt.Errorf("node set %s is autoscaled and has %d to %d nodes, as jobs need them; change that with --min and --max",
			set.Name, least, most)
	}
	var fields []change.Field
	if w.least != nil {
		least = *w.least
		fields = append(fields, change.Field{Path: path + "min", Value: least})
	}
	if w.most != nil {
		most = *w.most
		fields = append(fields, change.Field{Path: path + "max", Value: most})
	}
	if least < 0 || most < 1 || least > most || most > maxNodes {
		return nil, fmt.Errorf("node set %s cannot have %d to %d nodes: --min is at least 0, --max at least 1, at least --min and at most %d",
			set.Name, least, most, maxNodes)
	}
	return fields, nil
}
