package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// VersionPodName is the name of the pod that tells the version of Slurm in the wanted image.
func (c Cluster) VersionPodName() string { return c.Object.Name + "-version" }

// versionResources are more than it takes to tell a version. Where a namespace has a quota, a pod has to say what it needs.
var versionResources = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}

// VersionPod runs the wanted image once, where slurmctld would run, and leaves the version of its Slurm as its last words.
func VersionPod(c Cluster) *corev1ac.PodApplyConfiguration {
	ask := container(c, c.Image(), contract.ContainerVersion).
		WithResources(corev1ac.ResourceRequirements().WithLimits(versionResources).WithRequests(versionResources))
	ask.Command = []string{"sh", "-c", "slurmctld -V > /dev/termination-log"}
	spec := podSpec(c, c.Object.Spec.Controller.Template).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithTerminationGracePeriodSeconds(0)
	spec.InitContainers, spec.Volumes, spec.Subdomain = nil, nil, nil
	return corev1ac.Pod(c.VersionPodName(), c.Object.Namespace).
		WithLabels(c.labels(contract.RoleVersion)).
		WithAnnotations(map[string]string{contract.AnnotationImage: c.Image()}).
		WithOwnerReferences(c.owner()).
		WithSpec(spec.WithContainers(ask))
}
