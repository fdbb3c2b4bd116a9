package desired

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// StateVolume is the volume of slurmctld's state.
const StateVolume = "state"

// controllerGrace is how long slurmctld may take to save its state, in seconds; it needs about three.
const controllerGrace = 30

// ControllerPod runs slurmctld, with its munged if it needs one, and slurmrestd beside it.
func ControllerPod(c Cluster) *corev1ac.PodApplyConfiguration {
	template := c.Object.Spec.Controller.Template
	annotations := map[string]string{
		"kubectl.kubernetes.io/default-container": contract.ContainerSlurmctld,
		contract.AnnotationTemplateHash:           ControllerHash(c),
		contract.AnnotationImage:                  c.controllerImage(),
	}
	if c.KeyRotation != "" {
		annotations[contract.AnnotationRotateKeys] = c.KeyRotation
	}
	return corev1ac.Pod(c.ControllerPodName(), c.Object.Namespace).
		WithLabels(merged(template.Labels, c.labels(contract.RoleController))).
		WithAnnotations(merged(template.Annotations, annotations)).
		WithOwnerReferences(c.owner()).
		WithSpec(controllerPodSpec(c).WithHostname(c.ControllerPodName())) // without, it would have no name in the DNS
}

// ControllerHash tells apart controller pods that were made from different specs.
func ControllerHash(c Cluster) string {
	template := c.Object.Spec.Controller.Template
	return hashOf(controllerPodSpec(c), template.Labels, template.Annotations)
}

func (c Cluster) controllerImage() string { return cmp.Or(c.ControllerImage, c.Image()) }

func controllerPodSpec(c Cluster) *corev1ac.PodSpecApplyConfiguration {
	spec := podSpec(c, c.Object.Spec.Controller.Template).
		WithTerminationGracePeriodSeconds(controllerGrace).
		WithContainers(slurmctld(c), slurmrestd(c)).
		WithVolumes(
			keysVolume(c),
			diskVolume("config"),
			tmpVolume(nil),
			corev1ac.Volume().WithName("wanted-config").WithConfigMap(
				corev1ac.ConfigMapVolumeSource().WithName(c.ConfigMapName())),
		)
	if c.Object.Spec.Controller.Storage == nil {
		return spec.WithVolumes(diskVolume(StateVolume))
	}
	return spec.WithVolumes(corev1ac.Volume().WithName(StateVolume).WithPersistentVolumeClaim(
		corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(c.StateClaimName())))
}

func slurmctld(c Cluster) *corev1ac.ContainerApplyConfiguration {
	ac := container(c, c.controllerImage(), contract.ContainerSlurmctld, append([]string{"slurmctld"}, sackKey(c)...)...).
		WithWorkingDir(contract.HomeDir).
		WithPorts(
			corev1ac.ContainerPort().WithName("slurmctld").WithContainerPort(contract.PortSlurmctld),
			corev1ac.ContainerPort().WithName("agent").WithContainerPort(contract.PortAgent)).
		WithEnv(userEnv(c.Object.Spec.Controller.Template)...).
		WithResources(as[corev1ac.ResourceRequirementsApplyConfiguration](c.Object.Spec.Controller.Resources)).
		WithReadinessProbe(corev1ac.Probe().
			WithHTTPGet(corev1ac.HTTPGetAction().
				WithPath(contract.AgentPathReady).
				WithPort(intstr.FromInt32(contract.PortAgent))).
			WithTimeoutSeconds(contract.AgentReadyTimeout).
			WithPeriodSeconds(5).
			WithFailureThreshold(2)).
		WithVolumeMounts(mainMounts(c)...).
		WithVolumeMounts(
			mount("keys", contract.KeyDir),
			mount("config", contract.ConfigDir),
			mount("wanted-config", contract.ServedConfigDir),
			mount(StateVolume, contract.StateDir))
	if c.ownAuth() {
		return ac.WithVolumeMounts(mount("run", contract.SlurmctldRunDir))
	}
	return ac.WithVolumeMounts(mount("run", contract.SharedDir)) // munged is beside slurmctld
}

func slurmrestd(c Cluster) *corev1ac.ContainerApplyConfiguration {
	ac := container(c, c.controllerImage(), contract.ContainerSlurmrestd, "slurmrestd").
		WithPorts(corev1ac.ContainerPort().WithName("slurmrestd").WithContainerPort(contract.PortSlurmrestd)).
		WithVolumeMounts(mount("config", contract.ConfigDir).WithReadOnly(true))
	ac.SecurityContext.WithRunAsUser(contract.SlurmrestdUserID).WithRunAsGroup(contract.SlurmrestdUserID)
	return ac
}

// StateClaim is the claim that slurmctld keeps its state on, nil where the cluster asks for no storage.
func StateClaim(c Cluster) *corev1.PersistentVolumeClaim {
	storage := c.Object.Spec.Controller.Storage
	if storage == nil {
		return nil
	}
	return claim(c, c.StateClaimName(), storage.Keep, corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: storage.StorageClassName,
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: storage.Size}},
	})
}

// merged is the user's pairs with ours on top.
func merged(user, ours map[string]string) map[string]string {
	out := maps.Clone(user)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, ours)
	return out
}
