package desired

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// gres is a generic resource of a node set's nodes.
type gres struct {
	name  string
	count int32
	files []string
}

// gresOf are the generic resources of a node set. Devices of the same name are one of them.
func gresOf(set v1alpha1.NodeSet) []gres {
	var list []gres
	for _, d := range set.Resources.Devices {
		name := GresName(d)
		at := slices.IndexFunc(list, func(g gres) bool { return g.name == name })
		if at < 0 {
			at = len(list)
			list = append(list, gres{name: name})
		}
		list[at].count += max(1, d.Count)
		for _, f := range d.Files {
			list[at].files = append(list[at].files, string(f))
		}
	}
	return list
}

// flag is slurmd-shim's --gres.
func (g gres) flag() string {
	flag := fmt.Sprintf("--gres=%s:%d", g.name, g.count)
	if len(g.files) > 0 {
		flag += "=" + strings.Join(g.files, ",")
	}
	return flag
}

func names(list []gres) []string {
	var all []string
	for _, g := range list {
		all = append(all, g.name)
	}
	return all
}

// gpuResource are the names that vendors' device plugins give to GPUs, parts of GPUs and what is used like one.
var gpuResource = regexp.MustCompile(`^(nvidia\.com|amd\.com|gpu\.intel\.com|habana\.ai)/|/gpu`)

var notInGres = regexp.MustCompile(`[^a-z0-9]+`)

// GresName is Slurm's name of a device.
func GresName(d v1alpha1.Device) string {
	if d.Gres != "" {
		return d.Gres
	}
	if gpuResource.MatchString(d.Resource) {
		return contract.GresGPU
	}
	name := notInGres.ReplaceAllString(strings.ToLower(d.Resource[strings.LastIndexByte(d.Resource, '/')+1:]), "_")
	name = strings.Trim(name, "_")
	if name == "" || name[0] < 'a' {
		name = "device_" + name
	}
	return name[:min(len(name), 32)]
}

// gresTypes are all generic resources of the cluster, sorted: those that are wanted and those of pods that are
// still there.
func gresTypes(c Cluster) []string {
	all := slices.Clone(c.GresInUse)
	for _, set := range c.Object.Spec.NodeSets {
		all = append(all, names(gresOf(set))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HasDevices tells whether the nodes of a set have generic resources.
func HasDevices(c Cluster, set string) bool {
	return slices.ContainsFunc(c.Object.Spec.NodeSets, func(s v1alpha1.NodeSet) bool {
		return s.Name == set && len(s.Resources.Devices) > 0
	})
}

// addDevices adds a set's devices to the limits of a container.
func addDevices(limits corev1.ResourceList, set v1alpha1.NodeSet) {
	for _, d := range set.Resources.Devices {
		limits[corev1.ResourceName(d.Resource)] = *resource.NewQuantity(int64(max(1, d.Count)), resource.DecimalSI)
	}
}
