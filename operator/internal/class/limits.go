package class

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/lifetime"
)

// Use is what a cluster, with what its class has filled in, has of what a class may limit.
func Use(className string, spec *v1alpha1.SlurmClusterSpec) *v1alpha1.Granted {
	use := &v1alpha1.Granted{
		ClassName: className, Image: spec.Image,
		TTL: spec.Lifecycle.TTL, IdleTimeout: spec.Lifecycle.IdleTimeout,
		ConfigKeys: slices.Sorted(maps.Keys(spec.Config)),
	}
	for _, set := range spec.NodeSets {
		nodes := desired.Most(set)
		use.Nodes += int32(nodes)
		add(&use.CPU, set.Resources.CPU, nodes)
		add(&use.Memory, set.Resources.Memory, nodes)
		most(&use.NodeCPU, set.Resources.CPU)
		most(&use.NodeMemory, set.Resources.Memory)
		addName(&use.NodeImages, set.Image)
		addName(&use.SeccompProfiles, profileOf(set))
	}
	for _, v := range spec.Volumes {
		if v.Image != nil {
			addName(&use.NodeImages, v.Image.Reference)
		}
	}
	return use
}

// profileOf is a node set's seccomp profile, as a class names it; empty for RuntimeDefault.
func profileOf(set v1alpha1.NodeSet) string {
	switch p := set.SeccompProfile; {
	case p == nil || p.Type == corev1.SeccompProfileTypeRuntimeDefault:
		return ""
	case p.LocalhostProfile != nil:
		return *p.LocalhostProfile
	default:
		return string(p.Type)
	}
}

func addName(list *[]string, name string) {
	if name != "" && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

func add(sum *resource.Quantity, one resource.Quantity, times int) {
	one = one.DeepCopy()
	one.Mul(int64(times))
	sum.Add(one)
}

func most(largest *resource.Quantity, one resource.Quantity) {
	if one.Cmp(*largest) > 0 {
		*largest = one.DeepCopy()
	}
}

// Excess is what a cluster has beyond its class.
type Excess struct {
	// Message says it with the number that is allowed.
	Message string
	// New tells that it was not granted before.
	New bool
}

// checks collects what exceeds a class.
type checks struct {
	class string
	found []Excess
}

// Exceeds says what a cluster has beyond its class. granted is what it had when the class last allowed it, or nil.
func Exceeds(spec *v1alpha1.SlurmClusterSpec, use, granted *v1alpha1.Granted, class *v1alpha1.SlurmClusterClass, operatorImage string) []Excess {
	l, c := &class.Spec.Limits, &checks{class: class.Name}
	had := granted
	if had == nil {
		had = &v1alpha1.Granted{}
	}
	if l.Nodes != nil && use.Nodes > *l.Nodes {
		c.exceeds(use.Nodes > had.Nodes, "%d nodes at most, and has %d", *l.Nodes, use.Nodes)
	}
	c.quantity(l.CPU, use.CPU, had.CPU, "%s CPUs on all nodes together at most, and has %s")
	c.quantity(l.Memory, use.Memory, had.Memory, "%s of memory on all nodes together at most, and has %s")
	c.quantity(l.NodeCPU, use.NodeCPU, had.NodeCPU, "nodes of %s CPUs at most, and has some of %s")
	c.quantity(l.NodeMemory, use.NodeMemory, had.NodeMemory, "nodes of %s of memory at most, and has some of %s")
	c.duration(l.TTL, use.TTL, had.TTL, "a ttl of %s at most, and has one of %s")
	c.duration(l.IdleTimeout, use.IdleTimeout, had.IdleTimeout, "an idleTimeout of %s at most, and has one of %s")
	c.image(class, use.Image, granted == nil || granted.Image != use.Image, operatorImage)
	for _, image := range use.NodeImages {
		c.image(class, image, !slices.Contains(had.NodeImages, image), operatorImage)
	}
	for _, profile := range use.SeccompProfiles {
		if !slices.Contains(l.SeccompProfiles, profile) {
			allowed := append([]string{string(corev1.SeccompProfileTypeRuntimeDefault)}, l.SeccompProfiles...)
			c.exceeds(!slices.Contains(had.SeccompProfiles, profile), "seccompProfile %s, and has %s", listed(allowed), profile)
		}
	}
	if l.ConfigKeys != nil {
		for _, key := range use.ConfigKeys {
			if !slices.ContainsFunc(l.ConfigKeys, func(k v1alpha1.ConfigKey) bool { return strings.EqualFold(string(k), key) }) && !setBy(class, key) {
				c.exceeds(!slices.Contains(had.ConfigKeys, key), "only %s in spec.config, and has %s", listed(l.ConfigKeys), key)
			}
		}
	}
	if len(l.Tenancies) > 0 && !slices.Contains(l.Tenancies, spec.Tenancy) {
		c.exceeds(granted == nil, "tenancy %s, and has %s", listed(l.Tenancies), spec.Tenancy)
	}
	if l.Isolated && (spec.Network.Isolation == v1alpha1.NetworkIsolatedNone || len(spec.Network.From) > 0) {
		c.exceeds(granted == nil, "network.isolation: Isolated without network.from, and has another network")
	}
	return c.found
}

func (c *checks) exceeds(isNew bool, format string, args ...any) {
	c.found = append(c.found, Excess{New: isNew, Message: fmt.Sprintf("a cluster of class %s may have ", c.class) + fmt.Sprintf(format, args...)})
}

func (c *checks) quantity(limit *resource.Quantity, use, had resource.Quantity, format string) {
	if limit != nil && use.Cmp(*limit) > 0 {
		c.exceeds(use.Cmp(had) > 0, format, limit, &use)
	}
}

func (c *checks) duration(limit, use, had *metav1.Duration, format string) {
	if limit == nil || use == nil || use.Duration <= limit.Duration {
		return
	}
	var before time.Duration
	if had != nil {
		before = had.Duration
	}
	c.exceeds(use.Duration > before, format, lifetime.Duration(limit.Duration), lifetime.Duration(use.Duration))
}

// image: that of the class and that of the operator are always allowed.
func (c *checks) image(class *v1alpha1.SlurmClusterClass, image string, isNew bool, operatorImage string) {
	allowed := class.Spec.Limits.Images
	if len(allowed) == 0 || image == "" || image == class.Spec.Defaults.Image || image == operatorImage {
		return
	}
	for _, pattern := range allowed {
		if begin, open := strings.CutSuffix(string(pattern), "*"); image == begin || open && strings.HasPrefix(image, begin) {
			return
		}
	}
	c.exceeds(isNew, "image %s, and has %s", listed(allowed), image)
}

func setBy(class *v1alpha1.SlurmClusterClass, key string) bool {
	_, is := class.Spec.Defaults.Config[key]
	return is
}

func listed[S ~string](list []S) string {
	if len(list) == 0 {
		return "nothing"
	}
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}
