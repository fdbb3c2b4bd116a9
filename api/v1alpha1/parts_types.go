package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeResources is what one node has.
type NodeResources struct {
	// cpu is how many CPUs the node has, at least one. Slurm offers whole CPUs: of 1500m it offers 1.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1')) >= 0",message="cpu is at least 1: Slurm gives jobs whole CPUs, so a node with less could run none"
	CPU resource.Quantity `json:"cpu"`

	// memory is how much memory the node has, at least 128Mi.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('128Mi')) >= 0",message="memory is at least 128Mi: slurmd and a job's shell need that much"
	Memory resource.Quantity `json:"memory"`

	// requests are what Kubernetes sets aside for the node, where that is less than it may use. Nodes that
	// share a machine's CPUs slow each other down when all are busy. Default: all of cpu and memory.
	// +optional
	Requests ResourceRequests `json:"requests,omitzero"`

	// tmp is how much the node's /tmp may hold; Kubernetes ends a pod that exceeds it. Default: 1Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="tmp is a quantity above zero, such as 10Gi"
	Tmp *resource.Quantity `json:"tmp,omitempty"`

	// devices are GPUs and other devices that Kubernetes' device plugins give the node. Jobs ask for them as
	// Slurm's generic resources (GRES): sbatch --gres=gpu:1.
	// +optional
	// +listType=map
	// +listMapKey=resource
	// +kubebuilder:validation:MaxItems=8
	Devices []Device `json:"devices,omitempty"`
}

// Autoscale lets a node set grow when jobs wait for nodes, and shrink when nodes are idle.
// +kubebuilder:validation:XValidation:rule="!has(self.min) || self.min <= self.max",message="autoscale.min is not above autoscale.max"
type Autoscale struct {
	// min is how many nodes there always are.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	Min int32 `json:"min,omitempty"`

	// max is how many nodes there may be. Slurm knows all of them, so that sinfo shows them and a job that would never
	// fit is refused.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	Max int32 `json:"max"`

	// idleTimeout is how long a node above min stays without jobs, such as 10m. Default: 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// startTimeout is how long a node may take until jobs start on it: for a machine that Kubernetes has to add, for
	// an image that has to be pulled. After that its jobs wait again, the reason is said, and the node is tried again
	// after as long a pause. Default: 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	StartTimeout *metav1.Duration `json:"startTimeout,omitempty"`
}

// Device is an extended resource of Kubernetes that becomes a generic resource of Slurm.
type Device struct {
	// resource is the name under which Kubernetes knows the device, such as nvidia.com/gpu.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Resource string `json:"resource"`

	// count is how many of them each node has.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Count int32 `json:"count,omitempty"`

	// gres is Slurm's name of it. Default: gpu for the GPUs of known vendors, otherwise the part of resource after
	// the slash, in lower case and with '_' for what Slurm does not take.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['mps', 'shard', 'craynetwork'])",message="mps, shard and craynetwork have meanings of their own in Slurm; choose another name"
	Gres string `json:"gres,omitempty"`

	// files are patterns of the device files in the pod, such as /dev/xclmgmt*; a device with files is offered as
	// often as there are files. GPUs are found without.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Files []DeviceFile `json:"files,omitempty"`
}

