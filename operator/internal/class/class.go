// Package class says what a SlurmClusterClass means for a cluster. It is pure.
package class

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Of returns the name of a cluster's class, and the class; nil where it has none, or there is none of that name. A cluster
// that names no class keeps the one that it was first granted by; one that exists without that has none.
func Of(c *v1alpha1.SlurmCluster, all []v1alpha1.SlurmClusterClass, exists bool) (name string, class *v1alpha1.SlurmClusterClass) {
	name = c.Spec.ClassName
	switch {
	case name != "":
	case c.Status.Granted != nil:
		name = c.Status.Granted.ClassName
	case !exists:
		if class = v1alpha1.DefaultClass(all); class != nil {
			return class.Name, class
		}
	}
	if at := slices.IndexFunc(all, func(k v1alpha1.SlurmClusterClass) bool { return k.Name == name }); at >= 0 {
		return name, &all[at]
	}
	return name, nil
}

// Complete fills in what the owner of a cluster has left to its class.
func Complete(spec *v1alpha1.SlurmClusterSpec, class *v1alpha1.SlurmClusterClass) {
	d, limits := &class.Spec.Defaults, &class.Spec.Limits
	spec.Image = cmp.Or(spec.Image, d.Image)
	if len(spec.NodeSets) == 0 {
		spec.NodeSets = d.NodeSets
	}
	spec.NodeSets = slices.Clone(spec.NodeSets)
	for i := range spec.NodeSets {
		set := &spec.NodeSets[i]
		set.RuntimeClassName = cmp.Or(set.RuntimeClassName, d.RuntimeClassName)
		set.PriorityClassName = cmp.Or(set.PriorityClassName, d.PriorityClassName)
		completePods(&set.Template, d)
	}
	completePods(&spec.Controller.Template, d)
	spec.Volumes = withVolumes(spec.Volumes, d.Volumes)
	spec.Config = merged(d.Config, spec.Config)
	spec.Lifecycle.TTL = cmp.Or(spec.Lifecycle.TTL, d.Lifecycle.TTL, limits.TTL)
	spec.Lifecycle.IdleTimeout = cmp.Or(spec.Lifecycle.IdleTimeout, d.Lifecycle.IdleTimeout, limits.IdleTimeout)
}

func completePods(t *v1alpha1.PodTemplate, d *v1alpha1.ClassDefaults) {
	t.NodeSelector = merged(d.NodeSelector, t.NodeSelector)
	t.Tolerations = append(slices.Clip(slices.Clone(t.Tolerations)), missing(t.Tolerations, d.Tolerations)...)
}

func missing(have, more []corev1.Toleration) (list []corev1.Toleration) {
	for i := range more {
		if !slices.ContainsFunc(have, func(t corev1.Toleration) bool { return t.MatchToleration(&more[i]) }) {
			list = append(list, more[i])
		}
	}
	return list
}

func withVolumes(have, more []v1alpha1.SharedVolume) []v1alpha1.SharedVolume {
	have = slices.Clip(have)
	for _, v := range more {
		if !slices.ContainsFunc(have, func(h v1alpha1.SharedVolume) bool { return h.Name == v.Name || h.MountPath == v.MountPath }) {
			have = append(have, v)
		}
	}
	return have
}

// merged is first with second on top; nil if there is nothing.
func merged[V any](first, second map[string]V) map[string]V {
	if len(first) == 0 {
		return second
	}
	out := maps.Clone(first)
	maps.Copy(out, second)
	return out
}

// Missing is the sentence for a cluster whose class does not exist.
func Missing(name string) string {
	return fmt.Sprintf("there is no SlurmClusterClass %s: choose one of those that kubectl get slurmclusterclasses lists", name)
}
