package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// SlurmdPod is a node: slurmd, with munged beside it unless it needs none.
func SlurmdPod(c Cluster, set v1alpha1.NodeSet, index int) *corev1ac.PodApplyConfiguration {
	node := NodeName(set.Name, index)
	annotations := bundleAnnotations(set)
	annotations["kubectl.kubernetes.io/default-container"] = contract.ContainerSlurmd
	annotations[contract.AnnotationTemplateHash] = TemplateHash(c, set)
	if list := names(gresOf(set)); len(list) > 0 {
		annotations[contract.AnnotationGres] = strings.Join(list, ",")
	}
	if c.KeyRotation != "" {
		annotations[contract.AnnotationRotateKeys] = c.KeyRotation
	}
	labels := c.labels(contract.RoleSlurmd, contract.LabelNodeSet, set.Name, contract.LabelNode, node)
	return corev1ac.Pod(c.PodName(set.Name, index), c.Object.Namespace).
		WithLabels(merged(set.Template.Labels, labels)).
		WithAnnotations(merged(set.Template.Annotations, annotations)).
		WithOwnerReferences(c.owner()).
		WithSpec(slurmdPodSpec(c, set).WithHostname(node))
}

// TemplateHash tells apart pods of a set that were made from different specs; all nodes of a set are equal
// but for their names.
func TemplateHash(c Cluster, set v1alpha1.NodeSet) string {
	parts := []any{slurmdPodSpec(c, set), set.Template.Labels, set.Template.Annotations}
	if c.VolumesHash != "" {
		parts = append(parts, c.VolumesHash)
	}
	return hashOf(parts...)
}

// hashOf sums up what a pod is made from.
func hashOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("a pod spec that cannot be written as JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func slurmdPodSpec(c Cluster, set v1alpha1.NodeSet) *corev1ac.PodSpecApplyConfiguration {
	spec := podSpec(c, set.Template).
		WithTerminationGracePeriodSeconds(grace(set)).
		WithContainers(slurmd(c, set)).
		WithVolumes(diskVolume("spool"), tmpVolume(set.Resources.Tmp))
	if set.Image != "" {
		addBundle(c, spec)
	}
	if c.ownAuth() {
		spec.WithVolumes(keysVolume(c, contract.KeySlurm)) // jobs can read this one, and are to read no other
	} else {
		spec.WithInitContainers(munged(c)).WithVolumes(keysVolume(c, contract.KeyMunge), diskVolume("shared"))
	}
	if set.RuntimeClassName != "" {
		spec.WithRuntimeClassName(set.RuntimeClassName)
	}
	if set.PriorityClassName != "" {
		spec.WithPriorityClassName(set.PriorityClassName)
	}
	for i := range spec.InitContainers {
		switch {
		case set.TaskBinding == v1alpha1.TaskBindingCores:
			guaranteed(&spec.InitContainers[i])
		case set.RuntimeClassName != "":
			limited(&spec.InitContainers[i])
		}
	}
	return spec
}

// MaxUnavailable is how many nodes of a set may be out while all of them are replaced, at least one. The schema's
// default is one.
func MaxUnavailable(set v1alpha1.NodeSet) int {
	if set.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(set.MaxUnavailable, Replicas(set), true)
	if err != nil {
		return 1 // the schema lets only numbers and percentages through
	}
	return max(1, n)
}

// grace is how long the jobs of a node whose pod is deleted may still run, in seconds. A node that the operator deletes
// runs none. The schema's default is 30.
func grace(set v1alpha1.NodeSet) int64 {
	if set.TerminationGracePeriodSeconds == nil {
		return 30
	}
	return *set.TerminationGracePeriodSeconds
}

func (c Cluster) nodeImage() string { return cmp.Or(c.NodeImage, c.Image()) }