// DeviceFile is a pattern of names of device files.
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^/dev/[-A-Za-z0-9_./*?\[\]]+$`
type DeviceFile string

// ResourceRequests are what Kubernetes sets aside for a node.
type ResourceRequests struct {
	// cpu is how many CPUs are set aside.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is how much memory is set aside.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// PodTemplate is what pods have beyond what the operator gives them.
type PodTemplate struct {
	// labels of the pods. Keys under slurmcluster.dev are the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('slurmcluster.dev/'))",message="labels under slurmcluster.dev/ are the operator's"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the pods. Keys under slurmcluster.dev are the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('slurmcluster.dev/'))",message="annotations under slurmcluster.dev/ are the operator's"
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector chooses the Kubernetes nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity chooses the Kubernetes nodes.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations let the pods onto tainted Kubernetes nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// env is set for slurmd, and so for Prolog and Epilog; jobs get the environment of their submission.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []EnvVar `json:"env,omitempty"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$') && !self.startsWith('SLURMCLUSTER_')",message="the name of a variable has letters, digits and '_'; names that start with SLURMCLUSTER_ are the operator's"
	Name string `json:"name"`
	// value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// PartitionState is whether a partition takes and runs jobs, in Slurm's words.
// +kubebuilder:validation:Enum=UP;DOWN;DRAIN;INACTIVE
type PartitionState string

// Partition is a queue.
type Partition struct {
	// name of the partition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][-A-Za-z0-9_]*$') && self.lowerAscii() != 'default'",message="a partition's name starts with a letter and has only letters, digits, '-' and '_'; DEFAULT is taken by Slurm"
	Name string `json:"name"`

	// nodeSets are the node sets whose nodes the partition uses. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	NodeSets []NodeSetName `json:"nodeSets,omitempty"`

	// default makes this the partition of jobs that name none. Without any, it is the first.
	// +optional
	Default bool `json:"default,omitempty"`

	// maxTime is the longest time a job may run: minutes, or Slurm's days-hours:minutes:seconds.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^(UNLIMITED|INFINITE|([0-9]{1,5}-)?[0-9]{1,6}(:[0-9]{1,2}){0,2})$')",message="a time is minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds or UNLIMITED"
	MaxTime string `json:"maxTime,omitempty"`

	// defaultTime is the time limit of jobs that ask for none, written like maxTime.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^(UNLIMITED|INFINITE|([0-9]{1,5}-)?[0-9]{1,6}(:[0-9]{1,2}){0,2})$')",message="a time is minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds or UNLIMITED"
	DefaultTime string `json:"defaultTime,omitempty"`

	// maxNodes is the largest number of nodes a job may have.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxNodes *int32 `json:"maxNodes,omitempty"`

	// priorityTier: jobs of a higher tier are started first (Slurm's PriorityTier).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65533
	PriorityTier *int32 `json:"priorityTier,omitempty"`

	// state of the partition. Default: UP.
	// +optional
	State PartitionState `json:"state,omitempty"`
}

// NodeSetName is the name of a node set.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=16
type NodeSetName string

// ControllerSpec is the pod of slurmctld.
type ControllerSpec struct {
	// resources of the slurmctld container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// storage keeps the queue on a volume, so that it outlives the pod. Without it, the queue is lost with
	// the pod (not with a restart of slurmctld in it).
	// +optional
	Storage *ControllerStorage `json:"storage,omitempty"`

	// template is what the controller pod has beyond the usual.
	// +optional
	Template PodTemplate `json:"template,omitzero"`
}

// ControllerStorage is the volume of slurmctld's state.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.controller.storage cannot change; create a new cluster"
type ControllerStorage struct {
	// size of the volume.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="size is a quantity above zero, such as 1Gi"
	Size resource.Quantity `json:"size,omitzero"`

	// storageClassName is the class of the volume. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// keep says whether the volume outlives the SlurmCluster object.
	// +optional
	Keep bool `json:"keep,omitempty"`
}

// HomeSpec is a home directory that all pods of a cluster share: a claim that exists, or a new one.
//
// +kubebuilder:validation:XValidation:rule="has(self.claimName) != has(self.size)",message="home has either claimName, for a claim that exists, or size, for a new one"
// +kubebuilder:validation:XValidation:rule="has(self.size) || !(has(self.storageClassName) || has(self.accessMode) || has(self.keep))",message="home.storageClassName, home.accessMode and home.keep are for a new claim, which has a size"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="home.storageClassName cannot change"
type HomeSpec struct {
	// claimName is a claim in the cluster's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName,omitempty"`

	// size of a new claim, which is named after the cluster with "-home" behind. It may become larger where its class lets it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="size is a quantity above zero, such as 10Gi"
	Size *resource.Quantity `json:"size,omitempty"`

	// storageClassName is the class of the new claim. Default: the default class of Kubernetes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// accessMode of the new claim: ReadWriteMany, for nodes on several machines, or ReadWriteOnce, which keeps all pods on
	// one. Default: ReadWriteMany.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteMany;ReadWriteOnce
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// keep says whether the new claim outlives the SlurmCluster object. A later cluster of the same name finds it again.
	// +optional
	Keep bool `json:"keep,omitempty"`
}

// SharedVolume is a directory that all pods of the cluster share.
//
// +kubebuilder:validation:XValidation:rule="[has(self.persistentVolumeClaim), has(self.configMap), has(self.secret), has(self.image)].filter(x, x).size() == 1",message="a volume has exactly one of persistentVolumeClaim, configMap, secret and image"
type SharedVolume struct {
	// name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a volume's name has only lower-case letters, digits and '-'"
	Name string `json:"name"`

	// mountPath is where it is mounted, for example /home/user.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:,\\\\x00-\\\\x1f]+$') && !self.contains('..')",message="mountPath is an absolute path without ':' and '..'"
	// +kubebuilder:validation:XValidation:rule="!(self.matches('^/(proc|sys|dev|usr|bin|sbin|lib|lib64|run|etc)(/.*)?$') || self.matches('^/var/(lib/slurmctld|spool/slurmd)(/.*)?$'))",message="mountPath lies where the system or Slurm keeps its own files; choose another, such as /data"
	MountPath string `json:"mountPath"`

	// readOnly mounts it read-only.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`

	// subPath is the directory inside the volume.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.contains('..')",message="subPath is a relative path without '..'"
	SubPath string `json:"subPath,omitempty"`

	// persistentVolumeClaim is a claim in the cluster's namespace.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// configMap is a ConfigMap in the cluster's namespace.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// secret is a Secret in the cluster's namespace.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// image is an image whose files are mounted, read-only: data, software, or a root directory for containers inside jobs. It
	// needs a Kubernetes with image volumes.
	// +optional
	Image *ImageVolume `json:"image,omitempty"`
}

// ImageVolume is an image whose files are mounted.
type ImageVolume struct {
	// reference of the image, such as docker.io/library/python:slim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`
	Reference string `json:"reference"`

	// pullPolicy says when it is pulled. Default: Always for the tag latest, IfNotPresent otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// SeccompProfile is which system calls the processes of a container may make, as in a pod's securityContext.
//
// +kubebuilder:validation:XValidation:rule="has(self.localhostProfile) == (self.type == 'Localhost')",message="localhostProfile is for type: Localhost, and needed there"
type SeccompProfile struct {
	// type is RuntimeDefault, what containers have in general; Localhost, a file on the machines; or Unconfined.
	// +required
	// +kubebuilder:validation:Enum=RuntimeDefault;Localhost;Unconfined
	Type corev1.SeccompProfileType `json:"type"`

	// localhostProfile is the file's path below the directory seccomp of the kubelet, such as profiles/user-namespaces.json.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.contains('..')",message="localhostProfile is a relative path without '..'"
	LocalhostProfile *string `json:"localhostProfile,omitempty"`
}
