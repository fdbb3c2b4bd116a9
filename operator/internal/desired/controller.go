package desired

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// StateVolume is the volume of slurmctld's state.
const StateVolume = "state"

// controllerGrace is how long slurmctld may take to save its state, in seconds; it needs about three.
const controllerGrace = 30

// Controller runs slurmctld, with its munged if it needs one, and slurmrestd beside it. Its pod is replaced by the operator and
// not by the StatefulSet (OnDelete), because without a volume the queue is lost with the pod.
func Controller(c Cluster) *appsv1ac.StatefulSetApplyConfiguration {
	spec := c.Object.Spec.Controller
	labels := c.labels(contract.RoleController)
	replicas := int32(1)
	if c.ControllerOff {
		replicas = 0
	}
	set := appsv1ac.StatefulSetSpec().
		WithReplicas(replicas).
		WithServiceName(c.NodesServiceName()).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{
			contract.LabelCluster: c.Object.Name,
			contract.LabelRole:    contract.RoleController,
		})).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(merged(spec.Template.Labels, labels)).
			WithAnnotations(merged(spec.Template.Annotations, map[string]string{
				"kubectl.kubernetes.io/default-container": contract.ContainerSlurmctld,
			})).
			WithSpec(controllerPodSpec(c)))
	withStateClaim(c, set)
	return appsv1ac.StatefulSet(c.ControllerName(), c.Object.Namespace).
		WithLabels(labels).
		WithOwnerReferences(c.owner()).
		WithSpec(set)
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
		spec.WithVolumes(diskVolume(StateVolume))
	}
	return spec
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

// withStateClaim keeps the state on a claim of its own where the cluster asks for storage.
func withStateClaim(c Cluster, set *appsv1ac.StatefulSetSpecApplyConfiguration) {
	storage := c.Object.Spec.Controller.Storage
	if storage == nil {
		return
	}
	claim := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: storage.Size}))
	claim.StorageClassName = storage.StorageClassName
	deleted := appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	if storage.Keep {
		deleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	template := corev1ac.PersistentVolumeClaim("", "").WithName(StateVolume).WithLabels(c.Selector()).WithSpec(claim)
	template.Namespace = nil
	set.WithVolumeClaimTemplates(template).
		WithPersistentVolumeClaimRetentionPolicy(appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().
			WithWhenDeleted(deleted).
			WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType))
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