func slurmd(c Cluster, set v1alpha1.NodeSet) *corev1ac.ContainerApplyConfiguration {
	limits := corev1.ResourceList{
		corev1.ResourceCPU:    set.Resources.CPU,
		corev1.ResourceMemory: set.Resources.Memory,
	}
	addDevices(limits, set)
	ac := slurmdContainer(c, set, append(slurmdArgs(set), sackKey(c)...)).
		WithWorkingDir(contract.HomeDir).
		WithPorts(corev1ac.ContainerPort().WithName("slurmd").WithContainerPort(contract.PortSlurmd)).
		WithEnv(
			env(contract.EnvController, fmt.Sprintf("%s:%d", c.ControllerIP, contract.PortSlurmctld)),
			env(contract.EnvControllerName, fmt.Sprintf("%s.%s.svc", c.ControllerName(), c.Object.Namespace)),
			env(contract.EnvNodeFeatures, features(set))).
		WithEnv(userEnv(set.Template)...).
		WithResources(corev1ac.ResourceRequirements().WithLimits(limits).WithRequests(requests(set.Resources, limits))).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(
			corev1ac.ExecAction().WithCommand(shimOf(set), "drain")))).
		WithVolumeMounts(mainMounts(c)...).
		WithVolumeMounts(mount("spool", contract.SpoolDir))
	if set.SeccompProfile != nil {
		ac.SecurityContext.WithSeccompProfile(as[corev1ac.SeccompProfileApplyConfiguration](set.SeccompProfile))
	}
	if c.ownAuth() {
		return ac.WithVolumeMounts(mount("keys", contract.KeyDir))
	}
	// Read-only, so that a job cannot put a socket of its own in the place of munged's.
	return ac.WithVolumeMounts(mount("shared", contract.SharedDir).WithReadOnly(true))
}

// munged is a native sidecar, which keeps the key from jobs: it is there before slurmd and after it. That costs no time, because
// it has no startup probe: slurmd's shim waits for its socket.
func munged(c Cluster) *corev1ac.ContainerApplyConfiguration {
	ac := container(c, c.nodeImage(), contract.ContainerMunged, "munged").
		WithRestartPolicy(corev1.ContainerRestartPolicyAlways).
		WithVolumeMounts(mount("keys", contract.KeyDir), mount("shared", contract.SharedDir))
	ac.Command = []string{shimProgram} // it has one child, and waits for that
	return ac
}

func slurmdArgs(set v1alpha1.NodeSet) []string {
	args := []string{"slurmd"}
	if set.TaskBinding == v1alpha1.TaskBindingCores {
		args = append(args, "--task-binding="+contract.TaskBindingCores)
	}
	if set.Autoscale != nil {
		args = append(args, "--cloud")
	}
	for _, g := range gresOf(set) {
		args = append(args, g.flag())
	}
	return args
}

// aLittle is more than munged takes.
var aLittle = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi")}

// guaranteed gives a container resources that do not cost the pod its exclusive CPUs: those need requests that are the limits in
// every container.
func guaranteed(ac *corev1ac.ContainerApplyConfiguration) {
	ac.WithResources(corev1ac.ResourceRequirements().WithLimits(aLittle).WithRequests(aLittle))
}

// limited gives a container limits, and sets nothing aside for it. Sandboxes such as gVisor are one machine for all of a pod, of the
// size that the pod is limited to: without limits in every container the pod has none, and slurmd would find all of the host.
func limited(ac *corev1ac.ContainerApplyConfiguration) {
	none := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0"), corev1.ResourceMemory: resource.MustParse("0")}
	ac.WithResources(corev1ac.ResourceRequirements().WithLimits(aLittle).WithRequests(none))
}

// requests are the limits, but for what the set asks to be set aside less of.
func requests(r v1alpha1.NodeResources, limits corev1.ResourceList) corev1.ResourceList {
	list := limits.DeepCopy()
	if r.Requests.CPU != nil {
		list[corev1.ResourceCPU] = *r.Requests.CPU
	}
	if r.Requests.Memory != nil {
		list[corev1.ResourceMemory] = *r.Requests.Memory
	}
	return list
}

// features are the Slurm features of a set's nodes. Its own name comes first: slurm.conf's NodeSet lines
// find the nodes by it.
func features(set v1alpha1.NodeSet) string {
	list := []string{set.Name}
	for _, f := range set.Features {
		if string(f) != set.Name {
			list = append(list, string(f))
		}
	}
	return strings.Join(list, ",")
}
