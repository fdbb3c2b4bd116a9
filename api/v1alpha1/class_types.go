package v1alpha1

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlurmClusterClass is what an administrator decides for clusters: what they have where their owners say nothing, and what
// they may have at most. A later change of a class ends nothing that runs.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=slurmclusterclasses,singular=slurmclusterclass,scope=Cluster,shortName=slurmclass
// +kubebuilder:printcolumn:name="Default",type=boolean,JSONPath=`.spec.default`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.spec.limits.nodes`
// +kubebuilder:printcolumn:name="Max-TTL",type=string,JSONPath=`.spec.limits.ttl`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Description",type=string,priority=1,JSONPath=`.spec.description`
type SlurmClusterClass struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what clusters of this class have and may have.
	// +required
	Spec SlurmClusterClassSpec `json:"spec"`
}

// SlurmClusterClassList is a list of classes.
//
// +kubebuilder:object:root=true
type SlurmClusterClassList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the classes.
	Items []SlurmClusterClass `json:"items"`
}

// DefaultClass returns the class of clusters that name none, or nil: of several the newest, of those the first by name, as
// Kubernetes does it with StorageClasses.
func DefaultClass(all []SlurmClusterClass) *SlurmClusterClass {
	var found *SlurmClusterClass
	for i := range all {
		k := &all[i]
		if k.Spec.Default && (found == nil || cmp.Or(k.CreationTimestamp.Compare(found.CreationTimestamp.Time), cmp.Compare(found.Name, k.Name)) > 0) {
			found = k
		}
	}
	return found
}

// SlurmClusterClassSpec is what clusters of a class have and may have.
type SlurmClusterClassSpec struct {
	// description says to people what the class is for.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description string `json:"description,omitempty"`

	// default makes this the class of clusters that name none. Of several, the newest is.
	// +optional
	Default bool `json:"default,omitempty"`

	// defaults are for what a cluster's owner leaves out.
	// +optional
	Defaults ClassDefaults `json:"defaults,omitzero"`

	// limits are what a cluster may have at most.
	// +optional
	Limits ClassLimits `json:"limits,omitzero"`
}

// ClassDefaults are for what a cluster's owner leaves out.
type ClassDefaults struct {
	// image is the Slurm image.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`
	Image string `json:"image,omitempty"`

	// nodeSets are those of clusters without any.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=12
	NodeSets []NodeSet `json:"nodeSets,omitempty"`

	// volumes are added, unless the cluster has one of the same name or mountPath.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Volumes []SharedVolume `json:"volumes,omitempty"`

	// runtimeClassName is the RuntimeClass of node sets that name none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// priorityClassName is the PriorityClass of node sets that name none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// nodeSelector chooses Kubernetes nodes for all pods, beside what they say themselves.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are added to those of all pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// config holds keys of slurm.conf that the cluster does not set.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Config map[string]ConfigValue `json:"config,omitempty"`

	// lifecycle is what the cluster's owner does not say of its end.
	// +optional
	Lifecycle LifecycleSpec `json:"lifecycle,omitzero"`
}

// ClassLimits are what a cluster may have at most. What is not set is not limited.
type ClassLimits struct {
	// nodes of a cluster, of all node sets together; of a scaled one, its max.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes *int32 `json:"nodes,omitempty"`

	// cpu of all nodes of a cluster together.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory of all nodes of a cluster together.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// nodeCPU is the cpu of one node.
	// +optional
	NodeCPU *resource.Quantity `json:"nodeCPU,omitempty"`

	// nodeMemory is the memory of one node.
	// +optional
	NodeMemory *resource.Quantity `json:"nodeMemory,omitempty"`

	// clustersPerNamespace is how many clusters of the class a namespace may have.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClustersPerNamespace *int32 `json:"clustersPerNamespace,omitempty"`

	// clustersPerUser is how many clusters of the class a user may have in all namespaces together: by annotation
	// slurmcluster.dev/owner, which the API server compares with who makes the cluster.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClustersPerUser *int32 `json:"clustersPerUser,omitempty"`

	// images that a cluster may use: names, or their beginnings followed by *. That of defaults is always allowed, and so is
	// the operator's.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Images []ImagePattern `json:"images,omitempty"`

	// seccompProfiles that node sets may have beside RuntimeDefault: Unconfined, or the paths of profiles on the machines. Default:
	// none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	SeccompProfiles []string `json:"seccompProfiles,omitempty"`

	// ttl is the longest ttl, which clusters that ask for none get.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// idleTimeout is the longest idleTimeout, which clusters that ask for none get.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// tenancies that a cluster may have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Tenancies []Tenancy `json:"tenancies,omitempty"`

	// configKeys are the keys that spec.config may have, in the case of slurm.conf's manual. An empty list allows none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	ConfigKeys []ConfigKey `json:"configKeys,omitempty"`

	// isolated asks for network.isolation: Isolated without network.from.
	// +optional
	Isolated bool `json:"isolated,omitempty"`
}

// ImagePattern is the name of an image, or the beginning of one followed by *.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=500
// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*[*]?$`
type ImagePattern string

// ConfigKey is the name of a slurm.conf parameter.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
type ConfigKey string
